package callbacks

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Export returns what an exported C symbol calls to reach a Go func, as
// capi.SafeCall(handle, args, n, result), on any thread. It lasts as long as the process.
func Export(call func(*Args) error, origin uintptr, about *About) (safeCall, handle uintptr) {
	return ccall.Unguarded(), objects.NewLastingNode(*(*unsafe.Pointer)(unsafe.Pointer(&call)), origin, about)
}

// Guard makes all Function objects of Go call entry, a C function that goes on to the
// function that Guard returns. It must happen before there are any.
func Guard(entry uintptr) (callback uintptr) {
	ccall.Entry = entry
	return ccall.Unguarded()
}

// NewFunction makes a Function object of a C function of the type
// TVMFFISafeCallType, and returns its only reference. self is its first argument,
// which deleter, unless 0, gets when the last reference goes.
func NewFunction(self, call, deleter uintptr) (uintptr, error) {
	out, err := failure.Invoke(capi.API.FunctionCreate, self, call, deleter)
	return out.First(), err
}
