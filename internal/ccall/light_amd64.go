//go:build linux && !tvmffi_portable && !race && !msan && !asan

//lint:file-ignore U1000 read by the assembly

package ccall

import "unsafe"

// unwindStack is above a callStack on the system stack: the frame pointer and the return address,
// which are zero, so that the unwinder of C goes no further.
type unwindStack struct{ bp, pc uintptr }

// aboveLight is what lightBlock has above its callStack, and handleInFrame where the handle is in that.
const (
	aboveLight    = unsafe.Sizeof(unwindStack{})
	handleInFrame = unsafe.Offsetof(callStack{}.rc)
)

// lightStack holds the arguments of a callback, below the registers of C.
type lightStack struct {
	handle, args, n, result, _ uintptr
	r15, r14, r13, r12, bx, bp uintptr
}

// The stack pointer, the program counter and the result of a system call in a ucontext_t.
const (
	ucontextSP     = 160
	ucontextPC     = 168
	ucontextResult = 144
)

const (
	sysSigaction    = 13
	sysSigprocmask  = 14
	sysNanosleep    = 35
	sysClockGettime = 228
	sysTgkill       = 234
)

// firstStack holds the arguments of a handler.
type firstStack struct{ signal, info, context uintptr }

// callSize is the size of a CALL.
const callSize = 5

// watchStack holds a struct sigaction.
type watchStack struct{ action sigaction }
