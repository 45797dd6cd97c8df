//go:build (linux || darwin) && !tvmffi_portable

//lint:file-ignore U1000 read by the assembly

package ccall

import "github.com/tvmffi-go/tvmffi/internal/abi"

// The stack frames of the assembly, from the stack pointer upwards. Each has a multiple
// of 16 bytes. Pairs of registers, such as r19 and r20, are stored by one instruction.

// callStack is the frame of callBlock, which the assembler lays out: the link register is
// at its beginning. The block lies below it.
type callStack struct {
	r30, r23 uintptr
	r19, r20 uintptr
	r21, r22 uintptr
	low      uintptr // the low end of the goroutine stack
	handle   uintptr // what C gets first
	result   abi.Any
}

// dropStack holds the error of a release that failed.
type dropStack struct{ r29, r30, err, _ uintptr }

// saved0 to saved5 hold the frame pointer, the link register, and up to five registers of
// the caller.
type (
	saved0 struct{ r29, r30 uintptr }
	saved2 struct{ r29, r30, r19, r20 uintptr }
	saved4 struct{ r29, r30, r19, r20, r21, r22 uintptr }
	saved5 struct{ r29, r30, r19, r20, r21, r22, r23, _ uintptr }
)

type callbackStack struct {
	r29, r30 uintptr
	call     CallbackFrame
	r27, r28 uintptr
}

// allocateStack holds the arguments and the result of a call of allocatorNode.
type allocateStack struct {
	r29, r30                                  uintptr
	prototype, out, context, setError, result abi.Any
}

// withinStack holds the arguments from the ninth on. It lies below a saved5.
type withinStack struct {
	args [3]uintptr
	_    uintptr
}

// deleteStack holds the list of what a deletion has ended.
type deleteStack struct{ r29, r30, r19, r20, r21, r22, list, _ uintptr }

type setAnyStack struct {
	r29, r30, r19, r20, r21, _ uintptr
	owned                      abi.Any
}

// castStack holds the parts of the message of a failed conversion.
type castStack struct {
	r29, r30                     uintptr
	from, key, to, expected, end uintptr
	_                            uintptr
}

// wideStack holds the words of a BigInt.
type wideStack struct {
	r29, r30 uintptr
	bytes    abiByteArray
	words    [2]uint64
}

// rangeStack and memoryStack hold a message of one part.
type (
	rangeStack  struct{ r29, r30, message, _ uintptr }
	memoryStack struct{ r29, r30, r19, message uintptr }
)

// personalityStack and catchStack hold what the functions need after a call.
type (
	personalityStack struct{ r29, r30, exception, context uintptr }
	catchStack       struct{ r29, r30, name, _ uintptr }
)

// boundsStack holds what the C library writes about a thread.
type boundsStack struct {
	r29, r30, r19, _ uintptr
	attributes       [threadAttributesSize]byte
	low, size        uintptr
}

// atOnce is the number of elements that releaseArray looks at together.
const atOnce = 4
