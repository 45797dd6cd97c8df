//go:build (linux || darwin) && !tvmffi_portable

package ccall

import "unsafe"

// Call makes the call that h describes. The block of h.Units units must follow
// h in the same variable. h may lie on the goroutine stack.
//
// The trampoline finds the g in R14: Go code keeps it there, and the way from cgocall to C
// does not change that register.
func Call(h *Head) {
	Collect()
	cgocall(callEntry, unsafe.Pointer(h))
}

//go:linkname _probe tvmffi_probe
var _probe byte

// checkG panics if R14 does not hold the g in C. Call relies on that, but Go does not
// promise it.
func checkG() {
	var found uintptr
	cgocall(uintptr(unsafe.Pointer(&_probe)), unsafe.Pointer(&found)) // calls no Go, so found does not move
	if found != getg() {
		panic("tvmffi: the assembly of this module does not fit this version of Go: build with -tags tvmffi_portable")
	}
}
