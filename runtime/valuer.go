package tvmffi

import (
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Valuer is implemented by Go types that are passed as another value. For example, another
// package can pass its handle of a CUDA stream as a [Pointer], its data type as a
// [DataType], and its arrays as *[Tensor]. A nil pointer is passed as None.
type Valuer interface {
	// FFIValue returns the value to pass, of any type that a function can take. Its
	// error is the error of the call.
	FFIValue() (any, error)
}

var valuerType = reflect.TypeFor[Valuer]()

// valuerCodec returns the codec of a type that implements Valuer. others decodes the type.
func valuerCodec(t reflect.Type, others *codec.Codec) *codec.Codec {
	c := &codec.Codec{Name: others.Name, Decode: others.Decode}
	return c.Nested(func(p unsafe.Pointer, outer *codec.Nest) (values.AnyView, error) {
		v := reflect.NewAt(t, p).Elem()
		if t.Kind() == reflect.Pointer && v.IsNil() {
			return values.AnyView{}, nil
		}
		inner, err := outer.Enter(t, nil, 0) // it may return itself
		if err != nil {
			return values.AnyView{}, err
		}
		x, err := v.Interface().(Valuer).FFIValue()
		if err != nil {
			return values.AnyView{}, failure.Annotate("the value of "+t.String(), err)
		}
		return encodeDynamic(reflect.ValueOf(&x).Elem(), inner, false)
	})
}
