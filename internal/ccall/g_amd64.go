//go:build (linux || darwin) && !tvmffi_portable

package ccall

import "unsafe"

// Call makes the call that h describes. The block of h.Units units must follow
// h in the same variable. h may lie on the goroutine stack.
//
// The trampoline finds the g in R14: in Go code it is there, and what leads from
// cgocall to C leaves it.
func Call(h *Head) { cgocall(uintptr(unsafe.Pointer(&_callBlock)), unsafe.Pointer(h)) }

//go:linkname _probe tvmffi_probe
var _probe byte

// checkG looks at what Call takes for granted, which is the runtime's own business.
func checkG() {
	var found uintptr
	cgocall(uintptr(unsafe.Pointer(&_probe)), unsafe.Pointer(&found)) // calls no Go: found stays where it is
	if found != getg() {
		panic("tvmffi: the assembly of this module does not fit this version of Go: build with -tags tvmffi_portable")
	}
}
