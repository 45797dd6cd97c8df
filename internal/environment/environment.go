package environment

import (
	"runtime"
	"strings"
	"sync"
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

// AllocatorEntry returns the C function, a DLPackManagedTensorAllocator, that calls allocate on
// the thread of the caller; allocate makes a versioned struct of DLPack. It calls the func of the user by run, which
// contains that func after [ContainCallbacks]. There is one such function in a process, for the func of the first call.
func AllocatorEntry(allocate func(prototype *abi.DLTensor, run func(func() error) error) (managed uintptr, err error)) uintptr {
	allocatorOnce.Do(func() {
		_, node := callbacks.Export(func(a *callbacks.Args) (err error) {
			address := func(i int) uintptr { return uintptr(a.Any(i).Bits) }
			defer func() {
				if p := recover(); p != nil {
					err = a.Recovered(p)
				}
				// The library takes the error that is raised on this thread: so the Go error
				// itself comes out of the outer call. Others ask for the text.
				if setError := address(3); err != nil && setError != 0 {
					kind, message := cString(failure.KindRuntime), cString(err.Error())
					purego.SyscallN(setError, address(2), capi.Address(kind), capi.Address(message))
					runtime.KeepAlive(kind)
					runtime.KeepAlive(message)
				}
			}()
			run := func(f func() error) error {
				if !contain.Load() {
					return f()
				}
				return Contained(a, f)
			}
			managed, err := allocate(capi.PointerTo[abi.DLTensor](address(0)), run)
			if err == nil {
				*capi.PointerTo[uintptr](address(1)) = managed
			}
			return err
		}, **(**uintptr)(unsafe.Pointer(&allocate)), nil)
		allocatorEntry = ccall.TensorAllocator(node)
	})
	return allocatorEntry
}

var (
	allocatorOnce  sync.Once
	allocatorEntry uintptr
)

// cString is s with a NUL at the end, and a space in the place of a NUL inside.
func cString(s string) *byte {
	return unsafe.SliceData(append([]byte(strings.ReplaceAll(s, "\x00", " ")), 0))
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
