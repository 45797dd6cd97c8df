//go:build linux && (amd64 || arm64) && !tvmffi_portable

package ccall

import (
	"sync"
	"unsafe"
)

// Without cgo the Go runtime cannot get the bounds of a stack that C made, because purego
// lacks that function of runtime/cgo. findStacks sets it, unless there is one. The runtime
// calls it when such a thread calls Go for the first time.

//go:linkname _stackBounds tvmffi_stackBounds
var _stackBounds byte

// The C functions that _stackBounds calls.
var (
	//lint:ignore U1000 read by the assembly
	threadSelf uintptr
	//lint:ignore U1000 read by the assembly
	threadAttributes uintptr
	//lint:ignore U1000 read by the assembly
	attributesStack uintptr
	//lint:ignore U1000 read by the assembly
	attributesEnd uintptr
)

// boundsVariable returns the address of runtime's _cgo_getstackbound.
func boundsVariable() *uintptr

var findStacks = sync.OnceFunc(func() {
	bounds := boundsVariable()
	if *bounds != 0 {
		return
	}
	f := threadFunctions()
	if f[0] == 0 {
		return
	}
	threadSelf, threadAttributes, attributesStack, attributesEnd = f[0], f[1], f[2], f[3]
	*bounds = uintptr(unsafe.Pointer(&_stackBounds))
})
