package tvmffi_test

import (
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// scalars has a field for each type of scalar.
type scalars struct {
	Int    int64           `ffi:"int"`
	Bool   bool            `ffi:"bool"`
	Float  float64         `ffi:"float"`
	Type   tvmffi.DataType `ffi:"dtype"`
	Device tvmffi.Device   `ffi:"device"`
}

var scalarsType = define.Object[scalars]("gotest.Scalars")

// argument returns what an exported function gets of an argument, as the library
// sees it; ok is false if it refuses the argument.
func argument[T any](t *testing.T, v abi.Any) (got abi.Any, ok bool) {
	t.Helper()
	fn := callbacks.New(func(a *callbacks.Args) error {
		x := bindrt.Arg[T](a, 0)
		temp, err := codec.Encode(x)
		got = temp.Value
		if err == nil {
			err = a.Check(1)
		}
		return err
	})
	defer objects.DecRef(fn)
	_, err := failure.Apply(fn, []abi.Any{v})
	return got, err == nil
}

// TestConvertTable compares the four pieces of code that convert scalars, for every
// pair of types: values.Convert, the codecs, exported functions and the setters in
// assembly.
func TestConvertTable(t *testing.T) {
	runtimetest.Load(t)
	instance := runtimetest.Must[*define.Instance[scalars]](t)(scalarsType.New(scalars{}))
	defer instance.Release()
	object := bindrt.Ref(instance)
	samples := []abi.Any{
		{}, codec.IntValue(0), codec.IntValue(1), codec.IntValue(-5), codec.IntValue(1 << 62), codec.BoolValue(false), codec.BoolValue(true),
		{TypeIndex: abi.TypeFloat, Bits: 0x3ff8000000000000}, {TypeIndex: abi.TypeOpaquePtr, Bits: 1},
		{TypeIndex: abi.TypeDataType, Bits: 0x00012002}, {TypeIndex: abi.TypeDevice, Bits: 1}, capi.SmallString("cpu"), capi.SmallString("int32"),
	}
	for _, x := range []any{"a string of some length", []byte("bytes"), []int64{1}, map[string]int{"a": 1}, instance, func() {}} {
		temp, err := codec.Encode(x)
		if err != nil {
			t.Fatal(err)
		}
		defer codec.ReleaseTemp(temp)
		defer runtime.KeepAlive(temp.Keep)
		samples = append(samples, temp.Value)
	}
	for _, to := range []struct {
		field    string
		index    abi.TypeIndex
		decode   func(v abi.Any) (abi.Any, error)
		argument func(*testing.T, abi.Any) (abi.Any, bool)
	}{
		{"int", abi.TypeInt, converting[int64], argument[int64]},
		{"bool", abi.TypeBool, converting[bool], argument[bool]},
		{"float", abi.TypeFloat, converting[float64], argument[float64]},
		{"dtype", abi.TypeDataType, converting[tvmffi.DataType], argument[tvmffi.DataType]},
		{"device", abi.TypeDevice, converting[tvmffi.Device], argument[tvmffi.Device]},
	} {
		for _, v := range samples {
			want, ok := values.Convert(v, to.index)
			same := func(what string, got abi.Any, taken bool) {
				if taken != ok || ok && (got.TypeIndex != want.TypeIndex || got.Bits != want.Bits) {
					t.Errorf("%s %#x to %s: %s gives %v %#x, Convert %v %#x", capi.KeyOf(v.TypeIndex), v.Bits, to.field, what, taken, got.Bits, ok, want.Bits)
				}
			}
			field := fields.Of(object.TypeIndex(), to.field)
			err := field.Set(object, values.AnyView{Value: v}, nil)
			same("the setter", field.Get(object), err == nil)
			if parsed, err := to.decode(v); err == nil && v.TypeIndex == abi.TypeSmallStr { // the codec parses it
				want, ok = parsed, true
			}
			x, err := to.decode(v)
			same("the codec", x, err == nil)
			x, taken := to.argument(t, v)
			same("an exported function", x, taken)
		}
	}
}

// converting reads a value as Convert does.
func converting[T any](v abi.Any) (abi.Any, error) {
	x, err := codec.DecodeFrom[T](v, objects.ReadOwned().Converting())
	if err != nil {
		return abi.Any{}, err
	}
	temp, err := codec.Encode(x)
	return temp.Value, err
}
