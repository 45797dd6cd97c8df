package failure

import (
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// invoke calls a C function of the form int f(handle, second, third, result).
func Invoke(fn, handle, second, third uintptr) (abi.Any, error) {
	h := ccall.Head{Fn: fn, Handle: handle, Word: second, N: third, Mode: ccall.Value}
	ccall.Call(&h)
	if h.RC != 0 {
		return abi.Any{}, OfCall(h.RC, h.Err)
	}
	return h.Res, nil
}

// invokeResult calls a C function of the form int f(handle, result).
func InvokeResult(fn, handle uintptr) (abi.Any, error) {
	h := ccall.Head{Fn: fn, Handle: handle, Mode: ccall.Result}
	ccall.Call(&h)
	if h.RC != 0 {
		return abi.Any{}, OfCall(h.RC, h.Err)
	}
	return h.Res, nil
}

// hostError is the return code of a function that leaves its error with the host
// language, as Python does for KeyboardInterrupt.
const hostError = -2

// errorOf makes the error of a call that returned rc. raised, owned, was in the
// error slot of the thread; if the host has the error, it is of another call.
func OfCall(rc int64, raised uintptr) error {
	switch rc {
	case hostError:
		objects.DropError(rc, raised)
		return Errorf(KindSignal, "the error of the function is with its host language, which was interrupted")
	case ccall.Thrown:
		return Thrown("the function", raised)
	}
	return ErrorOf(raised)
}
