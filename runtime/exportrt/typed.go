package exportrt

import (
	"reflect"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// typedName is the name of the function by which a package for another language asks for typed values.
//
// Without an argument it returns the key of the type of the objects that hold one where a value has any type: in
// fields and in arguments of callbacks, from then on, or None if the library has no values of any type. With the name of
// a function, or a method, it returns another one, whose results are typed. Other callers get them as they are.
const typedName = "_typed"

// typed returns the Function typedName. functions are those of the library, and typed is that of Ready.
func (l *Exports) typed(functions map[string]*Function, typed []func(key string) error) *Function {
	return &Function{
		Name: typedName,
		Doc:  "Asks for values of any type with their types.",
		Func: tvmffi.Packed(nil),
		Call: func(a *bindrt.Args) error {
			if a.Len() == 0 {
				if len(typed) == 0 {
					return nil
				}
				key := l.Prefix + "typed"
				if err := typed[0](key); err != nil {
					return err
				}
				return bindrt.Return(a, key)
			}
			if a.Value(0).TypeIndex == abi.TypeFunction {
				handle := uintptr(a.Value(0).Bits)
				objects.IncRef(handle) // a method stays as long as the process
				forward := func(a *bindrt.Args) error { return a.Forward(handle) }
				a.Return(functionOf(func(a *bindrt.Args) error { return a.AskTyped(forward) }, 0))
				return nil
			}
			f := functions[bindrt.Arg[string](a, 0)]
			if err := a.Check(1); err != nil {
				return err
			}
			if f == nil {
				return failure.Errorf(failure.KindAttr, "%s has no function %s", l.Name, bindrt.Arg[string](a, 0))
			}
			handle := callbacks.NewDescribed(func(a *bindrt.Args) error { return a.AskTyped(f.Call) }, f.origin(), f.about())
			a.Return(abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(handle)})
			return nil
		},
	}
}

// Enum is a type of the package with exported constants.
type Enum struct {
	t    reflect.Type
	name string
}

// EnumOf describes the type T.
func EnumOf[T any]() Enum {
	t := reflect.TypeFor[T]()
	return Enum{t, t.PkgPath() + "." + t.Name()}
}
