//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable && !tvmffi_nobind

package ccall

import (
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A callback on a thread that C made borrows an M from the Go runtime and returns it,
// which costs a microsecond of signal masks. runtime/cgo can keep the M until the thread
// ends: the destructor of a pthread key returns it. It makes that key only for programs
// with exported cgo functions. bindThreads makes the key in the same way, unless it
// exists; the runtime then uses it for the threads of all callbacks. The build tag
// tvmffi_nobind leaves it out.

//go:linkname _bindM tvmffi_bindM
var _bindM byte

//go:linkname _unbindM tvmffi_unbindM
var _unbindM byte

var (
	//lint:ignore U1000 read by the assembly
	bindKey uintptr
	//lint:ignore U1000 read by the assembly
	setSpecific uintptr
)

// bindVariables returns the addresses of runtime's _cgo_bindm, which holds a C
// function, and _cgo_pthread_key_created, which holds the address of a flag.
func bindVariables() (bindm *uintptr, created **uintptr)

var bindThreads = sync.OnceFunc(func() {
	bindm, created := bindVariables()
	if *created == nil || **created != 0 {
		return
	}
	create, err := purego.Dlsym(purego.RTLD_DEFAULT, "pthread_key_create")
	if err != nil {
		return
	}
	if setSpecific, err = purego.Dlsym(purego.RTLD_DEFAULT, "pthread_setspecific"); err != nil {
		return
	}
	key := new(uintptr)
	if rc, _, _ := purego.SyscallN(create, uintptr(unsafe.Pointer(key)), uintptr(unsafe.Pointer(&_unbindM))); rc != 0 {
		return
	}
	bindKey = *key
	*bindm = uintptr(unsafe.Pointer(&_bindM))
	**created = 1
})
