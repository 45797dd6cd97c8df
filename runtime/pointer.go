package tvmffi

import (
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// FunctionFromPointer returns a Function that calls a C function, such as one that a JIT
// compiler made or dlsym found. The C function is a safe call of TVM-FFI:
//
//	int call(void *self, const TVMFFIAny *args, int32_t n, TVMFFIAny *result)
//
// self is its first argument. When the last reference to the Function ends, deleter is
// called with self, on any thread. self and deleter may be null. The code must stay at its
// address as long as the Function lives. The runtime cannot check that, nor that call is
// such a function.
func FunctionFromPointer(call, self, deleter Pointer) (*Function, error) {
	if err := codeAt(call); err != nil {
		return nil, err
	}
	handle, err := callbacks.NewFunction(self.Address, call.Address, deleter.Address)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*Function](objects.Own(handle)), nil
}

// FunctionFromPacked is like [FunctionFromPointer] for a C function in the packed form of
// the execution engine of MLIR, void call(void **args). Each call of the Function goes
// through Go.
func FunctionFromPacked(call Pointer) (*Function, error) {
	if err := codeAt(call); err != nil {
		return nil, err
	}
	handle := callbacks.New(func(a *callbacks.Args) error { return a.CallPacked(call.Address) })
	return codec.Wrap[*Function](objects.Own(handle)), nil
}

// codeAt loads the library and checks the address of a C function.
func codeAt(call Pointer) error {
	if err := Load(); err != nil {
		return err
	}
	if call.Address == 0 {
		return failure.Errorf(failure.KindValue, "the address of the C function is null")
	}
	return nil
}
