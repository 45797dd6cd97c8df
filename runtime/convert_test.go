package tvmffi_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// parameters has a function for each type of parameter, which returns its argument.
const parameters = `
#include <tvm/ffi/tvm_ffi.h>
using namespace tvm::ffi;
TVM_FFI_STATIC_INIT_BLOCK() {
  reflection::GlobalDef()
      .def("convert.ints", [](Array<int64_t> x) { return x; })
      .def("convert.floats", [](Array<double> x) { return x; })
      .def("convert.bools", [](Array<bool> x) { return x; })
      .def("convert.strings", [](Array<String> x) { return x; })
      .def("convert.dtypes", [](Array<DLDataType> x) { return x; })
      .def("convert.devices", [](Array<DLDevice> x) { return x; })
      .def("convert.device", [](DLDevice x) { return x; })
      .def("convert.nested", [](Array<Array<double>> x) { return x; })
      .def("convert.table", [](Map<String, Array<double>> x) { return x; })
      .def("convert.keys", [](Map<int64_t, double> x) { return x; })
      .def("convert.optional", [](Array<Optional<double>> x) { return x; })
      .def("convert.pair", [](Tuple<double, int64_t> x) { return x; });
}
`

// converted is the outcome of Convert, and of As for what the library made of it.
func converted[T any](v tvmffi.Any, library tvmffi.Any, refused error) (ours, its any, err error) {
	x, err := tvmffi.Convert[T](v)
	if err != nil || refused != nil {
		return x, nil, err
	}
	y, failed := tvmffi.As[T](library)
	if failed != nil {
		return x, failed, nil
	}
	return x, y, nil
}

// Convert converts the items of containers in the same way as the library does for an
// argument.
func TestConvertAsParameters(t *testing.T) {
	runtimetest.Balanced(t)
	if err := tvmffi.LoadLibrary(nativetest.BuildText(t, "convert", parameters)); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"None": nil, "int": 3, "ints": []int64{1, -2}, "floats": []float64{1, 2.5}, "bools": []bool{true, false}, "none": []any{},
		"mixed": []any{1, 2.5, true}, "ints and bools": []any{2, true}, "with None": []any{1, nil, 2.5}, "texts": []string{"float32", "int8x4"},
		"devices": []string{"cpu", "cuda:1"}, "with text": []any{1, "two"}, "nested": []any{[]any{1, 2.5}, []any{true}}, "nested texts": []any{[]any{1}, []any{"x"}},
		"table": map[string]any{"a": []any{1}, "b": []any{true, 0.5}}, "empty table": map[string]any{}, "table of text": map[string]any{"a": []any{"x"}}, "table of ints": map[string]any{"a": 1},
		"numbers": map[int64]any{1: 2, 3: true}, "bool keys": map[bool]any{true: 2.5}, "pair": []any{1, true}, "pair of floats": []any{1.5, 2.5}, "long": []any{1, 2, 3},
		"big": []any{int64(1)<<53 + 1}, "list": runtimetest.Must[*tvmffi.List[tvmffi.Any]](t)(tvmffi.NewList(runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(1)))),
	}
	fewer := map[string]int{}
	if _, err := runtimetest.Call("convert.device", "cpu"); err != nil {
		// An older library reads no text as a device; Convert does with any.
		delete(values, "devices")
		fewer["convert.devices"] = 1
	}
	for _, c := range []struct {
		function string
		convert  func(v, library tvmffi.Any, refused error) (ours, its any, err error)
	}{
		{"convert.ints", converted[[]int64]}, {"convert.ints", converted[[]int]},
		{"convert.floats", converted[[]float64]}, {"convert.floats", converted[[]float32]},
		{"convert.bools", converted[[]bool]}, {"convert.strings", converted[[]string]},
		{"convert.dtypes", converted[[]tvmffi.DataType]}, {"convert.devices", converted[[]tvmffi.Device]},
		{"convert.nested", converted[[][]float64]}, {"convert.table", converted[map[string][]float64]},
		{"convert.keys", converted[map[int64]float64]}, {"convert.optional", converted[[]*float64]},
		{"convert.pair", converted[tvmffi.Tuple2[float64, int64]]},
	} {
		accepted := 0
		for name, x := range values {
			v := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(x))
			library, refused := runtimetest.Call(c.function, x)
			ours, its, err := c.convert(v, library, refused)
			switch {
			case (err == nil) != (refused == nil):
				t.Errorf("%s to %T: %v, but the library: %v", name, ours, err, refused)
			case err == nil && !reflect.DeepEqual(ours, its):
				t.Errorf("%s to %T: %v, but the library: %v", name, ours, ours, its)
			case err == nil:
				accepted++
			}
			library.Release()
			v.Release()
		}
		if accepted < 2-fewer[c.function] {
			t.Errorf("%s accepted %d values", c.function, accepted)
		}
	}
	values["list"].(*tvmffi.List[tvmffi.Any]).Release()
}

// The path of an error of Convert leads to what cannot be converted, not to what was.
func TestConvertPaths(t *testing.T) {
	runtimetest.Balanced(t)
	type layer struct {
		Name   string    `ffi:"name"`
		Scales []float64 `ffi:"scales"`
	}
	v := runtimetest.MustCall(t, "calls.echo", map[string]any{"name": "first", "scales": []any{1, true, 2.5}})
	if x, err := tvmffi.Convert[layer](v); err != nil || !reflect.DeepEqual(x, layer{"first", []float64{1, 1, 2.5}}) {
		t.Errorf("Convert returned %+v, %v, want the numbers as floats", x, err)
	}
	_, err := tvmffi.As[layer](v)
	runtimetest.WantError(t, err, tvmffi.ErrType, "field scales: element 0: expected float, got int")
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", map[string]any{"a": []any{[]any{1, 2}, []any{3, "four"}}})
	_, err = tvmffi.Convert[map[string][][]float64](v)
	runtimetest.WantError(t, err, tvmffi.ErrType, `TypeError: value of key "a": element 1: element 1: expected float, got ffi.SmallStr`)
	_, err = tvmffi.As[map[string][][]float64](v)
	runtimetest.WantError(t, err, tvmffi.ErrType, `TypeError: value of key "a": element 0: element 0: expected float, got int`)
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", []any{1, 2.5})
	_, err = tvmffi.Convert[[]int64](v)
	runtimetest.WantError(t, err, tvmffi.ErrType, "TypeError: element 1: expected int, got float")
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", []any{true, 300})
	_, err = tvmffi.Convert[[]int8](v)
	runtimetest.WantError(t, err, tvmffi.ErrOverflow, "OverflowError: element 1: expected an int from -128 to 127, got 300")
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", []any{-1, 1 << 31, true})
	if x, err := tvmffi.Convert[[]int](v); err != nil || !slices.Equal(x, []int{-1, 1 << 31, 1}) {
		t.Error(x, err)
	}
	_, err = tvmffi.Convert[[]int32](v)
	runtimetest.WantError(t, err, tvmffi.ErrOverflow, "OverflowError: element 1: expected an int from -2147483648 to 2147483647, got 2147483648")
	if x, err := tvmffi.Convert[[]float64](v); err != nil || !slices.Equal(x, []float64{-1, 1 << 31, 1}) {
		t.Error(x, err)
	}
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", []any{-1.5, math.Inf(1), 3, math.NaN(), 1e300})
	_, err = tvmffi.Convert[[]float32](v)
	runtimetest.WantError(t, err, tvmffi.ErrOverflow, "OverflowError: element 4: 1e+300 does not fit float32")
	if x, err := tvmffi.Convert[[]float64](v); err != nil || !slices.Equal(x[:3], []float64{-1.5, math.Inf(1), 3}) || x[4] != 1e300 {
		t.Error(x, err)
	}
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", []any{-1.5, math.Inf(-1), math.MaxFloat32})
	if x, err := tvmffi.Convert[[]float32](v); err != nil || !slices.Equal(x, []float32{-1.5, float32(math.Inf(-1)), math.MaxFloat32}) {
		t.Error(x, err)
	}
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", []any{"int8", "nonsense"})
	_, err = tvmffi.Convert[[]tvmffi.DataType](v)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "ValueError: element 1: ", "nonsense")
	v.Release()
}
