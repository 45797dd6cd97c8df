package dynlib

import (
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// action is struct sigaction of signal.h: handler, mask, flags.
type action struct {
	handler uintptr
	mask    uint32
	flags   int32
}

const sigsegv = 11

var sigaction = sync.OnceValue(func() uintptr {
	address, _ := purego.Dlsym(purego.RTLD_DEFAULT, "sigaction")
	return address
})

// saveSignalAction remembers the SIGSEGV action; restore puts it back if a
// handler of libtvm_ffi has replaced it.
func saveSignalAction() (restore func()) {
	f := sigaction()
	if f == 0 {
		return func() {}
	}
	before, now := new(action), new(action)
	purego.SyscallN(f, sigsegv, 0, uintptr(unsafe.Pointer(before)))
	return func() {
		purego.SyscallN(f, sigsegv, 0, uintptr(unsafe.Pointer(now)))
		if now.handler != before.handler && strings.HasPrefix(filepath.Base(fileOf(now.handler)), "libtvm_ffi") {
			purego.SyscallN(f, sigsegv, uintptr(unsafe.Pointer(before)), 0)
		}
	}
}
