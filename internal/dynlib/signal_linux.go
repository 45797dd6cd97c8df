package dynlib

import (
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/crash"
)

// sigaction is the struct of the kernel: handler, flags, restorer, mask. All
// architectures that we support have this size with a mask of 8 bytes.
type sigaction [4]uint64

func signalAction(set, old *sigaction) bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGSEGV),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	return errno == 0
}

// saveSignalAction remembers the SIGSEGV action; restore puts it back if a
// handler of libtvm_ffi has replaced it. Handlers of other libraries stay: the handler of a Go
// library forwards to ours, and removing it would break that library.
func saveSignalAction() (restore func()) {
	var before sigaction
	if !signalAction(nil, &before) {
		return func() {}
	}
	return func() {
		var now sigaction
		if !signalAction(nil, &now) || now[0] == before[0] {
			return
		}
		if strings.HasPrefix(filepath.Base(fileOf(uintptr(now[0]))), "libtvm_ffi") {
			signalAction(&before, nil)
			crash.Share(uintptr(now[0]))
		}
	}
}
