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

// MarshalMap returns a Map with the tagged fields of a struct:
//
//	type Config struct {
//		Name  string   `ffi:"name"`
//		Sizes []int64  `ffi:"sizes,optional"`
//	}
//
// x is the struct or a pointer to it. Structs inside it become Maps too, also those that
// slices, maps and pointers hold. Fields without a tag are ignored. The fields of an
// embedded struct count as fields of the struct around it. An optional field without a default
// is left out if it is zero. The error is of kind ErrType and names the path to the value, such as
// Config.layers[1].name. A tag of a field that is not exported is an error, and so is a struct
// with tags that is embedded by a pointer: what they hold would be left out.
//
// A struct with tags can also be an argument of [Function.Call], an element of a
// container, or the T of [As].
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
		return nil, failure.Errorf(failure.KindType, "marshal %T: it was packed as %s, expected ffi.Map", x, capi.KeyOf(t.Value.TypeIndex))
	}
	return codec.Wrap[*Map[string, Any]](objects.Own(uintptr(t.Value.Bits))), nil
}

// UnmarshalMap stores the entries of from in the tagged fields of the struct to which into
// points. from is a Map or a Dict with string keys, or an object with fields. A field whose entry
// is missing gets the default of its tag, such as ffi:"age,default=7". Without a default that is
// an error, unless the field is optional: then it becomes zero, and None is a missing entry, too. An
// entry without a field is ignored. A field that is an object gets a reference of its own. The
// error names the path to the value, such as Config.layers[1].name: expected ffi.String, got
// int. After an error some fields may be set.
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

// withPath joins the steps of an error to one path, which begins with path.
func withPath(path string, err error) error {
	steps, leaf := failure.PathOf(err)
	e := failure.FailureOf(leaf)
	if path = strings.TrimPrefix(path+steps, "."); e == nil || path == "" {
		return leaf
	}
	f := failure.AtPath(e.Kind, path, e.Message, leaf)
	f.Cause = leaf
	return failure.NewFailure(*f)
}
