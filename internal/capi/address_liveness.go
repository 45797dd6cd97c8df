//go:build tvmffi_liveness

package capi

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// These collect between an address and its use. They are files of their own because even the
// call of an empty function keeps the compiler from inlining some of their callers.

// Address is the address of what p points to, which it forces to the heap.
func Address[T any](p *T) uintptr {
	Escape(unsafe.Pointer(p))
	address := uintptr(unsafe.Pointer(p))
	ccall.Collect()
	return address
}

// PointerTo returns C memory as a *T. The memory must stay valid while the result is used; the
// garbage collector does not see it.
func PointerTo[T any](address uintptr) *T {
	ccall.Collect()
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
}
