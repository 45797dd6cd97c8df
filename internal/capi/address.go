package capi

import "unsafe"

// Address is the address of what p points to, which it forces to the heap.
func Address[T any](p *T) uintptr {
	Escape(unsafe.Pointer(p))
	return uintptr(unsafe.Pointer(p))
}
