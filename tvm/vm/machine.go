package vm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/tvmffi-go/tvmffi/generated/tvm"
	tvmruntime "github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/internal/arguments"
)

// Allocator is how a machine allocates tensors.
type Allocator int

// The allocators of TVM.
const (
	// Naive allocates and frees each tensor.
	Naive Allocator = 1
	// Pooled keeps memory for later calls, in this machine and in all others of the process.
	Pooled Allocator = 2
)

// Machine is a virtual machine that runs an executable on devices.
type Machine struct {
	executable *Executable
	thread     *thread
	cleanup    runtime.Cleanup // ends the thread of a machine that nobody closes

	// What follows belongs to the goroutine that has the turn, or to the thread in a task.
	module  *tvmffi.Module
	found   map[string]*tvmffi.Function
	hook    *hook
	closing bool // Close was called inside a call
	closed  bool
	remote  bool // on the other side of an RPC session
}

// NewMachine makes a machine. Kernels run on the devices; without one, on the CPU. The machine
// computes shapes on the CPU, and adds it to the end of the devices if necessary. For an
// executable on the other side of an RPC session, the devices are that side's, with or without
// the session's number. The caller closes the machine.
func (e *Executable) NewMachine(allocator Allocator, devices ...tvmffi.Device) (*Machine, error) {
	memory := make([]Memory, 0, len(devices)+1)
	for _, d := range devices {
		memory = append(memory, Memory{d, allocator})
	}
	if n := len(devices); n == 0 || devices[n-1].Type%session != tvmffi.DeviceCPU {
		memory = append(memory, Memory{tvmffi.CPU, allocator})
	}
	return e.NewMachineOn(memory...)
}

// session is a number: the device types of RPC sessions are multiples of it and the type there.
const session = 128

// Memory is a device of a machine, and how the machine allocates there.
type Memory struct {
	Device    tvmffi.Device
	Allocator Allocator
}

// NewMachineOn is like NewMachine with an allocator for each device. The last device must be the CPU.
func (e *Executable) NewMachineOn(memory ...Memory) (*Machine, error) {
	if n := len(memory); n == 0 || memory[n-1].Device.Type%session != tvmffi.DeviceCPU {
		return nil, fail("start", e.name, errors.New("the last device is not the CPU, on which the machine computes shapes: add one"))
	}
	for _, d := range memory {
		if d.Allocator != Naive && d.Allocator != Pooled {
			return nil, fail("start", e.name, fmt.Errorf("allocator %d is unknown: use vm.Naive or vm.Pooled", d.Allocator))
		}
		if err := e.exists(d.Device); err != nil {
			return nil, fail("start", e.name, err)
		}
	}
	own := &Executable{tvmffi.Retain(e.module), e.name}
	m := &Machine{executable: own, thread: newThread(), found: map[string]*tvmffi.Function{}}
	if err := m.Do(context.Background(), func() error { return m.start(memory) }); err != nil {
		m.Close()
		return nil, fail("start", e.name, err)
	}
	m.cleanup = runtime.AddCleanup(m, (*thread).stop, m.thread)
	return m, nil
}

// start loads the executable into the machine.
func (m *Machine) start(memory []Memory) (err error) {
	if m.module, err = call[*tvmffi.Module](m.executable.module, "vm_load_executable"); err != nil {
		return err
	}
	var args []any
	for _, d := range memory {
		args = append(args, d.Device.Type%session, d.Device.ID, int(d.Allocator))
	}
	f, err := m.module.Function("vm_initialization")
	if err != nil {
		return err
	}
	defer f.Release()
	if _, err := f.Call(args...); err != nil {
		return err
	}
	kind, err := m.module.Kind()
	m.remote = kind == "rpc"
	return err
}

// exists returns an error unless a device exists. Devices on the other side of an RPC session are
// checked on first use.
func (e *Executable) exists(d tvmffi.Device) error {
	if kind, err := e.module.Kind(); err != nil || kind == "rpc" {
		return err
	}
	if d.Type != tvmffi.DeviceCPU {
		if _, err := tvm.Sidecars(); err != nil {
			return err
		}
	}
	const exists = 0
	v, err := tvmruntime.GetDeviceAttr(int64(d.Type), int64(d.ID), exists)
	if err != nil {
		return err
	}
	if yes, err := tvmffi.As[int](v); err != nil || yes == 0 {
		return fmt.Errorf("device %s does not exist: the machine lacks it, or TVM's library for it is not used%s", d, unused())
	}
	return nil
}

// unused says why libraries for devices are not used.
func unused() (text string) {
	all, _ := tvm.Sidecars()
	for _, s := range all {
		if s.Err != nil {
			text += fmt.Sprintf("; %s: %v", filepath.Base(s.Path), s.Err)
		}
	}
	return text
}

// errClosed is the cause of an error after Close.
var errClosed = errors.New("the machine is closed")

// Close ends the machine with the inputs and outputs of calls with state, the hook, and the thread. It waits
// for a running call. Inside a call of this machine, Close returns at once, and the machine ends with the
// call. Results of calls stay valid. A second Close does nothing.
func (m *Machine) Close() {
	if m.thread.inside() {
		m.closing = true
		return
	}
	m.thread.wait(context.Background())
	if !m.closed {
		m.end()
	}
	<-m.thread.turn
}

// end ends the machine. The caller has the turn.
func (m *Machine) end() {
	m.closed = true
	m.thread.task.f = func() error { // what TVM frees belongs to the thread
		for _, f := range m.found {
			f.Release()
		}
		m.module.Release()
		m.executable.Release()
		return nil
	}
	m.thread.hand()
	if m.hook != nil {
		m.hook.set(nil)
	}
	m.cleanup.Stop()
	m.thread.stop()
}

// Do runs f on the thread of the machine. Calls of the machine inside f cost no change of the thread, and no
// other goroutine has a call between them. Do waits for its turn until ctx ends, and then returns the cause
// of that; it does not interrupt f. Otherwise it returns the error of f. A panic of f goes on in the
// goroutine of Do, and so does runtime.Goexit. Inside a call of this machine, or inside another Do, f runs
// at once.
//
// What belongs to an OS thread has to be set inside f, such as the stream of env.WithStream.
func (m *Machine) Do(ctx context.Context, f func() error) error {
	if m.thread.inside() {
		if m.closed {
			return errClosed
		}
		return f()
	}
	if err := m.thread.wait(ctx); err != nil {
		return err
	}
	m.thread.task.f = f
	_, err := m.hand()
	return err
}

// hand hands the task of the thread over. The caller has the turn, and has lost it afterwards.
func (m *Machine) hand() (tvmffi.Any, error) {
	if m.closed {
		m.thread.task = task{}
		<-m.thread.turn
		return tvmffi.Any{}, errClosed
	}
	c := m.thread.hand()
	if m.closing && !m.closed {
		m.end()
	}
	<-m.thread.turn
	return c.settle()
}

// call calls a function of the machine on its thread, with what can be sent if the machine is remote.
func (m *Machine) call(f *tvmffi.Function, args []any) (tvmffi.Any, error) {
	if m.remote {
		var err error
		if args, err = arguments.RPC(slices.Clone(args)); err != nil {
			return tvmffi.Any{}, err
		}
	}
	if m.thread.inside() {
		if m.closed {
			return tvmffi.Any{}, errClosed
		}
		return f.Call(args...)
	}
	m.thread.wait(context.Background())
	c := &m.thread.task
	c.function, c.args = f, append(c.args, args...) // the caller's may stay on its stack
	return m.hand()
}

// state calls one of the functions of the machine itself, which it keeps.
func (m *Machine) state(name string, args ...any) (tvmffi.Any, error) {
	f, err := m.find(name)
	if err != nil {
		return tvmffi.Any{}, err
	}
	return m.call(f, args)
}

// find returns a function of the module, which ends with the machine.
func (m *Machine) find(name string) (f *tvmffi.Function, err error) {
	err = m.Do(context.Background(), func() (err error) {
		if f = m.found[name]; f != nil {
			return nil
		}
		if f, err = m.module.Function(name); err == nil {
			m.found[name] = f
		}
		return err
	})
	return f, err
}
