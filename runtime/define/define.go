package define

import (
	"reflect"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Type is an object type made in Go: other languages construct, read, write,
// copy, compare and print its objects like objects of a C++ class, without entering
// Go. [Object] makes one.
type Type[T any] struct{ d *definition }

// Object describes an object type by a struct with tags:
//
//	type Point struct {
//		X    int64                   `ffi:"x" doc:"to the right"`
//		Y    int64                   `ffi:"y,default=0"`
//		Name string                  `ffi:"name,kwonly,default=p"`
//		Next *define.Instance[Point] `ffi:"next,optional"`
//	}
//
//	var PointType = define.Object[Point]("demo.Point",
//		define.Doc("A point of the plane."),
//		define.Method("norm", Point.Norm), // func (p Point) Norm() float64
//		define.Repr(Point.String))
//
//	p, err := PointType.New(Point{X: 3, Y: 4})
//
// Nothing happens until [Type.Register], or the first use of the type, which registers it, so
// Object may initialise a package variable. Object never fails: Register reports mistakes. A type
// is registered completely or not at all, together with the types made in Go that its fields,
// methods and parents name, so types may refer to each other in a cycle. It stays registered
// until the process ends.
//
// # Fields
//
// The tag gives the name, then options, in any order but for default, which takes
// the rest of the tag:
//
//	default=V  what a constructor takes when the field is not given: a number, a
//	           bool, or a text; [Default] and [DefaultFunc] give others
//	optional   the field may be None: nil for a pointer, slice, map or func. When it
//	           is not given it has the zero value of its Go type
//	kwonly     constructors take it by name only
//	noinit     constructors do not take it: it has its default, or is zero
//	readonly   the registry says that nobody should write it
//	norepr, nocompare, nohash
//	           it has no part in the printed text, in comparison, in the hash
//	ignore     it has no part in structural equality and hash
//	def, simpledef
//	           structural equality: it defines variables (see [Structural])
//
// A field without the tag is not part of the type. A field is a bool, a number, a string, []byte,
// [tvmffi.DataType], [tvmffi.Device], [tvmffi.Pointer], [tvmffi.Any] or any; a pointer to one of
// those (then it is optional); a pointer to an object type: *[tvmffi.Object], *[Instance],
// *[tvmffi.Array], *[tvmffi.Function], *[tvmffi.Tensor], a generated type; a slice, a map or a
// func, which stands for an Array, a Map or a Function. A narrow number takes its size in memory,
// as in C++; a value that does not fit is refused.
//
// # Parents
//
// A struct that embeds the struct of another type made in Go derives from it. [Parent] and
// [ParentKey] name a parent from another language. Every object of the type is also one of the
// parent, for [tvmffi.Cast] and for every language. A parent must describe all of its memory by
// fields.
//
// # In Go signatures
//
// *Instance[T] is an object by reference, and T one by value: a parameter of type T reads the
// fields of an object, an argument or result of type T makes a new object. Objects in fields that
// are read are left to the collector, and do not count as leaks ([memstat.Collected]). This holds
// for methods, for funcs given to [tvmffi.Register], for elements of containers, and for
// [tvmffi.As].
func Object[T any](key string, options ...TypeOption) *Type[T] {
	d := &definition{key: key, options: options, record: reflect.TypeFor[T](), handle: reflect.TypeFor[*Instance[T]]()}
	d.class.Key = key
	d.declare()
	return &Type[T]{d}
}

// Key returns the key of the type, such as demo.Point.
func (t *Type[T]) Key() string { return t.d.key }

// Register registers the type, and loads libtvm_ffi if necessary. A second call, or a call after
// the first use of the type, does nothing; after a failure, each use tries again. The error names
// the wrong field, method or option; then nothing of the type is registered.
func (t *Type[T]) Register() error { return t.d.register() }

// Default returns the fields as a constructor without arguments sets them: the defaults,
// otherwise zero. The objects among them are new.
func (t *Type[T]) Default() (T, error) {
	var fields T
	err := t.d.defaults(reflect.ValueOf(&fields).Elem())
	return fields, err
}

// New makes an object with the given fields, as they are: defaults are for
// constructors of other languages, and [Type.Default] has them.
func (t *Type[T]) New(fields T) (*Instance[T], error) {
	o, err := t.d.make(reflect.ValueOf(&fields).Elem())
	return codec.Wrap[*Instance[T]](o), err
}

// Instance is an object of a type that [Object] made from the struct T. Like every object it is
// passed by its pointer, and [tvmffi.Cast], [tvmffi.Retain] and Release work as for a generated
// type.
type Instance[T any] struct {
	_ [0]*Instance[T] // see Object
	objectBase
}

// TVMFFIType identifies the type to the runtime.
func (*Instance[T]) TVMFFIType(*Instance[T]) *fields.Type { return classOfRecord(reflect.TypeFor[T]()) }

// Value returns all fields. Objects among them have their own references, which are left to the
// collector and do not count as leaks ([memstat.Collected]); they may be released. It panics with
// an *[tvmffi.Error] if x is nil or was released.
func (x *Instance[T]) Value() T {
	var fields T
	if err := recordOf(reflect.TypeFor[T]()).load(objects.StateOf(x), reflect.ValueOf(&fields).Elem()); err != nil {
		panic(err)
	}
	return fields
}

// SetValue sets all fields or, if there is an error, none. It is an error for a type with a
// read-only field. It is not atomic for concurrent users of the object.
func (x *Instance[T]) SetValue(fields T) error {
	return recordOf(reflect.TypeFor[T]()).store(objects.StateOf(x), reflect.ValueOf(&fields).Elem())
}

// Update calls f with the fields of x, and sets those that f changes: all or, if f returns an
// error or one of them cannot be set, none. Objects among the fields are left to the collector,
// as with [Instance.Value]. It is not atomic for concurrent users of the object.
func (x *Instance[T]) Update(f func(fields *T) error) error {
	return recordOf(reflect.TypeFor[T]()).update(objects.StateOf(x), func(p reflect.Value) error { return f(p.Interface().(*T)) })
}

// objectBase is embedded without a name that users see.
type objectBase = tvmffi.Object
