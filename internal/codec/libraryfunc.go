package codec

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// NeedLibrary loads libtvm_ffi if that has not happened. The converters that call it call it: a value may be made before
// anything is called.
func NeedLibrary() error {
	if capi.Attached() {
		return nil
	}
	return NewArray.Resolve()
}

// LibraryFunc is a function that not every version of libtvm_ffi has.
type LibraryFunc struct {
	calls.Func
	// since is the first supported version that has it.
	since string
}

// NewLibraryFunc describes a global function and the version that has it first.
func NewLibraryFunc(name, since string) *LibraryFunc {
	return &LibraryFunc{Func: calls.Func{Name: name}, since: since}
}

// Need returns nil if the loaded library has the function.
func (f *LibraryFunc) Need() error {
	err := f.Resolve()
	if err == nil || failure.FailureOf(err) == nil || failure.FailureOf(err).Kind != failure.KindAttr {
		return err
	}
	v := capi.Version()
	return failure.Errorf(failure.KindAttr, "%s: the loaded libtvm_ffi is %d.%d.%d, this needs %s or newer: %w", f.Name, v.Major, v.Minor, v.Patch, f.since, errors.ErrUnsupported)
}

// Call calls the function with values that it borrows; the result is owned.
func (f *LibraryFunc) Call(values ...abi.Any) (abi.Any, error) {
	if err := f.Need(); err != nil {
		return abi.Any{}, err
	}
	fn, err := f.Handle()
	if err != nil {
		return abi.Any{}, err
	}
	return failure.Apply(fn, values)
}

// PackedArgs are values of the caller, packed for one or more calls.
type PackedArgs struct{ temps []values.AnyView }

// Pack adds x. Close ends the operands.
func (o *PackedArgs) Pack(x any) (abi.Any, error) {
	t, err := For[any]().Encode(unsafe.Pointer(&x))
	if err != nil {
		return abi.Any{}, err
	}
	o.temps = append(o.temps, t)
	return t.Value, nil
}

// Close releases what pack made and keeps the rest alive until here.
func (o *PackedArgs) Close() {
	for _, t := range o.temps {
		if t.Owned {
			Release(t.Value)
		}
		runtime.KeepAlive(t.Keep)
	}
	o.temps = nil
}

// Unary calls f with x, packed in a way, and takes the result as an R.
func Unary[R any](f *LibraryFunc, pack func(*PackedArgs, any) (abi.Any, error), x any) (result R, err error) {
	if err := f.Need(); err != nil {
		return result, err
	}
	var o PackedArgs
	defer o.Close()
	v, err := pack(&o, x)
	if err != nil {
		return result, err
	}
	out, err := f.Call(v)
	if err != nil {
		return result, err
	}
	return Take[R](out)
}

// Binary is Unary for two values, which must be [Countable].
func Binary[R any](f *LibraryFunc, x, y any, more ...abi.Any) (result R, err error) {
	if err := f.Need(); err != nil {
		return result, err
	}
	return CallWithTwo[R](f, (*PackedArgs).PackCountable, x, y, more)
}

// CallWithTwo calls f with two values, packed in a way.
func CallWithTwo[R any](f *LibraryFunc, pack func(*PackedArgs, any) (abi.Any, error), x, y any, more []abi.Any) (result R, err error) {
	var o PackedArgs
	defer o.Close()
	a, err := pack(&o, x)
	if err != nil {
		return result, err
	}
	b, err := pack(&o, y)
	if err != nil {
		return result, err
	}
	out, err := f.Call(append([]abi.Any{a, b}, more...)...)
	if err != nil {
		return result, err
	}
	return Take[R](out)
}

// PackBounded is Pack for a value that the library takes apart.
func (o *PackedArgs) PackBounded(x any) (abi.Any, error) { return o.packChecked(x, Bounded) }

// PackFinite is PackBounded for a value that must be [Finite].
func (o *PackedArgs) PackFinite(x any) (abi.Any, error) {
	return o.packChecked(x, func(v abi.Any) error { return Finite(v, true) })
}

// PackCountable is Pack for a value that must be [Countable].
func (o *PackedArgs) PackCountable(x any) (abi.Any, error) { return o.packChecked(x, Countable) }

func (o *PackedArgs) packChecked(x any, check func(abi.Any) error) (abi.Any, error) {
	v, err := o.Pack(x)
	if err == nil {
		err = check(v)
	}
	return v, err
}
