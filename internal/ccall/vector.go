package ccall

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Vector describes calls that CallAll makes in one crossing. It and all that it
// points to lie in Go heap memory or in C memory, which do not move, and are kept
// alive by the caller; never on a goroutine stack.
type Vector struct {
	// Records is the address of the records.
	Records uintptr
	// Results is the address of the results, one for each call, which must be None
	// before; End is the address behind them. SetResults sets both.
	Results uintptr
	End     uintptr
	// Left is the number of calls that failed or were not made: 0 if all succeeded.
	Left uintptr
	// RC is the return code of the call that failed, and Err its error object, owned; Err
	// may be 0 even then.
	RC  int64
	Err uintptr
}

// resultSize is the size of a result, and of an argument.
const resultSize = unsafe.Sizeof(abi.Any{})

// SetResults sets the address of the results of n calls, at least one. It may be 0 for
// functions without results.
func (v *Vector) SetResults(address uintptr, n int) {
	v.Results, v.End = address, address+uintptr(n)*resultSize
}

// Record is one or more calls of a Vector: int Fn(Handle, Args, N, result). The
// arguments of all its calls lie one after the other.
type Record struct {
	Fn     uintptr
	Handle uintptr
	Args   uintptr
	N      uintptr
	// Calls is the number of calls, at least 1.
	Calls uintptr
}

// ArrayOffset is the distance from the memory of an array to the object: room
// for an empty TVMFFIObjectAllocHeader that keeps the alignment of malloc.
const ArrayOffset = 16
