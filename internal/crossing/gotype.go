package crossing

import (
	"reflect"
	"strings"
)

// Runtime is the path of package tvmffi.
const Runtime = "github.com/tvmffi-go/tvmffi/runtime"

// GoType is a type of Go, as package reflect or go/types sees it. An alias is the type for which it stands.
type GoType interface {
	// Kind is that of the type below a name. It is reflect.Invalid for a type that does not compile.
	Kind() reflect.Kind
	// Name returns the path of the package and the name, without type arguments. A type without a name has none, and a
	// predeclared one has no path.
	Name() (path, name string)
	// Elem returns the type to which a pointer points, or that of the elements of a slice, an array or a map.
	Elem() GoType
	// NumField is the number of fields of a struct.
	NumField() int
}

// KindByName returns the kind of a type by its name, for types of package tvmffi and of the standard library. It reports false for
// types that are known by what lies below their names.
func KindByName(t GoType) (Kind, bool) {
	path, name := t.Name()
	if path == Runtime && strings.HasPrefix(name, "Tuple") {
		return KindTuple, true
	}
	return NamedInGo(path, name)
}

// Classify returns the kind of the values of a type. It looks at no method and at no tag: a struct may be a record or an
// object, and an interface may hold objects only. It reports false for a type whose values do not cross.
func Classify(t GoType) (Kind, bool) {
	if k, ok := KindByName(t); ok {
		return k, true
	}
	switch t.Kind() {
	case reflect.Bool:
		return KindBool, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return KindInt, true
	case reflect.Float32, reflect.Float64:
		return KindFloat, true
	case reflect.Complex64, reflect.Complex128:
		return KindComplex, true
	case reflect.String:
		return KindString, true
	case reflect.UnsafePointer:
		return KindPointer, true
	case reflect.Pointer:
		if k, ok := KindByName(t.Elem()); ok && Rows[k].Class >= Leaf {
			return k, true
		}
		return KindOptional, true
	case reflect.Slice:
		elem := t.Elem()
		if path, _ := elem.Name(); path == "" && elem.Kind() == reflect.Uint8 { // a slice of another type made of uint8 has its values
			return KindBytes, true
		}
		return KindSequence, true
	case reflect.Array:
		return KindSequence, true
	case reflect.Map:
		elem := t.Elem()
		if _, name := elem.Name(); name == "" && elem.Kind() == reflect.Struct && elem.NumField() == 0 {
			return KindSet, true
		}
		return KindMapping, true
	case reflect.Func:
		return KindCallable, true
	case reflect.Interface:
		return KindAny, true
	case reflect.Struct:
		return KindRecord, true
	}
	return KindNone, false
}
