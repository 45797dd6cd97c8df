package codec

import (
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// OrEmpty is a container for a place that is not optional: nil is the empty container, as in
// Go, and not None.
type OrEmpty[T any] struct{ Value T }

func (OrEmpty[T]) orEmpty() {}

// orEmptyCodec is the codec of an OrEmpty, whose only field has the codec of. The two have
// the same address.
func orEmptyCodec(of *Codec, t reflect.Type) *Codec {
	c := &Codec{Name: of.Name, Absent: of.Absent, Decode: of.Decode}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		if of.Empty != nil && isNil(reflect.NewAt(t, p).Elem()) {
			return Packed(of.Empty, 0, func(*calls.Pack) error { return nil })
		}
		return EncodeIn(of, p, outer)
	})
}

// isNil reports whether v, a pointer or an interface that holds one, is nil.
func isNil(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
