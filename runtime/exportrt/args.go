package exportrt

import (
	"reflect"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Callee returns argument i, a function, as a Go func that wrap makes. wrap must not capture
// variables. The func ends when the callee returns, unless tvmffi.RetainFunc keeps it. When it
// is passed back, it is the same function again. None is an error: the callee would call it. A
// parameter with the default nil takes None, and is read by ArgOr.
func Callee[F any](a *bindrt.Args, i int, wrap func(*tvmffi.Function) F) F {
	v := a.Value(i)
	if v.TypeIndex == abi.TypeNone && i < a.Len() {
		a.Fail(a.InArgument(i, failure.Errorf(failure.KindType, "expected a Function, got None")))
		var none F
		return none
	}
	if v.TypeIndex != abi.TypeFunction {
		return bindrt.Arg[F](a, i) // a conversion, or an error
	}
	fn := (*tvmffi.Function)(unsafe.Pointer(a.Borrow(uintptr(v.Bits))))
	return bindrt.Bind(fn, wrap(fn))
}

// Object is bindrt.Arg for a pointer to the struct of an opaque class. None is an error: the callee would use the pointer.
// A parameter with the default nil takes None, and is read by ArgOr.
func Object[T any](a *bindrt.Args, i int) *T {
	if v := a.Any(i); v != nil && v.TypeIndex == abi.TypeNone {
		a.Fail(a.InArgument(i, codec.WrongType(codec.For[*T]().Name, *v)))
		return nil
	}
	return bindrt.Arg[*T](a, i)
}

// Rest returns the arguments from number first on, for a variadic parameter or a packed
// function. Objects are borrowed.
func Rest[T any](a *bindrt.Args, first int) []T {
	if a.Len() <= first {
		return nil
	}
	all := make([]T, a.Len()-first)
	for i := range all {
		all[i] = bindrt.Arg[T](a, first+i)
	}
	return all
}

// ArgOr is bindrt.Arg for a parameter with a default.
func ArgOr[T any](a *bindrt.Args, i int, value T) T {
	if i >= a.Len() {
		return value
	}
	return bindrt.Arg[T](a, i)
}

// Pointer returns a pointer to a default.
func Pointer[T any](value T) *T { return &value }

// Parsed returns a default that Go cannot write as a constant: a data type, or a float such
// as NaN. The generator has checked the text.
func Parsed[T any](text string) (value T) {
	_, _ = codec.SetDefault(text, reflect.ValueOf(&value).Elem())
	return value
}
