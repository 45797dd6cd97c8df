//go:build linux && (amd64 || arm64) && !tvmffi_portable

package ccall

import (
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
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
	for name, to := range map[string]*uintptr{
		"pthread_self": &threadSelf, "pthread_getattr_np": &threadAttributes,
		"pthread_attr_getstack": &attributesStack, "pthread_attr_destroy": &attributesEnd,
	} {
		address, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
		if err != nil {
			return
		}
		*to = address
	}
	*bounds = uintptr(unsafe.Pointer(&_stackBounds))
})
