package environment

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"

	"github.com/ebitengine/purego"
)

// SetStream makes stream the current one of a device on this thread and returns
// the one before. The goroutine must be pinned.
func SetStream(d abi.DLDevice, stream uintptr) (uintptr, error) {
	out, err := failure.Invoke(capi.API.EnvSetStream, uintptr(d.Type), uintptr(d.ID), stream)
	return out.First(), err
}

// Stream returns the current stream of a device on this thread.
func Stream(d abi.DLDevice) uintptr {
	s, _, _ := purego.SyscallN(capi.API.EnvGetStream, uintptr(d.Type), uintptr(d.ID))
	return s
}

// Allocator returns the C function that allocates tensors on this thread; 0 if
// there is none.
func Allocator() uintptr {
	f, _, _ := purego.SyscallN(capi.API.EnvGetAllocator)
	return f
}

// SetAllocator sets the C function that allocates tensors on this thread, and
// for the whole process too if global is set. It returns the function that this
// thread had before. The goroutine must be pinned.
func SetAllocator(f uintptr, global bool) (uintptr, error) {
	var flag uintptr
	if global {
		flag = 1
	}
	old := new(uintptr)
	_, err := failure.Invoke(capi.API.EnvSetAllocator, f, flag, capi.Address(old))
	return *old, err
}

// allocate of the environment, set before the C function is handed out.
var allocateHook atomic.Pointer[func(prototype *abi.DLTensor) (managed uintptr, err error)]

// AllocatorEntry returns the C function, a DLPackManagedTensorAllocator, that
// calls f on the thread of the caller; f makes a versioned struct of DLPack. There
// is one such function in a process, with the f of the first call.
func AllocatorEntry(f func(prototype *abi.DLTensor) (managed uintptr, err error)) uintptr {
	allocateHook.CompareAndSwap(nil, &f)
	return allocatorEntry()
}

var allocatorEntry = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(prototype, out, errorContext, setError uintptr) uintptr {
		managed, err := allocateTensor(prototype)
		if err == nil {
			*capi.PointerTo[uintptr](out) = managed
			return 0
		}
		if setError != 0 {
			kind, message := cString(failure.KindRuntime), cString(err.Error())
			purego.SyscallN(setError, errorContext, capi.Address(kind), capi.Address(message))
			runtime.KeepAlive(kind)
			runtime.KeepAlive(message)
		}
		// The library takes the error that is raised on this thread: so the Go error
		// itself comes out of the outer call.
		failure.Raise(err)
		return ^uintptr(0)
	})
})

// cString is s with a NUL at the end; a NUL inside ends it early.
func cString(s string) *byte {
	s, _, _ = strings.Cut(s, "\x00")
	return unsafe.SliceData(append([]byte(s), 0))
}

// allocateTensor turns a panic of the allocator into an error; one that ends by
// runtime.Goexit stops the program, as a callback does.
func allocateTensor(prototype uintptr) (managed uintptr, err error) {
	returned := false
	defer func() {
		p := recover()
		switch {
		case p != nil:
			managed, err = 0, failure.Recovered(p, "a Go callback")
		case !returned:
			callbacks.Goexit()
		}
	}()
	managed, err = (*allocateHook.Load())(capi.PointerTo[abi.DLTensor](prototype))
	returned = true
	return managed, err
}

// CheckSignals asks the host, on the calling thread, whether a signal wants the
// call to end, and returns what it says: 0 to go on. A host without such a
// function has nothing to say.
func CheckSignals() int32 {
	if capi.API.EnvCheckSignals == 0 {
		return 0
	}
	return int32(ccall.Syscall(capi.API.EnvCheckSignals))
}
