//go:build !(amd64 || arm64) || tvmffi_portable

package ccall

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// threadStack returns what identifies the calling thread, and the ends of its stack, which
// are 0 if the C library does not know them.
func threadStack() (thread, low, high uintptr) {
	f := threadFunctions()
	if f[0] == 0 {
		return 0, 0, 0
	}
	// It is on the heap, which does not move, and larger than any pthread_attr_t.
	c := new(struct {
		attributes [32]uintptr
		low, size  uintptr
	})
	thread, _, _ = purego.SyscallN(f[0])
	attributes := uintptr(unsafe.Pointer(&c.attributes))
	if rc, _, _ := purego.SyscallN(f[1], thread, attributes); rc != 0 {
		return 0, 0, 0
	}
	purego.SyscallN(f[2], attributes, uintptr(unsafe.Pointer(&c.low)), uintptr(unsafe.Pointer(&c.size)))
	purego.SyscallN(f[3], attributes)
	return thread, c.low, c.low + c.size
}
