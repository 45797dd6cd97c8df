package codec

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// LibraryFunc is a function that not every version of libtvm_ffi has.
type LibraryFunc struct {
	core.Func
	// since is the first supported version that has it.
	since string
}

func NewLibraryFunc(name, since string) *LibraryFunc {
	return &LibraryFunc{Func: core.Func{Name: name}, since: since}
}

// need returns nil if the loaded library has the function.
func (f *LibraryFunc) Need() error {
	err := f.Resolve()
	if err == nil || failure.FailureOf(err) == nil || failure.FailureOf(err).Kind != failure.KindAttr {
		return err
	}
	v := capi.Version()
	return failure.Errorf(failure.KindAttr, "%s: the loaded libtvm_ffi is %d.%d.%d, this needs %s or newer: %w", f.Name, v.Major, v.Minor, v.Patch, f.since, errors.ErrUnsupported)
}

// call calls the function with values that it borrows; the result is owned.
func (f *LibraryFunc) Call(values ...abi.Any) (abi.Any, error) {
	if err := f.Need(); err != nil {
		return abi.Any{}, err
	}
	fn, err := f.Handle()
	if err != nil {
		return abi.Any{}, err
	}
	return core.Apply(fn, values)
}

// PackedArgs are values of the caller, packed for one or more calls.
type PackedArgs struct{ temps []core.Temp }

// pack adds x. Close ends the operands.
func (o *PackedArgs) Pack(x any) (abi.Any, error) {
	t, err := For[any]().Encode(unsafe.Pointer(&x))
	if err != nil {
		return abi.Any{}, err
	}
	o.temps = append(o.temps, t)
	return t.Value, nil
}

// close releases what pack made and keeps the rest alive until here.
func (o *PackedArgs) Close() {
	for _, t := range o.temps {
		if t.Owned {
			Release(t.Value)
		}
		runtime.KeepAlive(t.Keep)
	}
	o.temps = nil
}

// unary calls f with x and further packed values, and takes the result as an R.
func Unary[R any](f *LibraryFunc, x any, more ...abi.Any) (result R, err error) {
	if err := f.Need(); err != nil {
		return result, err
	}
	var o PackedArgs
	defer o.Close()
	v, err := o.Pack(x)
	if err != nil {
		return result, err
	}
	out, err := f.Call(append([]abi.Any{v}, more...)...)
	if err != nil {
		return result, err
	}
	return Take[R](out)
}

// binary is unary for two values.
func Binary[R any](f *LibraryFunc, x, y any, more ...abi.Any) (result R, err error) {
	if err := f.Need(); err != nil {
		return result, err
	}
	return CallWithTwo[R](f, (*PackedArgs).Pack, x, y, more)
}

// callWithTwo calls f with two values, packed in a way.
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

func BoolValue(v bool) abi.Any { return abi.Any{TypeIndex: abi.TypeBool, Bits: BoolBits(v)} }

func IntValue(v int64) abi.Any { return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)} }

// returnTemp returns a packed value from a callback.
func ReturnTemp(a *core.Args, t core.Temp, err error) error {
	if err == nil {
		err = t.Lasting()
	}
	if err != nil {
		return a.WrongResult(err)
	}
	v := t.Value
	if !t.Owned {
		v, err = core.Owned(v)
	}
	runtime.KeepAlive(t.Keep)
	if err != nil {
		return err
	}
	a.Return(v)
	return nil
}

// readArgument reads argument i of a callback, which is of the type t in Go, in
// the way of the library: it converts what the library converts for a parameter.
func ReadArgument(a *core.Args, i int, t reflect.Type, at unsafe.Pointer) error {
	if err := Of(t).Decode(a.Value(i), objects.ReadBorrowed(a).Converting(), at); err != nil {
		return a.InArgument(i, err)
	}
	return nil
}

// nestedJSON returns an error if text is nested too deep for the parser of the
// library, which is lenient: all that opens outside of strings counts.
func NestedJSON(text []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return failure.Errorf(failure.KindValue, "the JSON text is nested deeper than %d levels", MaxDepth)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

// TakeString takes an owned string as bytes.
func TakeString(v abi.Any) ([]byte, error) {
	defer Release(v)
	text, ok := capi.BorrowString(&v)
	if !ok {
		return nil, WrongType("ffi.String", v)
	}
	return bytes.Clone(text), nil
}

func ReleaseTemp(t core.Temp) {
	if t.Owned {
		Release(t.Value)
	}
}
