//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import (
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego" // with CGO_ENABLED=0 it brings the cgo runtime that cgocall needs
)

var _ = purego.RTLD_NOW

// Assembly is true when the trampolines are assembly.
const Assembly = true

//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn uintptr, arg unsafe.Pointer) int32

// The trampolines have the C calling convention; only their addresses are used.

//go:linkname _callBlock tvmffi_callBlock
var _callBlock byte

//go:linkname _drop tvmffi_drop
var _drop byte

//go:linkname _callback tvmffi_callback
var _callback byte

//go:linkname _releaseObject tvmffi_releaseObject
var _releaseObject byte

// Set by Init and SetCallback; read by the assembly.
var (
	//lint:ignore U1000 read by the assembly
	errorMove uintptr
	//lint:ignore U1000 read by the assembly
	decRef uintptr
	//lint:ignore U1000 read by the assembly
	callbackEntry func(*CallbackFrame)
	releasedHead  uintptr
)

// Init sets the C functions that a crossing may need: TVMFFIErrorMoveFromRaised
// and TVMFFIObjectDecRef. It must happen before the first Call.
func Init(errorMoveFromRaised, objectDecRef uintptr) {
	errorMove, decRef = errorMoveFromRaised, objectDecRef
	findDeletions()
	checkG()
}

// deletions is the key under which a thread has the address of the list of objects that a
// deletion has ended; the C library reads and sets it. Without a key each deletion is the first
// of its thread, and what it ends is deleted inside it.
var (
	deletions uintptr
	//lint:ignore U1000 read by the assembly
	getDeletion, setDeletion = uintptr(unsafe.Pointer(&_noSpecific)), uintptr(unsafe.Pointer(&_noSpecific))
)

//go:linkname _noSpecific tvmffi_noSpecific
var _noSpecific byte

func findDeletions() {
	var f [3]uintptr
	for i, name := range [3]string{"pthread_key_create", "pthread_getspecific", "pthread_setspecific"} {
		address, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
		if err != nil {
			return
		}
		f[i] = address
	}
	if rc, _, _ := purego.SyscallN(f[0], uintptr(unsafe.Pointer(&deletions)), 0); int32(rc) == 0 {
		getDeletion, setDeletion = f[1], f[2]
	}
}

// Drop drops a strong reference in C. An error of the deleter is lost. It needs no Head: C gets
// the handle alone, and no result comes back to a stack that may have moved.
func Drop(handle uintptr) {
	Collect()
	cgocall(dropEntry, pointer(handle))
}

// stackLow and stackHigh are the offsets of the ends of the stack in a g: its first words.
// The C code of runtime/cgo relies on them too.
const (
	stackLow  = 0 //lint:ignore U1000 read by the assembly
	stackHigh = 8 //lint:ignore U1000 read by the assembly
)

// getg is the address of the goroutine's g, which never moves.
func getg() uintptr

// SetCallback sets the Go function that all calls from C reach.
func SetCallback(entry func(*CallbackFrame)) {
	callbackEntry = entry
	findStacks()
	bindThreads()
}

// Unguarded is the address of the C function, a TVMFFISafeCallType, that calls
// the Go function of SetCallback on any thread.
func Unguarded() uintptr { return uintptr(unsafe.Pointer(&_callback)) }

//go:linkname _allocateTensor tvmffi_allocateTensor
var _allocateTensor byte

//go:linkname _forked tvmffi_forked
var _forked byte

//lint:ignore U1000 read by the assembly
var allocatorNode uintptr

// unusual is what a call from C looks at first: whether the process is a fork, and whether the
// thread may be in a light call, which goes on at lightCallback then.
type unusualState struct {
	forked, light uint32 //lint:ignore U1000 read by the assembly
}

var (
	//lint:ignore U1000 set and read by the assembly
	unusual unusualState
	//lint:ignore U1000 read by the assembly
	lightCallback uintptr
)

// TensorAllocator is the address of the C function, a DLPackManagedTensorAllocator, that calls a node
// as Callback does. The arguments are the addresses that it gets: the prototype, where the
// result goes, a context, and a function that takes the context and an error.
func TensorAllocator(node uintptr) uintptr {
	allocatorNode = node
	return uintptr(unsafe.Pointer(&_allocateTensor))
}

// RefuseForks makes all calls from C in a forked process, which has no threads of Go, raise an
// error by TVMFFIErrorSetRaisedFromCStrParts. The texts end with a NUL.
func RefuseForks(raise uintptr, kind, message string) {
	forkRaise, forkKind, forkMessage = raise, cText(kind), cText(message)
	// glibc has the first one in its static part only.
	for _, name := range [2]string{"pthread_atfork", "__register_atfork"} {
		if register, err := purego.Dlsym(purego.RTLD_DEFAULT, name); err == nil {
			purego.SyscallN(register, 0, 0, uintptr(unsafe.Pointer(&_forked)), 0)
			return
		}
	}
}

// ReleaseObject is the address of a deleter of objects, void (*)(void*, int flags), that
// puts a node on the list of TakeReleased once the memory of the object is free. It never
// enters Go, so it may run on any thread and during any call.
func ReleaseObject() uintptr { return uintptr(unsafe.Pointer(&_releaseObject)) }

// HasReleased reports whether nodes wait for TakeReleased.
func HasReleased() bool { return atomic.LoadUintptr(&releasedHead) != 0 }

// TakeReleased calls f for each node that C has released.
func TakeReleased(f func(node uintptr)) {
	for node := atomic.SwapUintptr(&releasedHead, 0); node != 0; {
		next := (*Released)(pointer(node)).Next
		f(node)
		node = next
	}
}

// Goroutine identifies the goroutine that calls it, while that runs.
func Goroutine() uintptr { return getg() }
