//go:build (linux || darwin) && !tvmffi_portable

//lint:file-ignore U1000 read by the assembly

package ccall

import "github.com/tvmffi-go/tvmffi/internal/abi"

// The stack frames of the assembly, from the stack pointer upwards. C wants the stack
// pointer at a multiple of 16 bytes where it is called: a frame, the registers pushed
// above it and the return address have such a size together.

// callStack is what callBlock has below BP. The block lies below it.
type callStack struct {
	result abi.Any
	rc     int64   // the handle that C gets first, until C has failed
	low    uintptr // the low end of the goroutine stack
	_      [2]uintptr
}

// dropStack holds the error of a release that failed.
type dropStack struct{ err uintptr }

// callbackStack begins with the arguments of cgocallback.
type callbackStack struct {
	entry, frame, context  uintptr
	call                   CallbackFrame
	bx, r12, r13, r14, r15 uintptr
	bp                     uintptr
}

// allocateStack holds the arguments and the result of a call of allocatorNode.
type allocateStack struct {
	prototype, out, context, setError, result abi.Any
	_                                         uintptr
}

// withinStack holds the arguments from the seventh on.
type withinStack struct {
	args [5]uintptr
	_    uintptr
}

// castStack holds the parts of the message of a failed conversion.
type castStack struct {
	from, key, to, expected, end uintptr
	_                            [2]uintptr
}

// wideStack holds the words of a BigInt.
type wideStack struct {
	bytes abiByteArray
	words [2]uint64
	_     uintptr
}

// rangeStack and memoryStack hold a message of one part.
type (
	rangeStack struct {
		message uintptr
		_       [2]uintptr
	}
	memoryStack struct {
		message uintptr
		_       uintptr
	}
)

// boundsStack holds what the C library writes about a thread.
type boundsStack struct {
	attributes [threadAttributesSize]byte
	low, size  uintptr
}

const (
	// align is what a function without a frame puts below an even number of pushed
	// registers.
	align = 8
	// atOnce is the number of elements that releaseArray looks at together.
	atOnce = 8
	// xmm is the size of a vector register.
	xmm = 16
)
