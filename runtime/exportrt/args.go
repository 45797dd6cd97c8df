package exportrt

import (
	"errors"
	"reflect"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Arg reads argument i as an exported function of C++ would: a float parameter takes
// an int and a bool too, an int a bool, and a bool an int; a data type and a device
// may be texts; and so may elements of containers. So m.mean([1, 2]) of Python reaches
// func Mean([]float64). The error, if there is one, comes out of Args.Check.
func Arg[T any](a *bindrt.Args, i int) T {
	var x T
	v := a.Value(i)
	switch p := any(&x).(type) {
	case *int64:
		if v.TypeIndex == abi.TypeInt || v.TypeIndex == abi.TypeBool {
			*p = int64(v.Bits)
			return x
		}
	case *int:
		if v.TypeIndex == abi.TypeInt || v.TypeIndex == abi.TypeBool {
			*p = int(v.Bits)
			return x
		}
	case *float64:
		if v.TypeIndex == abi.TypeInt || v.TypeIndex == abi.TypeBool {
			*p = float64(int64(v.Bits))
			return x
		}
	case *bool:
		if v.TypeIndex == abi.TypeBool || v.TypeIndex == abi.TypeInt {
			*p = v.Bits != 0
			return x
		}
	}
	return read[T](a, i, v)
}

// read is Arg for what has no form of its own. What needs no conversion is read
// without the room for one.
func read[T any](a *bindrt.Args, i int, v abi.Any) T {
	x := new(T)
	if i >= a.Len() {
		return *x // the number of arguments is checked later
	}
	t := reflect.TypeFor[T]()
	err := core.Hooks.Decode(v, a, t, unsafe.Pointer(x))
	if err != nil {
		err = core.Hooks.Decode(v, &core.Reading{Inner: a, Loose: true}, t, unsafe.Pointer(x))
	}
	if err != nil {
		kind := core.KindType // which hosts know, unlike OverflowError
		if errors.Is(err, tvmffi.ErrValue) {
			kind = core.KindValue
		}
		a.Fail(core.Hooks.Errorf(kind, "%w", a.WrongArgument(i, err)))
	}
	return *x
}

// Callee reads argument i, a function, as the Go func that wrap, which
// captures nothing, makes of it. The func has a reference of its own, so it may be
// kept, and goes back as the same function.
func Callee[F any](a *bindrt.Args, i int, wrap func(*tvmffi.Function) F) F {
	v := a.Value(i)
	if v.TypeIndex != abi.TypeFunction {
		return bindrt.Arg[F](a, i) // nil for None, or an error
	}
	handle, form := uintptr(v.Bits), **(**uintptr)(unsafe.Pointer(&wrap))
	if f := core.RecentFunc(handle, form); f != nil {
		return *(*F)(unsafe.Pointer(&f))
	}
	core.IncRef(handle)
	fn := (*tvmffi.Function)(unsafe.Pointer(core.OwnByFunc(handle)))
	f := bindrt.Bind(fn, wrap(fn))
	core.KeepRecentFunc(handle, form, *(*unsafe.Pointer)(unsafe.Pointer(&f)))
	return f
}
