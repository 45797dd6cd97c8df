//go:build !tvmffi_liveness

package capi

import "unsafe"

// Address is the address of what p points to, which it forces to the heap.
func Address[T any](p *T) uintptr {
	Escape(unsafe.Pointer(p))
	return uintptr(unsafe.Pointer(p))
}

// PointerTo returns C memory as a *T. The memory must stay valid while the result is used; the
// garbage collector does not see it.
func PointerTo[T any](address uintptr) *T {
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
}
