package ccall

import (
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// threadFunctions returns the addresses of GetCurrentThreadId and GetCurrentThreadStackLimits, 0 on a Windows that lacks them.
var threadFunctions = sync.OnceValue(func() (f [2]uintptr) {
	library := syscall.NewLazyDLL("kernel32.dll") // which every process has loaded
	for i, name := range [2]string{"GetCurrentThreadId", "GetCurrentThreadStackLimits"} {
		function := library.NewProc(name)
		if function.Find() != nil {
			return [2]uintptr{}
		}
		f[i] = function.Addr()
	}
	return f
})

// threadStack returns what identifies the calling thread, and the ends of its stack, which are 0 if Windows does not know them.
func threadStack() (thread, low, high uintptr) {
	f := threadFunctions()
	if f[0] == 0 {
		return 0, 0, 0
	}
	ends := new([2]uintptr) // on the heap, which does not move
	thread, _, _ = purego.SyscallN(f[0])
	purego.SyscallN(f[1], uintptr(unsafe.Pointer(&ends[0])), uintptr(unsafe.Pointer(&ends[1])))
	return thread, ends[0], ends[1]
}
