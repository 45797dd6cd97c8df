package exportrt

import (
	"reflect"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Arg reads argument i as an exported function of C++ would: a float parameter takes
// an int and a bool too, an int a bool, and a bool an int; a data type and a device
// may be texts. So m.scale(2) of Python reaches func Scale(float64). Elements of containers are taken as they are. The
// error, if there is one, comes out of Args.Check.
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
		switch v.TypeIndex {
		case abi.TypeFloat:
			return bindrt.Arg[T](a, i)
		case abi.TypeInt, abi.TypeBool:
			*p = float64(int64(v.Bits))
			return x
		}
	case *bool:
		if v.TypeIndex == abi.TypeBool || v.TypeIndex == abi.TypeInt {
			*p = v.Bits != 0
			return x
		}
	case *tvmffi.DataType:
		if v.TypeIndex != abi.TypeDataType {
			*p = parsed(a, i, tvmffi.ParseDataType)
			return x
		}
	case *tvmffi.Device:
		if v.TypeIndex != abi.TypeDevice {
			*p = parsed(a, i, tvmffi.ParseDevice)
			return x
		}
	}
	if v.TypeIndex == abi.TypeInt || v.TypeIndex == abi.TypeBool {
		return convert[T](a, i, v)
	}
	return bindrt.Arg[T](a, i)
}

// parsed reads a text as a T; what is no text is the error of a wrong type.
func parsed[T any](a *bindrt.Args, i int, parse func(string) (T, error)) T {
	text, ok := core.TextOf(a.Value(i))
	if !ok {
		return bindrt.Arg[T](a, i)
	}
	x, err := parse(text)
	if err != nil {
		a.Fail(a.WrongArgument(i, err))
	}
	return x
}

// convert reads a number as a T, which may be a named or narrow type, or a pointer
// to one.
func convert[T any](a *bindrt.Args, i int, v abi.Any) T {
	x := new(T)
	at := reflect.ValueOf(x).Elem()
	t := at.Type()
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		target := reflect.New(t)
		target.Elem().SetFloat(float64(int64(v.Bits)))
		set(at, target)
		return *x
	case t.Kind() == reflect.Bool:
		target := reflect.New(t)
		target.Elem().SetBool(v.Bits != 0)
		set(at, target)
		return *x
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 && v.TypeIndex == abi.TypeBool:
		v.TypeIndex = abi.TypeInt
		if err := core.Hooks.Decode(v, a, at.Type(), at.Addr().UnsafePointer()); err != nil {
			a.Fail(a.WrongArgument(i, err))
		}
		return *x
	}
	return bindrt.Arg[T](a, i)
}

// set stores the value behind target, or target itself.
func set(at, target reflect.Value) {
	if at.Kind() == reflect.Pointer {
		at.Set(target)
	} else {
		at.Set(target.Elem())
	}
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
