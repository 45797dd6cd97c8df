package define

import (
	"reflect"

	"github.com/tvmffi-go/tvmffi/internal/fields"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// TypeOption adds to the description of a type: [Doc], [Parent], [Method], [Repr] and the other
// functions that return one.
type TypeOption interface{ describe(*definition) }

type typeOption func(*definition)

func (o typeOption) describe(d *definition) { o(d) }

// Doc is the doc comment of a type.
func Doc(text string) TypeOption { return typeOption(func(d *definition) { d.doc = text }) }

// Parent names the type, of any language, that the type derives from.
func Parent[P tvmffi.ObjectType[P]]() TypeOption {
	var p P
	return typeOption(func(d *definition) { d.setParent(p.TVMFFIType(p)) })
}

// ParentKey is [Parent] by the key of a type for which there is no Go type.
func ParentKey(key string) TypeOption {
	return typeOption(func(d *definition) { d.setParent(&fields.Type{Key: key}) })
}

// Final says that no type may derive from the type.
func Final() TypeOption { return typeOption(func(d *definition) { d.final = true }) }

// Frozen makes all fields read-only, as the tag option readonly does for one.
func Frozen() TypeOption { return typeOption(func(d *definition) { d.frozen = true }) }

// KwOnly makes constructors take all fields by name, as the tag option kwonly does
// for one.
func KwOnly() TypeOption { return typeOption(func(d *definition) { d.kwOnly = true }) }

// Structural sets the kind of structural equality and hash.
func Structural(kind structural.Kind) TypeOption {
	return typeOption(func(d *definition) { d.structural = kind })
}

// Default sets the default of a field that a tag cannot hold, such as an object,
// which all objects of the type then share. value has the Go type of the field.
func Default(field string, value any) TypeOption {
	return typeOption(func(d *definition) { d.setDefault(field, reflect.ValueOf(value), false) })
}

// DefaultFunc sets a func that makes the default of a field for each object.
func DefaultFunc[V any](field string, make func() V) TypeOption {
	return typeOption(func(d *definition) { d.setDefault(field, reflect.ValueOf(make), true) })
}

// Converter lets a field be set to values of other types: each
// setter calls convert with the value and stores the result. Setting such a field
// enters Go. It needs libtvm_ffi 0.1.11 or newer.
func Converter[V any](field string, convert func(value tvmffi.Any) (V, error)) TypeOption {
	return typeOption(func(d *definition) { d.setConverter(field, reflect.ValueOf(convert)) })
}

// Method adds a method. The first parameter of f is the object: *Instance[T], or T
// to get its fields, so that a Go method of the struct serves: Point.Norm. With a
// first parameter *T the fields that f changes are set when it returns without an
// error: (*Point).Move. The signature is f's, as for [tvmffi.Register], whose
// options apply.
func Method(name string, f any, options ...tvmffi.RegisterOption) TypeOption {
	return typeOption(func(d *definition) { d.addMethod(name, f, options, false) })
}

// StaticMethod adds a method without an object.
func StaticMethod(name string, f any, options ...tvmffi.RegisterOption) TypeOption {
	return typeOption(func(d *definition) { d.addMethod(name, f, options, true) })
}

// Repr sets the func that prints an object, for String and for every language. S is T or
// *Instance[T], as for the other hooks.
func Repr[S any](f func(S) string) TypeOption {
	return hook("__ffi_repr__", f, func(self S, _ *tvmffi.Function) (string, error) { return f(self), nil })
}

// EqualBy sets the func that compares two objects for equality.
func EqualBy[S any](f func(a, b S) bool) TypeOption {
	return hook("__ffi_eq__", f, func(a, b S, _ *tvmffi.Function) (bool, error) { return f(a, b), nil })
}

// HashBy sets the hash of an object. It must agree with [EqualBy].
func HashBy[S any](f func(S) int64) TypeOption {
	return hook("__ffi_hash__", f, func(self S, _ *tvmffi.Function) (int64, error) { return f(self), nil })
}

// CompareBy sets the order of objects: f is negative, zero or positive, as for slices.SortFunc.
// Without [EqualBy], it also decides equality.
func CompareBy[S any](f func(a, b S) int) TypeOption {
	return hook("__ffi_compare__", f, func(a, b S, _ *tvmffi.Function) (int64, error) {
		return int64(max(-1, min(1, f(a, b)))), nil
	})
}

// Attribute sets an attribute of the type by its name, such as __s_equal__ or
// __data_to_json__; a func becomes a Function.
func Attribute(name string, value any) TypeOption {
	return typeOption(func(d *definition) { d.addAttribute(name, value) })
}

// Deferred adds the options that a variable holds when the type is registered, not when it is
// defined. So a method of a struct may use the variable of its own type, which would otherwise be
// an initialization cycle:
//
//	var PointType = define.Object[Point]("demo.Point", define.Deferred(&pointMembers))
//
//	var pointMembers []define.TypeOption
//
//	func init() { pointMembers = []define.TypeOption{define.Method("twice", Point.Twice)} }
func Deferred(options *[]TypeOption) TypeOption {
	return typeOption(func(d *definition) {
		for _, o := range *options {
			o.describe(d)
		}
	})
}
