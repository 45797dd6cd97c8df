//go:build linux

package ccall

import (
	"sync"

	"github.com/ebitengine/purego"
)

// threadFunctions returns the addresses of the C functions that know the stack of a thread, in
// the order of their calls. They are 0 if the C library lacks one.
var threadFunctions = sync.OnceValue(func() (f [4]uintptr) {
	for i, name := range [4]string{"pthread_self", "pthread_getattr_np", "pthread_attr_getstack", "pthread_attr_destroy"} {
		address, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
		if err != nil {
			return [4]uintptr{}
		}
		f[i] = address
	}
	return f
})
