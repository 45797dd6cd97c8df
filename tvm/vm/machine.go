package vm

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/tvmffi-go/tvmffi/generated/tvm"
	"github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
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

	mu     sync.Mutex // held during a call: a machine runs one at a time
	module *tvmffi.Module
	found  map[string]*tvmffi.Function
	hook   *hook
	closed bool
	remote bool // on the other side of an RPC session
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
	const session = 128 // the device types of RPC sessions are multiples of it and the type there
	if n := len(devices); n == 0 || devices[n-1].Type%session != tvmffi.DeviceCPU {
		memory = append(memory, Memory{tvmffi.CPU, allocator})
	}
	return e.NewMachineOn(memory...)
}

// Memory is a device of a machine, and how the machine allocates there.
type Memory struct {
	Device    tvmffi.Device
	Allocator Allocator
}

// NewMachineOn is like NewMachine with an allocator for each device. The last device must be the CPU.
func (e *Executable) NewMachineOn(memory ...Memory) (*Machine, error) {
	const session = 128
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
	module, err := call[*tvmffi.Module](e.module, "vm_load_executable")
	if err != nil {
		return nil, fail("start", e.name, err)
	}
	var args []any
	for _, d := range memory {
		args = append(args, d.Device.Type%session, d.Device.ID, int(d.Allocator))
	}
	start, err := module.Function("vm_initialization")
	if err == nil {
		defer start.Release()
		_, err = start.Call(args...)
	}
	if err != nil {
		module.Release()
		return nil, fail("start", e.name, err)
	}
	kind, err := module.Kind()
	if err != nil {
		module.Release()
		return nil, fail("start", e.name, err)
	}
	own := &Executable{tvmffi.Retain(e.module), e.name}
	return &Machine{executable: own, module: module, found: map[string]*tvmffi.Function{}, remote: kind == "rpc"}, nil
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
	v, err := runtime.GetDeviceAttr(int64(d.Type), int64(d.ID), exists)
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

// Close ends the machine with the inputs and outputs of calls with state, and the hook. It waits
// for a running call. Results of calls stay valid. A second Close does nothing.
func (m *Machine) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	for _, f := range m.found {
		f.Release()
	}
	m.module.Release()
	m.executable.Release()
	if m.hook != nil {
		m.hook.set(nil)
	}
}

// state calls one of the functions of the machine itself, which it keeps.
func (m *Machine) state(name string, args ...any) (tvmffi.Any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.find(name)
	if err != nil {
		return tvmffi.Any{}, err
	}
	return m.call(f, args)
}

// call calls a function of the machine with what can be sent, if the machine is remote.
func (m *Machine) call(f *tvmffi.Function, args []any) (tvmffi.Any, error) {
	if m.remote {
		var err error
		if args, err = arguments.RPC(args); err != nil {
			return tvmffi.Any{}, err
		}
	}
	return f.Call(args...)
}

// find returns a function of the module, which ends with the machine. The caller holds mu.
func (m *Machine) find(name string) (*tvmffi.Function, error) {
	if m.closed {
		return nil, errClosed
	}
	if f := m.found[name]; f != nil {
		return f, nil
	}
	f, err := m.module.Function(name)
	if err == nil {
		m.found[name] = f
	}
	return f, err
}
