//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// What syscall does not name.
const (
	ptraceSeize      = 0x4206
	ptraceInterrupt  = 0x4207
	ptraceTraceClone = 0x8
	waitAll          = 0x40000000 // __WALL
)

// breakpoint is the instruction at which Go stops. Peers in other languages raise SIGUSR2.
const breakpoint = 0xcc

// canStep says that step works here.
const canStep = true

// step lets a thread of a process, which waits for start, execute one instruction after the other from its next breakpoint to
// the one after, and calls at with the address of each. All other threads of the process stand still meanwhile, so nothing of
// the scheduler or the collector of Go is among the instructions. With follow, threads that the thread starts go the same way.
// The error is errWaits if the thread waited for another one; the process goes on then.
func step(pid, tid int, follow bool, start func() error, at func(pc uint64)) error {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	options := uintptr(0)
	if follow {
		options = ptraceTraceClone
	}
	if err := ptrace(ptraceSeize, tid, 0, options); err != nil {
		return fmt.Errorf("%s: %w", refused, err)
	}
	t := &tracee{pid: pid, tid: tid, born: map[int]bool{}, marks: map[uint64]bool{}}
	defer t.detach()
	if err := t.freeze(); err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	if err := t.walk(syscall.PTRACE_CONT, nil); err != nil {
		return err
	}
	if err := t.ahead(); err != nil {
		return err
	}
	if err := ptrace(syscall.PTRACE_SINGLESTEP, tid, 0, 0); err != nil {
		return err
	}
	if err := t.walk(syscall.PTRACE_SINGLESTEP, at); err != nil {
		return err
	}
	if t.waited {
		return errWaits
	}
	return nil
}

// tracee is a process of which one thread goes step by step.
type tracee struct {
	pid, tid int
	still    []int        // the threads that stand still
	born     map[int]bool // those that the thread started
	stops    atomic.Int64 // of all threads, so far
	waited   bool
	last     bool            // the thread is about to execute a breakpoint
	marks    map[uint64]bool // the addresses so far, and which ones are breakpoints
}

// freeze stops all other threads.
func (t *tracee) freeze() error {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", t.pid))
	if err != nil {
		return err
	}
	for _, e := range entries {
		other, err := strconv.Atoi(e.Name())
		if err != nil || other == t.tid || ptrace(ptraceSeize, other, 0, 0) != nil {
			continue // it has ended
		}
		if err := ptrace(ptraceInterrupt, other, 0, 0); err != nil {
			return err
		}
		if _, _, err := wait(other); err != nil {
			return err
		}
		t.still = append(t.still, other)
	}
	return nil
}

// thaw lets the other threads go on.
func (t *tracee) thaw() {
	for _, other := range t.still {
		ptrace(syscall.PTRACE_DETACH, other, 0, 0)
	}
	t.still = nil
}

// detach lets all threads go on, the first from its breakpoint.
func (t *tracee) detach() {
	t.thaw()
	for other := range t.born {
		ptrace(ptraceInterrupt, other, 0, 0)
		if _, status, err := wait(other); err == nil && status.Stopped() {
			ptrace(syscall.PTRACE_DETACH, other, 0, 0)
		}
	}
	ptrace(syscall.PTRACE_DETACH, t.tid, 0, 0)
}

// A thread waits for another one asleep, or it looks again and again, as the scheduler of Go does for a goroutine that another
// thread is about to change.
var (
	idle      = 500 * time.Millisecond // how often watch looks
	runs      = 20                     // looks without a stop after which a thread waits, although it runs: the machine may be slow
	mostSteps = 10_000_000             // in one walk
)

// watch sends a signal to the thread, which stops it, when no thread has stopped since the last look, and the thread sleeps, or
// has run for long.
func (t *tracee) watch(done <-chan struct{}) {
	last, quiet := int64(-1), 0
	for {
		select {
		case <-done:
			return
		case <-time.After(idle):
		}
		if n := t.stops.Load(); n != last {
			last, quiet = n, 0
			continue
		}
		if quiet++; quiet >= runs || t.sleeps() {
			syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(t.pid), uintptr(t.tid), uintptr(syscall.SIGWINCH))
		}
	}
}

// sleeps reports whether the thread waits in the system, rather than for a processor or for the tracer.
func (t *tracee) sleeps() bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", t.pid, t.tid))
	_, state, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(state, "S")
}

// walk makes a thread, and those that it starts, go on by the request after each stop, up to the breakpoint of the first.
func (t *tracee) walk(request int, at func(pc uint64)) error {
	done := make(chan struct{})
	defer close(done)
	go t.watch(done)
	for {
		stopped, status, err := wait(-1)
		if err != nil {
			return err
		}
		t.stops.Add(1)
		if stopped != t.tid {
			t.born[stopped] = true
		}
		sig := uintptr(0)
		switch event := status >> 16; {
		case status.Exited() || status.Signaled():
			if stopped == t.tid {
				return errors.New("the program has ended")
			}
			delete(t.born, stopped)
			continue
		case event != 0: // a thread was born, or is at its beginning
		case status.StopSignal() == syscall.SIGWINCH || at != nil && t.stops.Load() > int64(mostSteps):
			t.waited, request, at = true, syscall.PTRACE_CONT, nil
			t.thaw()
		case status.StopSignal() == syscall.SIGUSR2 && stopped == t.tid:
			return nil
		case status.StopSignal() != syscall.SIGTRAP:
			sig = uintptr(status.StopSignal())
		case stopped == t.tid && (request == syscall.PTRACE_CONT || t.last):
			return nil
		case at != nil:
			var regs syscall.PtraceRegs
			if err := syscall.PtraceGetRegs(stopped, &regs); err != nil {
				return err
			}
			at(regs.Rip)
			if stopped == t.tid {
				t.look(regs.Rip)
			}
		}
		if err := ptrace(request, stopped, 0, sig); err != nil && stopped == t.tid {
			return err
		}
	}
}

// ahead looks at the next instruction of the thread.
func (t *tracee) ahead() error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(t.tid, &regs); err != nil {
		return err
	}
	t.look(regs.Rip)
	return nil
}

// look finds out whether the thread is about to execute a breakpoint.
func (t *tracee) look(pc uint64) {
	mark, known := t.marks[pc]
	if !known {
		var code [1]byte
		n, _ := syscall.PtracePeekText(t.tid, uintptr(pc), code[:])
		mark = n == 1 && code[0] == breakpoint
		t.marks[pc] = mark
	}
	t.last = mark
}

func wait(tid int) (stopped int, status syscall.WaitStatus, err error) {
	for {
		stopped, err = syscall.Wait4(tid, &status, waitAll, nil)
		if err != syscall.EINTR {
			return stopped, status, err
		}
	}
}

func ptrace(request, tid int, address, data uintptr) error {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0); e != 0 {
		return e
	}
	return nil
}
