package tvmffi

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Variant is the value inside the generated struct of a Variant type. That struct has a
// constructor and an accessor for each alternative. The zero Variant is None.
type Variant struct {
	// value is the value, unless given is set. An object that Go gave is the caller's.
	value Any
	// given is a *holder of Go values that become a value for each call, such as
	// Of, and of funcs.
	given givenValue
}

// variantValue is implemented by pointers to the generated structs.
type variantValue interface{ variant() *Variant }

func (v *Variant) variant() *Variant { return v }

// VariantOf returns a Variant that holds x. A nil container is the empty one. VariantOf is
// for generated code.
func VariantOf[T any](x T) Variant {
	switch p := any(&x).(type) { // which need no library
	case *string:
		return Variant{value: codec.StringAny[Any](*p)}
	case *[]byte:
		return Variant{value: Any{index: abi.TypeBytes, str: string(*p)}}
	}
	switch x := any(x).(type) {
	case nil:
		return nothing[T]()
	case ObjectRef:
		if o := objects.StateOf(x); o != nil {
			return Variant{value: Any{index: o.TypeIndex(), object: o}}
		}
		return nothing[T]()
	case bool, int64, float64, DataType, Device, Pointer:
		if t, err := codec.Encode(x); err == nil {
			return Variant{value: anyOf(t.Value, objects.ReadOwned())}
		}
	}
	if v := reflect.ValueOf(&x).Elem(); (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil() {
		return Variant{}
	}
	return Variant{given: &holder[T]{value: x}}
}

// nothing returns the Variant of a nil T: an empty container, or None.
func nothing[T any]() Variant {
	if codec.For[T]().Empty == nil {
		return Variant{}
	}
	return Variant{given: &holder[codec.OrEmpty[T]]{}}
}

// givenValue is a Go value that is not a value of the library.
type givenValue interface {
	// encode makes the value for a call.
	encode() (values.AnyView, error)
	// made returns a value that lives as long as the program refers to it.
	made() (Any, error)
}

// holder keeps a Go value with its static type.
type holder[T any] struct {
	value  T
	once   sync.Once
	any    Any
	failed error
}

func (h *holder[T]) encode() (values.AnyView, error) { return codec.Encode(h.value) }

func (h *holder[T]) made() (Any, error) {
	h.once.Do(func() {
		h.any, h.failed = AnyOf(h.value)
		if h.any.object != nil {
			h.any.object.LeaveToCollector() // nobody releases it
		}
	})
	return h.any, h.failed
}

// content returns the value.
func (v Variant) content() (Any, error) {
	if v.given != nil {
		return v.given.made()
	}
	return v.value, nil
}

// VariantAs returns the value of a Variant and reports whether it is a T. None is never an
// alternative. An Array or a Map is a T only if all its elements fit T. VariantAs is for
// generated code.
func VariantAs[T any](v Variant) (T, bool) {
	var none T
	if h, ok := v.given.(*holder[T]); ok {
		return h.value, true
	}
	a, err := v.content()
	if err != nil || a.index == abi.TypeNone {
		return none, false
	}
	if shape, ok := any(&none).(**Shape); ok && v.given != nil {
		return none, shapeOf(a, shape)
	}
	if !isA[T](a) {
		return none, false
	}
	if a.object != nil && codec.ClassFor[T]() != nil {
		return codec.Wrap[T](a.object), true // even if it has ended: its use is an error that says so
	}
	x, err := As[T](a)
	return x, err == nil
}

// shapeOf makes a Shape of an Array of ints that Go gave: C++ converts it for an alternative
// that is a Shape.
func shapeOf(a Any, shape **Shape) bool {
	dims, err := As[[]int64](a)
	if err != nil {
		return false
	}
	if *shape, err = NewShape(dims...); err != nil {
		return false
	}
	codec.Ref(*shape).LeaveToCollector() // nobody releases it
	return true
}

// isA reports whether a is a T, if T is an object type, and whether what it holds is what
// T says.
func isA[T any](a Any) bool {
	if a.object == nil {
		return true // As finds out
	}
	if _, ended := a.object.Ended(); ended {
		class := codec.ClassFor[T]()
		if class == nil {
			return false
		}
		ok, err := class.Accepts(a.index)
		return ok && err == nil
	}
	return codec.Holds(a.object, reflect.TypeFor[T]())
}

// TypeKey returns the type key of the value. It is empty for a value that Go gave and that
// cannot become one of the library.
func (v Variant) TypeKey() string {
	a, err := v.content()
	if err != nil {
		return ""
	}
	return a.TypeKey()
}

// String returns the value, whichever alternative it is, as [Any.String] does.
func (v Variant) String() string {
	a, err := v.content()
	if err != nil {
		return fmt.Sprintf("<%v>", err)
	}
	return a.String()
}

// variantCodec returns the codec of a generated struct, whose only field is a Variant.
func variantCodec(t reflect.Type) *codec.Codec {
	return &codec.Codec{
		Name: t.String(),
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			v := (*Variant)(p)
			if v.given != nil {
				return v.given.encode()
			}
			return anyCodec().Encode(unsafe.Pointer(&v.value))
		},
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			x, err := codec.LendAny[Any](v, from)
			*(*Variant)(p) = Variant{value: x}
			return err
		},
	}
}
