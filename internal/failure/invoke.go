package failure

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Invoke calls a C function of the form int f(handle, second, third, result).
func Invoke(fn, handle, second, third uintptr) (abi.Any, error) {
	h := ccall.Head{Fn: fn, Handle: handle, Word: second, Res: abi.Any{Bits: uint64(third)}, Mode: ccall.Value}
	ccall.Call(&h)
	if h.RC != 0 {
		return abi.Any{}, OfCall(h.Failure())
	}
	return h.Res, nil
}

// InvokeResult calls a C function of the form int f(handle, result).
func InvokeResult(fn, handle uintptr) (abi.Any, error) {
	h := ccall.Head{Fn: fn, Handle: handle, Mode: ccall.Result}
	ccall.Call(&h)
	if h.RC != 0 {
		return abi.Any{}, OfCall(h.Failure())
	}
	return h.Res, nil
}

// InvokeResultBy is InvokeResult by a way of crossing.
func InvokeResultBy(way *ccall.Way, fn, handle uintptr) (abi.Any, error) {
	h := ccall.Head{Fn: fn, Handle: handle, Mode: ccall.Result}
	way.Cross(&h)
	if h.RC != 0 {
		return abi.Any{}, OfCall(h.Failure())
	}
	return h.Res, nil
}

// Apply calls a Function object with any number of packed values, borrowed, and
// returns its result, owned. fn and what the values refer to must be kept alive.
func Apply(fn uintptr, values []abi.Any) (abi.Any, error) {
	return ApplyAs("the function", fn, values)
}

// ApplyAs is Apply for a function that errors call name.
func ApplyAs(name string, fn uintptr, values []abi.Any) (abi.Any, error) {
	h := ccall.Head{Fn: capi.SafeCall(fn), Handle: fn, Res: abi.Any{Bits: uint64(len(values))}, Mode: ccall.Value}
	if len(values) == 0 {
		values = make([]abi.Any, 1) // a callee may look at the address
	}
	h.Word = capi.Address(unsafe.SliceData(values))
	ccall.Call(&h)
	runtime.KeepAlive(values)
	switch h.RC {
	case 0:
		return h.Res, nil
	case ccall.Thrown:
		_, thrown := h.Failure()
		return abi.Any{}, Thrown(name, thrown)
	}
	return abi.Any{}, OfCall(h.Failure())
}

// hostError is the return code of a function whose error the host language keeps, such as
// KeyboardInterrupt in Python.
const hostError = -2

// OfCall returns the error of a call that returned rc. raised is the owned error that was
// in the error slot of the thread. If the host keeps the error, raised is of another call.
func OfCall(rc int64, raised uintptr) error {
	switch rc {
	case hostError:
		objects.DropError(rc, raised)
		return Errorf(KindSignal, "the host language was interrupted and keeps the error of the function")
	case ccall.Thrown:
		return Thrown("the function", raised)
	case ccall.Ended:
		ccall.StandStill()
		return Errorf(KindRuntime, "the host process is ending, so Go calls its functions no more: stop the goroutines before the end of the process")
	}
	return ErrorOf(raised)
}

// Explain returns an error of the kind of err, which the library made, with a text that says
// more. err is its cause.
func Explain(err error, format string, args ...any) error {
	kind, trace := KindRuntime, ""
	if e := FailureOf(err); e != nil {
		kind, trace = e.Kind, e.Trace()
	}
	return NewFailure(Failure{kind, fmt.Sprintf(format, args...), trace, FailureState{Cause: err}})
}
