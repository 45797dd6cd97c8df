package tvmffi

import (
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Variant is the value inside the generated struct of a Variant type. That struct has a
// constructor and an accessor for each alternative. The zero Variant is None.
type Variant struct {
	value Any  // the value, if the library returned the Variant
	given any  // the value, if Go made the Variant
	isSet bool // Go made the Variant
}

// variantValue is implemented by pointers to the generated structs.
type variantValue interface{ variant() *Variant }

func (v *Variant) variant() *Variant { return v }

// VariantOf returns a Variant that holds x. It is for generated code.
func VariantOf[T any](x T) Variant { return Variant{given: holder[T]{x}, isSet: true} }

// holder keeps a value with its static type.
type holder[T any] struct{ value T }

func (h holder[T]) Pack() (core.AnyView, error) { return codec.Encode(h.value) }

// VariantAs returns the value of a Variant and reports whether it is a T. It is for
// generated code.
func VariantAs[T any](v Variant) (T, bool) {
	if v.isSet {
		h, ok := v.given.(holder[T])
		return h.value, ok
	}
	x, err := As[T](v.value)
	return x, err == nil
}

// TypeKey returns the type key of the value that the library returned. It is empty for a
// Variant that Go made.
func (v Variant) TypeKey() string {
	if v.isSet {
		return ""
	}
	return v.value.TypeKey()
}

// variantCodec returns the codec of a generated struct, whose only field is a Variant.
func variantCodec(t reflect.Type) *codec.Codec {
	return &codec.Codec{
		Name: t.String(),
		Encode: func(p unsafe.Pointer) (core.AnyView, error) {
			v := (*Variant)(p)
			if !v.isSet {
				return anyCodec().Encode(unsafe.Pointer(&v.value))
			}
			return v.given.(interface{ Pack() (core.AnyView, error) }).Pack()
		},
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			x, err := codec.LendAny[Any](v, from)
			*(*Variant)(p) = Variant{value: x}
			return err
		},
	}
}
