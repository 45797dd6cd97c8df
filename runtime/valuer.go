package tvmffi

import (
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// Valuer is implemented by types that stand for a value of TVM-FFI when they are
// passed: the handle of a CUDA stream of another package for a [Pointer], its data
// type for a [DataType], its arrays for a *[Tensor]. FFIValue returns a value of any
// type that a function can take. A nil pointer is None.
type Valuer interface{ FFIValue() (any, error) }

var valuerType = reflect.TypeFor[Valuer]()

// valuerCodec is the codec of a type that implements Valuer; others reads one.
func valuerCodec(t reflect.Type, others *codec.Codec) *codec.Codec {
	c := &codec.Codec{Name: others.Name, Decode: others.Decode}
	return c.Nested(func(p unsafe.Pointer, outer *codec.Nest) (core.AnyView, error) {
		v := reflect.NewAt(t, p).Elem()
		if t.Kind() == reflect.Pointer && v.IsNil() {
			return core.AnyView{}, nil
		}
		inner, err := outer.Enter(t, nil, 0) // it may return itself
		if err != nil {
			return core.AnyView{}, err
		}
		x, err := v.Interface().(Valuer).FFIValue()
		if err != nil {
			return core.AnyView{}, failure.Annotate("the value of "+t.String(), err)
		}
		return encodeDynamic(reflect.ValueOf(&x).Elem(), inner)
	})
}
