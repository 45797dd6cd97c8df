package tvmffi

import (
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// MarshalMap makes a Map of a struct with tags:
//
//	type Config struct {
//		Name  string   `ffi:"name"`
//		Sizes []int64  `ffi:"sizes,optional"`
//	}
//
// Structs inside of it, and those that slices, maps and pointers hold, become Maps
// too. Fields without a tag take no part; those of an embedded struct count as
// fields of the struct around it. A field that is optional is left out when it is
// zero. The error says where: Config.layers[1].name.
//
// A struct with tags may as well be an argument of [Function.Call], an element of
// a container, or the T of [As].
func MarshalMap(x any) (*Map[string, Any], error) {
	v := reflect.ValueOf(x)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || len(codec.TaggedFields(v.Type())) == 0 {
		return nil, failure.Errorf(failure.KindType, "marshal %T: expected a struct with ffi tags", x)
	}
	t, err := codec.For[any]().Encode(unsafe.Pointer(&x))
	if err != nil {
		return nil, withPath(v.Type().Name(), err)
	}
	if !t.Owned || t.Value.TypeIndex != abi.TypeMap {
		if t.Owned {
			codec.Release(t.Value)
		}
		return nil, failure.Errorf(failure.KindType, "marshal %T: it became %s", x, capi.KeyOf(t.Value.TypeIndex))
	}
	return codec.Wrap[*Map[string, Any]](objects.Own(uintptr(t.Value.Bits))), nil
}

// UnmarshalMap reads a Map or a Dict with string keys, or an object with fields, into
// the struct with tags that into points to. What is not there is an error, unless
// the field is optional; what the struct has no field for is passed over. Fields
// that are objects get references of their own. If there is an error, which says
// where, as in Config.layers[1].name: expected ffi.String, got int, the struct may
// have been set in part.
func UnmarshalMap(from ObjectRef, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || len(codec.TaggedFields(v.Elem().Type())) == 0 {
		return failure.Errorf(failure.KindType, "unmarshal into %T: expected a pointer to a struct with ffi tags", into)
	}
	o, err := codec.Live(from)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(from)
	defer runtime.KeepAlive(o)
	t, err := codec.EncodeObject(o)
	if err != nil {
		return err
	}
	err = codec.Of(v.Elem().Type()).Decode(t.Value, objects.ReadOwned(), v.UnsafePointer())
	return withPath(v.Elem().Type().Name(), err)
}

// withPath joins the steps of an error to one path.
func withPath(path string, err error) error {
	for {
		e := failure.FailureOf(err)
		if e == nil {
			return err
		}
		if e.Step == "" {
			if path = strings.TrimPrefix(path, "."); path == "" {
				return err
			}
			return failure.NewFailure(failure.Failure{Kind: e.Kind, Message: path + ": " + e.Message, FailureState: failure.FailureState{Cause: err}})
		}
		path += e.Step
		err = e.Cause
	}
}
