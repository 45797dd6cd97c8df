package dynlib

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// machRead is mach_vm_read_overwrite, and the port of this process.
var machRead = sync.OnceValues(func() (function uintptr, task uint32) {
	function, _ = purego.Dlsym(purego.RTLD_DEFAULT, "mach_vm_read_overwrite")
	if port, err := purego.Dlsym(purego.RTLD_DEFAULT, "mach_task_self_"); err == nil {
		task = **(**uint32)(unsafe.Pointer(&port))
	}
	return function, task
})

// Memory returns a func that copies memory of the process. It returns an error, and no fault happens, if a part is not
// readable.
func Memory() (read func(address uint64, b []byte) error, err error) {
	function, task := machRead()
	if function == 0 {
		return nil, errors.New("this system has no mach_vm_read_overwrite")
	}
	return func(address uint64, b []byte) error {
		if len(b) == 0 {
			return nil
		}
		copied := new(uint64)
		rc, _, _ := purego.SyscallN(function, uintptr(task), uintptr(address), uintptr(len(b)), uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(copied)))
		if int32(rc) != 0 || *copied != uint64(len(b)) {
			return fmt.Errorf("there is no readable memory: mach_vm_read_overwrite returns %d", int32(rc))
		}
		return nil
	}, nil
}
