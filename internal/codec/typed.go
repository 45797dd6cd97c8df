package codec

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// A time, a duration, a complex number, a set and a constant cross as tuples, sequences and ints. That is enough where
// the type of a parameter or a result says what they are. In a value of any type, callers that know these types get them
// typed: with the name of the type, Codec.Typed. All other callers get them as they are elsewhere.

// typing says whether a value is typed.
type typing uint8

const (
	untyped typing = iota // values of any type are not typed
	kept                  // they are if there are typed objects: others than the caller read them
	asked                 // they are
	typed                 // this is in a value of any type
)

// keptNest and typedNest are the outermost Nests of values; nobody changes them.
var keptNest, typedNest = &Nest{typing: kept}, &Nest{typing: typed}

// Typed reports whether n is in a typed value of any type.
func (n *Nest) Typed() bool { return n != nil && n.typing == typed }

// Asked reports whether values of any type are typed.
func (n *Nest) Asked() bool {
	switch {
	case n == nil:
		return false
	case n.flat != nil:
		return n.flat.FlatAny()
	case n.typing == kept:
		return typedObjects.Load() != nil
	}
	return n.typing != untyped
}

// EnterAny returns the Nest of what a value of any type holds. LeaveAny ends it.
func (n *Nest) EnterAny() (inner *Nest, before typing) {
	if !n.Asked() {
		return n, untyped
	}
	if n == keptNest {
		return typedNest, typed
	}
	if before = n.typing; before != typed {
		n.typing = typed
	}
	return n, before
}

// LeaveAny ends the value that began with EnterAny.
func (n *Nest) LeaveAny(before typing) {
	if n.Typed() && before != typed {
		n.typing = before
	}
}

// EncodeResult packs a result that is not in flat form, for a caller that takes typed values if typed is set.
func EncodeResult(c *Codec, p unsafe.Pointer, typed bool) (values.AnyView, error) {
	if typed {
		return EncodeIn(c, p, &Nest{typing: asked})
	}
	return c.Encode(p)
}

// EncodeArgument packs an argument of a call. callback is set for one of a Function object, of which nobody knows the
// language.
func EncodeArgument(c *Codec, p unsafe.Pointer, callback bool) (values.AnyView, error) {
	if callback {
		return EncodeIn(c, p, keptNest)
	}
	return c.Encode(p)
}

func encodeTyped(c *Codec, p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
	parts := outer.parts()
	if parts != nil {
		parts.Begin(callbacks.FlatTyped, 0)
		if err := parts.String(c.Typed); err != nil {
			return values.AnyView{}, err
		}
	}
	var t values.AnyView
	var err error
	if c.within != nil {
		t, err = c.within(p, outer)
	} else {
		t, err = c.Encode(p)
	}
	if err != nil {
		return values.AnyView{}, err
	}
	if parts != nil {
		return flatView, putFlat(parts, t)
	}
	if objects := typedObjects.Load(); objects != nil {
		return objects.make(c.Typed, t)
	}
	return t, nil
}

// EncodeDynamicObject is EncodeObject for a value of any type. A caller that takes such values in flat form makes
// containers of its own of those that cannot change, which may hold typed values.
func EncodeDynamicObject(o *objects.Object, outer *Nest) (values.AnyView, error) {
	t, err := EncodeObject(o)
	parts := outer.parts()
	if err != nil || parts == nil || !crossing.ClassOf(t.Value.TypeIndex).Container() || crossing.Mutable(t.Value.TypeIndex) {
		return t, err
	}
	parts.Begin(callbacks.FlatTyped, 0)
	if err := parts.String("any"); err != nil {
		return values.AnyView{}, err
	}
	return flatView, putFlat(parts, t)
}

// typedObjects makes objects that hold a typed value in their fields type and value.
var typedObjects atomic.Pointer[typedObject]

type typedObject struct {
	index abi.TypeIndex
	make  func(name string, value values.AnyView) (values.AnyView, error)
}

// SetTypedObjects says how to make objects for typed values that are not in flat form.
func SetTypedObjects(index abi.TypeIndex, make func(name string, value values.AnyView) (values.AnyView, error)) {
	typedObjects.Store(&typedObject{index, make})
}

// enums are the types that SetEnum got, by name.
var enums sync.Map // string -> reflect.Type

// SetEnum registers a named int or string type under its name.
func SetEnum(t reflect.Type, name string) {
	c := *Of(t)
	c.Typed = name
	Set(t, &c)
	enums.Store(name, t)
}

// DecodeTyped reads the value of an object for a typed value. It returns false for all others.
func DecodeTyped(v abi.Any, from objects.Reading) (any, bool, error) {
	objects := typedObjects.Load()
	if objects == nil || v.TypeIndex != objects.index {
		return nil, false, nil
	}
	name, value := typedParts(v)
	defer Release(value)
	x, err := decodeNamed(name, value, from)
	return x, true, err
}

func typedParts(v abi.Any) (name string, value abi.Any) {
	part := func(name string) abi.Any {
		return fields.Of(v.TypeIndex, name).Get(objects.Static(uintptr(v.Bits)))
	}
	name, _ = Take[string](part("type"))
	return name, part("value")
}

// withoutType returns the value of an object for a typed value, owned, and false for all others.
func withoutType(v abi.Any) (abi.Any, bool) {
	if objects := typedObjects.Load(); objects == nil || v.TypeIndex != objects.index {
		return v, false
	}
	_, value := typedParts(v)
	return value, true
}

func decodeNamed(name string, v abi.Any, from objects.Reading) (any, error) {
	switch name {
	case "time":
		return DecodeFrom[time.Time](v, from)
	case "duration":
		return DecodeFrom[time.Duration](v, from)
	case "complex":
		return DecodeFrom[complex128](v, from)
	case "set":
		return decodeSet(v, from)
	}
	t, ok := enums.Load(name)
	if !ok {
		return nil, failure.Errorf(failure.KindValue, "expected a type that the library knows, got %s", Quote(name))
	}
	x := reflect.New(t.(reflect.Type))
	err := Of(t.(reflect.Type)).Decode(v, from, x.UnsafePointer())
	return x.Elem().Interface(), err
}

// decodeSet reads a set of texts, of ints, or of any values that can be keys.
func decodeSet(v abi.Any, from objects.Reading) (any, error) {
	all, ok := Elements(v)
	if !ok {
		return nil, WrongType("ffi.Array", v)
	}
	kinds := map[abi.TypeIndex]bool{}
	for _, x := range all {
		kind := x.TypeIndex
		if kind == abi.TypeStr {
			kind = abi.TypeSmallStr
		}
		kinds[kind] = true
	}
	switch {
	case len(kinds) == 1 && kinds[abi.TypeSmallStr], len(kinds) == 0:
		return DecodeFrom[map[string]struct{}](v, from)
	case len(kinds) == 1 && kinds[abi.TypeInt]:
		return DecodeFrom[map[int64]struct{}](v, from)
	}
	return DecodeFrom[map[any]struct{}](v, from.Collected())
}
