package core

import "unsafe"

// address is the address of what p points to, which it forces to the heap.
func address[T any](p *T) uintptr {
	escape(unsafe.Pointer(p))
	return uintptr(unsafe.Pointer(p))
}
