package ccall

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/ebitengine/purego"
)

// A shared library in Go has goroutines that go on while its host ends. If a thread of
// theirs calls an interpreter that finalises, or releases one of its objects, the process
// aborts. So such a library has a gate in front of all calls that may enter the host: Guard
// builds it, and Close closes it. A Go program has no gate.
//
// A call costs nothing more, because calls in flight are not counted. The gate is behind
// Call, CallAll, Drop or Syscall, so a goroutine that may have passed it has one of these on its
// stack, until it returns from C. Close first closes the gate and then looks at all stacks,
// for which the runtime stops the world: a goroutine that begins a call after that finds
// the gate closed.

//lint:file-ignore U1000 closed, lastThread and hostThread are read by the assembly

// Ended is the return code of a call that was not made because the gate is closed.
const Ended = -0x656e6465

var (
	// hostThread is the address of the C function that identifies the calling thread; 0
	// without a gate.
	hostThread uintptr
	// closed is 1 when the gate is closed, and lastThread the thread that passes it
	// nevertheless, or 0. Both are atomic.
	closed     uint32
	lastThread uintptr
)

// Guard builds the gate. It must happen before the first call. self is the address of the C
// function that identifies the calling thread.
func Guard(self uintptr) {
	if hostThread == 0 {
		hostThread = self
		guard()
	}
}

// Close closes the gate, waits up to patience for the calls in flight, and returns true.
// After it, only the calling thread may make calls. A second Close takes this right from that
// thread, too, and returns false. Without a gate, Close returns false.
func Close(patience time.Duration) bool {
	if hostThread == 0 || atomic.LoadUint32(&closed) != 0 {
		atomic.StoreUintptr(&lastThread, 0)
		return false
	}
	atomic.StoreUintptr(&lastThread, self())
	atomic.StoreUint32(&closed, 1)
	for end := time.Now().Add(patience); inFlight() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return true
}

// OnLastThread reports whether the caller runs on the thread that passes the closed gate.
func OnLastThread() bool { return self() == atomic.LoadUintptr(&lastThread) }

// StandStill waits for Still, on behalf of a call that got Ended. The process mostly ends
// meanwhile, so that a program never sees the error, as Go programs end while goroutines
// run. A goroutine for which the end of the process waits goes on after that.
func StandStill() { time.Sleep(Still) }

// Still is the time of StandStill, which tests shorten.
var Still = 5 * time.Second

// inFlight reports whether a goroutine is inside a call.
func inFlight() bool {
	records := make([]runtime.StackRecord, runtime.NumGoroutine()+16)
	n, ok := runtime.GoroutineProfile(records)
	for !ok {
		records = make([]runtime.StackRecord, n+16)
		n, ok = runtime.GoroutineProfile(records)
	}
	for i := range records[:n] {
		frames := runtime.CallersFrames(records[i].Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			switch f.Function {
			case here + "Call", here + "CallAll", here + "Drop", here + "Syscall":
				return true
			}
		}
	}
	return false
}

const here = "github.com/tvmffi-go/tvmffi/internal/ccall."

// self identifies the calling thread.
func self() uintptr {
	id, _, _ := purego.SyscallN(hostThread)
	return id
}

// passes reports whether the calling thread may make a call. A goroutine runs on the last
// thread only if that thread called it.
func passes() bool {
	return atomic.LoadUint32(&closed) == 0 || OnLastThread()
}

// Syscall calls a C function that may enter the host, but has not the form of Call. It
// returns 0 without a call if the gate is closed.
//
//go:noinline
func Syscall(fn uintptr, args ...uintptr) uintptr {
	if !passes() {
		return 0
	}
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
