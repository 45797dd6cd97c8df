package ccall

// Vector describes calls that CallAll makes in one crossing. It and all that it
// names lie in Go heap memory or in C memory, which do not move, and are kept
// alive by the caller; never on a goroutine stack.
type Vector struct {
	// Records is the address of N records.
	Records uintptr
	N       uintptr
	// Left is how many calls were not made, or failed: 0 if all went well.
	Left uintptr
	// RC is what the call that failed returned, and Err is its error object, owned;
	// Err may be 0 even then.
	RC  int64
	Err uintptr
}

// Record is one call of a Vector: int Fn(Handle, Args, N, Res).
type Record struct {
	Fn     uintptr
	Handle uintptr
	Args   uintptr
	N      uintptr
	// Res is the address of the result, which must be None before the call.
	Res uintptr
}

// ArrayOffset is the distance from the memory of an array to the object: room
// for an empty TVMFFIObjectAllocHeader that keeps the alignment of malloc.
const ArrayOffset = 16
