package tvmffi

import (
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// FunctionFromPointer makes a Function of a C function, such as one that a JIT
// compiler made or dlsym found:
//
//	int call(void *self, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
//
// self is its first argument, which deleter gets, on any thread, when the last
// reference to the Function goes; both may be null. The code must stay where it is as
// long as the Function lives: nothing can check that, or what call is.
func FunctionFromPointer(call, self, deleter Pointer) (*Function, error) {
	if err := codeAt(call); err != nil {
		return nil, err
	}
	handle, err := core.NewFunction(self.Address, call.Address, deleter.Address)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*Function](objects.Own(handle)), nil
}

// FunctionFromPacked makes a Function of a C function of the packed form that the
// execution engine of MLIR gives its functions, void call(void **args). Otherwise it
// is as [FunctionFromPointer]; a call takes the way through Go.
func FunctionFromPacked(call Pointer) (*Function, error) {
	if err := codeAt(call); err != nil {
		return nil, err
	}
	handle := core.NewCallback(func(a *core.Args) error { return a.CallPacked(call.Address) })
	return codec.Wrap[*Function](objects.Own(handle)), nil
}

// codeAt checks, after the library is there, the address of a C function.
func codeAt(call Pointer) error {
	if err := Load(); err != nil {
		return err
	}
	if call.Address == 0 {
		return failure.Errorf(failure.KindValue, "the address of the C function is null")
	}
	return nil
}
