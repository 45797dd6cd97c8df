//go:build linux && !tvmffi_portable && !race && !msan && !asan

//lint:file-ignore U1000 read by the assembly

package ccall

import "unsafe"

// goFrame is what Go lays out for a function without variables, where the link register comes
// first; the frame pointer is in the word below.
type goFrame struct{ r30, _ uintptr }

// aboveLight is what lightBlock has above its callStack, and handleInFrame where the handle is in that.
const (
	aboveLight    = 0
	handleInFrame = unsafe.Offsetof(callStack{}.handle)
)

// registers are those that C wants back.
type registers struct {
	r19, r20, r21, r22, r23, r24, r25, r26, r27, r28 uintptr
	f8, f9, f10, f11, f12, f13, f14, f15             uintptr
}

// urgentStack and lightStack hold the registers of C; lightStack has the arguments of a callback.
type (
	urgentStack struct {
		r29, r30, context, _ uintptr
		c                    registers
	}
	lightStack struct {
		r29, r30                uintptr
		handle, args, n, result uintptr
		c                       registers
	}
)

// firstStack holds the registers and the arguments of a handler.
type firstStack struct{ bp, pc, signal, info, context, _ uintptr }

// watchStack holds a struct sigaction.
type watchStack struct{ action sigaction }

// The stack pointer, the program counter and the result of a system call in a ucontext_t.
const (
	ucontextSP     = 432
	ucontextPC     = 440
	ucontextResult = 184
)

const (
	sysSigaction    = 134
	sysSigprocmask  = 135
	sysNanosleep    = 101
	sysClockGettime = 113
	sysTgkill       = 131
)
