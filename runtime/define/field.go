package define

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/defined"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// recordField is a field of a type made in Go.
type recordField struct {
	defined.Field
	owner      *definition
	goType     reflect.Type
	valueType  reflect.Type  // goType, or what it points to, if nil is None
	at         uintptr       // its offset in the Go struct
	reader     fields.Reader // of one that is not plain
	codec      *codec.Codec
	class      *fields.Type // of an object
	value      reflect.Value
	make       reflect.Value // the factory of defaults
	convert    reflect.Value
	hasDefault bool
	optional   bool
	exact      bool // as of valueType
	twice      bool // Update reads it twice, because pointers lead to what it may change
	nests      bool // it holds an object that may contain itself
}

// String returns the key of the type and the name of the field.
func (f *recordField) String() string { return f.owner.key + "." + f.Name }

// in returns the address of the field in a struct.
func (f *recordField) in(record unsafe.Pointer) unsafe.Pointer { return unsafe.Add(record, f.at) }

// plain reports whether a field has the bytes of its Go value.
func (f *recordField) plain() bool {
	return f.Accept.Kind != defined.KindAnyValue && f.Accept.Kind != defined.KindObjectRef
}

// optionalValue returns what a pointer points to whose nil is None, and which holds a copied value; otherwise t.
func optionalValue(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Pointer || codec.ClassOf(t) != nil || findOpaque(t.Elem()) != nil || t.Implements(codec.ErrorType) {
		return t
	}
	if t.Elem().Kind() == reflect.Func { // whose nil is None
		return t
	}
	return t.Elem()
}

// exact reports whether equal values of t have the same content, so that none was changed. A pointer inside t shows
// nothing of what is behind it, unless that is an object.
func exact(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		if t == reflect.TypeFor[tvmffi.Any]() {
			return true
		}
		for i := range t.NumField() {
			if inner := t.Field(i).Type; inner.Kind() == reflect.Interface || !exact(inner) {
				return codec.Of(t).Wire != nil // a time
			}
		}
		return true
	case reflect.Array:
		return exact(t.Elem())
	case reflect.Pointer:
		return optionalValue(t) == t
	}
	return t.Comparable()
}

// compare compares the values at a and b. They may be neither equal nor different for certain.
func (f *recordField) compare(a, b unsafe.Pointer) (equal, different bool) {
	switch {
	case f.plain():
		size := defined.SizeOf(f.Accept.Kind)
		equal = string(unsafe.Slice((*byte)(a), size)) == string(unsafe.Slice((*byte)(b), size))
		return equal, !equal
	case f.goType.Kind() == reflect.String:
		equal = *(*string)(a) == *(*string)(b)
		return equal, !equal
	}
	x, y := reflect.NewAt(f.goType, a).Elem(), reflect.NewAt(f.goType, b).Elem()
	certain := f.exact && x.Comparable() && y.Comparable()
	equal = (certain || f.twice) && same(x, y)
	nils := f.valueType != f.goType && x.IsNil() != y.IsNil()
	return equal, !equal && (certain || nils)
}

// same reports whether the content of two values is the same for certain. A NaN is the same as another, and -0.0 is not 0.0.
func same(x, y reflect.Value) bool {
	switch x.Kind() {
	case reflect.Float32, reflect.Float64:
		return sameFloat(x.Float(), y.Float())
	case reflect.Complex64, reflect.Complex128:
		a, b := x.Complex(), y.Complex()
		return sameFloat(real(a), real(b)) && sameFloat(imag(a), imag(b))
	case reflect.Struct:
		for i := range x.NumField() {
			if !same(x.Field(i), y.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if x.Len() != y.Len() || x.Kind() == reflect.Slice && x.IsNil() != y.IsNil() {
			return false
		}
		for i := range x.Len() {
			if !same(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if x.Pointer() == y.Pointer() || x.IsNil() || y.IsNil() || optionalValue(x.Type()) == x.Type() {
			return x.Pointer() == y.Pointer()
		}
		return same(x.Elem(), y.Elem())
	case reflect.Interface:
		return x.IsNil() == y.IsNil() && (x.IsNil() || x.Elem().Type() == y.Elem().Type() && same(x.Elem(), y.Elem()))
	case reflect.Map, reflect.Func:
		return x.IsNil() && y.IsNil()
	}
	return x.Comparable() && x.Equal(y)
}

func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// load reads the field of an object into the Go value at p.
func (f *recordField) load(handle uintptr, from objects.Reading, p unsafe.Pointer) error {
	if f.plain() {
		size := defined.SizeOf(f.Accept.Kind)
		copy(unsafe.Slice((*byte)(p), size), unsafe.Slice(capi.PointerTo[byte](handle+uintptr(f.Offset)), size))
		return nil
	}
	v := f.reader.InPlace(handle)
	if v.TypeIndex == abi.TypeNone {
		reflect.NewAt(f.goType, p).Elem().SetZero()
		return nil
	}
	if f.nests {
		var err error
		if from, err = codec.Descend(from); err != nil {
			return err
		}
	}
	if err := f.codec.Decode(v, from, p); err != nil {
		return failure.Annotate("field "+f.Name, err)
	}
	return nil
}

// reading returns who owns the objects in a value of the field alone: the caller, if
// the value is one, otherwise the collector. Other languages store ints in the containers
// of floats, so it converts.
func (f *recordField) reading() objects.Reading {
	switch f.valueType.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Func:
		return objects.ReadCollected().Converting()
	case reflect.Struct:
		if f.valueType != reflect.TypeFor[tvmffi.Any]() {
			return objects.ReadCollected().Converting()
		}
	}
	return objects.ReadOwned().Converting()
}

// encode makes the value that the field holds for the Go value at p inside outer, with a
// reference of its own. Bytes of plain fields are in Bits.
func (f *recordField) encode(p unsafe.Pointer, outer *codec.Nest) (abi.Any, error) {
	if f.plain() {
		var v abi.Any
		size := defined.SizeOf(f.Accept.Kind)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&v.Bits)), size), unsafe.Slice((*byte)(p), size))
		if f.Accept.Kind == defined.KindUint64 && v.Bits > math.MaxInt64 && capi.API.BigIntFromByteArray == 0 {
			_, err := values.NewBigInt(nil) // the error says why no other language could read the number
			return v, failure.Annotate("field "+f.Name, err)
		}
		return v, nil
	}
	t, err := codec.EncodeIn(f.codec, p, outer.Apart())
	if err != nil {
		return abi.Any{}, failure.Annotate("field "+f.Name, err)
	}
	v, err := t.Own()
	if err == nil {
		if err = f.admit(v); err != nil {
			codec.Release(v)
		}
	}
	if err != nil {
		return v, failure.Annotate("field "+f.Name, err)
	}
	return v, nil
}

// admit checks what the setter would, of a value that a codec made.
func (f *recordField) admit(v abi.Any) error {
	a := &f.Accept
	if !v.TypeIndex.IsObject() {
		if a.Scalars&(1<<v.TypeIndex) == 0 {
			return codec.WrongType(a.Expected, v)
		}
		return nil
	}
	if a.Class == nil {
		return codec.WrongType(a.Expected, v)
	}
	ok, err := a.Class.Accepts(v.TypeIndex)
	if err == nil && !ok {
		err = codec.WrongType(a.Expected, v)
	}
	return err
}

// put stores what encode made, and returns what the field held, for release.
func (f *recordField) put(handle uintptr, v abi.Any) (old abi.Any) {
	at := handle + uintptr(f.Offset)
	switch f.Accept.Kind {
	case defined.KindAnyValue:
		p := capi.PointerTo[abi.Any](at)
		old, *p = *p, v
	case defined.KindObjectRef:
		p := capi.PointerTo[uintptr](at)
		if *p != 0 {
			old = abi.Any{TypeIndex: abi.TypeObject, Bits: uint64(*p)}
		}
		*p = uintptr(v.Bits)
	default:
		size := defined.SizeOf(f.Accept.Kind)
		copy(unsafe.Slice(capi.PointerTo[byte](at), size), unsafe.Slice((*byte)(unsafe.Pointer(&v.Bits)), size))
	}
	return old
}

// drop releases a value that encode made.
func (f *recordField) drop(v abi.Any) {
	if !f.plain() {
		codec.Release(v)
	}
}
