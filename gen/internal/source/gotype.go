package source

import (
	"go/types"
	"reflect"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// GoType is a type of go/types as package crossing sees it.
type GoType struct{ types.Type }

// Kind is that of the type below a name.
func (t GoType) Kind() reflect.Kind {
	switch u := types.Unalias(t.Type).Underlying().(type) {
	case *types.Basic:
		switch u.Kind() {
		case types.String:
			return reflect.String
		case types.UnsafePointer:
			return reflect.UnsafePointer
		}
		if u.Kind() <= types.Complex128 { // bools and numbers are the same in both packages
			return reflect.Kind(u.Kind())
		}
	case *types.Pointer:
		return reflect.Pointer
	case *types.Slice:
		return reflect.Slice
	case *types.Array:
		return reflect.Array
	case *types.Map:
		return reflect.Map
	case *types.Signature:
		return reflect.Func
	case *types.Interface:
		return reflect.Interface
	case *types.Struct:
		return reflect.Struct
	case *types.Chan:
		return reflect.Chan
	}
	return reflect.Invalid
}

// Name returns the path of the package and the name.
func (t GoType) Name() (path, name string) {
	n, ok := types.Unalias(t.Type).(*types.Named)
	switch {
	case !ok:
		return "", ""
	case n.Obj().Pkg() == nil:
		return "", n.Obj().Name()
	}
	return n.Obj().Pkg().Path(), n.Obj().Name()
}

// Elem returns the type of which t is made.
func (t GoType) Elem() crossing.GoType {
	return GoType{types.Unalias(t.Type).Underlying().(interface{ Elem() types.Type }).Elem()}
}

// NumField is the number of fields of a struct.
func (t GoType) NumField() int { return types.Unalias(t.Type).Underlying().(*types.Struct).NumFields() }
