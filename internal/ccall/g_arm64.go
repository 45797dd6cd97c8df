//go:build (linux || darwin) && !tvmffi_portable

package ccall

import "unsafe"

// Call makes the call that h describes. The block of h.Units units must follow
// h in the same variable. h may lie on the goroutine stack.
func Call(h *Head) {
	Collect()
	*(*uintptr)(unsafe.Pointer(&h.Res)) = getg() // in C, its register holds another value
	cgocall(callEntry, unsafe.Pointer(h))
}

func checkG() {}
