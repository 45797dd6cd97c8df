package testing_test

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// containerFunctions has the tests of functions that take or return containers or tensors.
var containerFunctions = map[string]func(*testing.T){
	"SchemaIDArr":       testArr,
	"SchemaIDArrInt":    testArrInt,
	"SchemaIDArrStr":    testArrStr,
	"SchemaIDArrObj":    testArrObj,
	"SchemaIDListInt":   testListInt,
	"SchemaIDListStr":   testListStr,
	"SchemaIDListObj":   testListObj,
	"SchemaIDMap":       testMap,
	"SchemaIDMapStrInt": testMapStrInt,
	"SchemaIDMapStrStr": testMapStrStr,
	"SchemaIDMapStrObj": testMapStrObj,
	"SchemaIDDictStrInt": func(t *testing.T) {
		d := check.Value(tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"a": 1})))(t)
		defer d.Release()
		out := check.Value(lib.SchemaIDDictStrInt(d))(t)
		defer out.Release()
		check.OK(t, out.Set("b", 2))
		check.Returns(d.Map())(t, map[string]int64{"a": 1, "b": 2})
	},
	"SchemaIDDictStrStr": func(t *testing.T) {
		d := check.Value(tvmffi.NewDict(tvmffi.MapOf(map[string]string{"a": "x"})))(t)
		defer d.Release()
		out := check.Value(lib.SchemaIDDictStrStr(d))(t)
		defer out.Release()
		check.Returns(out.Delete("a"))(t, true)
		check.Equal(t, d.Len(), 0)
	},
	"SchemaArrMapOpt": testArrMapOpt,

	"SchemaIDTensor": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.SchemaIDTensor(x))(t)
		defer out.Release()
		sameTensor(t, out, data)
	},
	"SchemaIDDltensor": func(t *testing.T) {
		_, x := tensor(t)
		defer x.Release()
		// The library would have to return a borrowed view, which it refuses.
		_, err := lib.SchemaIDDltensor(x)
		check.Fails(t, err, tvmffi.ErrRuntime, "DLTensor*", "ownership")
	},
	"SchemaTensorViewInput": func(t *testing.T) {
		_, x := tensor(t)
		defer x.Release()
		check.OK(t, lib.SchemaTensorViewInput(x))
	},
	"OptionalTensorViewHasValue": func(t *testing.T) {
		_, x := tensor(t)
		defer x.Release()
		check.Returns(lib.OptionalTensorViewHasValue(x))(t, true)
		check.Returns(lib.OptionalTensorViewHasValue(nil))(t, false)
	},
	"MakeArrayWithTensor": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.MakeArrayWithTensor(x))(t)
		defer out.Release()
		check.Equal(t, out.Len(), 1)
		sameTensorIn(t, out.At(0), data)
	},
	"MakeArrayWithMixed": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.MakeArrayWithMixed(x, 7))(t)
		defer out.Release()
		check.Equal(t, out.Len(), 3)
		sameTensorIn(t, out.At(0), data)
		check.Equal(t, out.At(1).Value(), any(int64(7)))
		check.Equal(t, out.At(2).Value(), any("hello"))
	},
	"MakeNestedArrayWithTensor": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.MakeNestedArrayWithTensor(x))(t)
		defer out.Release()
		first := out.At(0)
		defer first.Release()
		inner := check.Value(tvmffi.As[*tvmffi.Array[tvmffi.Any]](first))(t)
		sameTensorIn(t, inner.At(0), data)
		check.Equal(t, inner.At(1).Value(), any(int64(42)))
		sameTensorIn(t, out.At(1), data)
	},
	"MakeEmptyArrayWithTensorInput": func(t *testing.T) {
		_, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.MakeEmptyArrayWithTensorInput(x))(t)
		defer out.Release()
		check.Equal(t, out.Len(), 0)
	},
	"MakeListWithTensor": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.MakeListWithTensor(x, 7))(t)
		defer out.Release()
		check.Equal(t, out.Len(), 2)
		sameTensorIn(t, out.At(0), data)
		check.Equal(t, out.At(1).Value(), any(int64(7)))
	},
	"MakeMapWithTensor": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.MakeMapWithTensor(x))(t)
		defer out.Release()
		var keys []string
		for key, value := range out.All() {
			keys = append(keys, key)
			if key == "tensor" {
				inside := check.Value(tvmffi.As[*tvmffi.Tensor](value))(t)
				check.Returns(tvmffi.Slice[float32](inside))(t, data)
			}
		}
		check.Equal(t, keys, []string{"tensor", "value", "name"})
		if v, ok := out.Get("value"); !ok || v.Value() != any(int64(42)) {
			t.Errorf("value is %v, %v", v, ok)
		}
		if v, ok := out.Get("none of these"); ok {
			t.Errorf("an absent key has the value %v", v)
		}
	},
	"MakeDictWithTensor": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		out := check.Value(lib.MakeDictWithTensor(x))(t)
		defer out.Release()
		check.Equal(t, out.Len(), 2)
		v, ok := out.Get("tensor")
		if !ok {
			t.Fatal("no tensor")
		}
		sameTensorIn(t, v, data)
	},
	"MakeNestedMapWithTensor": func(t *testing.T) {
		data, x := tensor(t)
		defer x.Release()
		second := check.Value(tvmffi.FromSlice([]int32{9}))(t)
		defer second.Release()
		out := check.Value(lib.MakeNestedMapWithTensor(x, second))(t)
		defer out.Release()
		v, _ := out.Get("array")
		defer v.Release()
		pair := check.Value(tvmffi.As[tvmffi.Tuple2[*tvmffi.Tensor, *tvmffi.Tensor]](v))(t)
		defer pair.A.Release()
		defer pair.B.Release()
		sameTensor(t, pair.A, data)
		check.Returns(tvmffi.Slice[int32](pair.B))(t, []int32{9})
		inner, _ := out.Get("map")
		defer inner.Release()
		m := check.Value(tvmffi.As[*tvmffi.Map[string, *tvmffi.Tensor]](inner))(t)
		in, ok := m.Get("t")
		if !ok {
			t.Fatal("no tensor in the inner map")
		}
		defer in.Release()
		sameTensor(t, in, data)
	},
}

func tensor(t testing.TB) ([]float32, *tvmffi.Tensor) {
	t.Helper()
	data := []float32{1, 2, 3, 4, 5, 6}
	return data, check.Value(tvmffi.FromSlice(data, 2, 3))(t)
}

// sameTensor checks for a tensor over the memory of data.
func sameTensor(t testing.TB, x *tvmffi.Tensor, data []float32) {
	t.Helper()
	check.Equal(t, x.Shape(), []int64{2, 3})
	check.Equal(t, x.Strides(), []int64{3, 1})
	check.Equal(t, x.DataType(), tvmffi.Float32)
	check.Equal(t, x.Device(), tvmffi.CPU)
	if view := check.Value(tvmffi.Slice[float32](x))(t); &view[0] != &data[0] {
		t.Error("the tensor has other memory than the slice it was made from")
	}
}

func sameTensorIn(t testing.TB, v tvmffi.Any, data []float32) {
	t.Helper()
	defer v.Release()
	sameTensor(t, check.Value(tvmffi.As[*tvmffi.Tensor](v))(t), data)
}

// both calls f with Go values and with a container of them.
func both[T any](t *testing.T, items []T, f func(tvmffi.ArrayArg[T]) (*tvmffi.Array[T], error)) {
	t.Helper()
	check.Elements(t, check.Value(f(tvmffi.Of(items...)))(t), (*tvmffi.Array[T]).Slice, items)
	array := check.Value(tvmffi.NewArray(items...))(t)
	defer array.Release()
	out := check.Value(f(array))(t)
	defer out.Release()
	if !tvmffi.Same(array, out) {
		t.Error("a container did not go by handle")
	}
	check.Elements(t, check.Value(f(out))(t), (*tvmffi.Array[T]).Slice, items)
}

func testArrInt(t *testing.T) {
	both(t, []int64{}, lib.SchemaIDArrInt)
	both(t, []int64{3, -4, 1 << 62}, lib.SchemaIDArrInt)
	out := check.Value(lib.SchemaIDArrInt(tvmffi.Of[int64](5, 6)))(t)
	sum := int64(0)
	for i, v := range out.All() {
		sum += int64(i) * v
	}
	check.Equal(t, sum, 6)
	check.Panics(t, func() { out.At(2) }, tvmffi.ErrIndex, "2")
	check.Panics(t, func() { out.At(-1) }, tvmffi.ErrIndex, "-1")
	out.Release()
	out.Release() // twice is harmless
	check.Panics(t, func() { out.At(0) }, tvmffi.ErrRuntime, "released")
	check.Panics(t, func() { out.Len() }, tvmffi.ErrRuntime, "released")
	_, err := out.Slice()
	check.Fails(t, err, tvmffi.ErrRuntime, "released")
	_, err = lib.SchemaIDArrInt(out)
	check.Fails(t, err, tvmffi.ErrRuntime, "testing.schema_id_arr_int", "released")
}

func testArrStr(t *testing.T) {
	both(t, []string{"", "short", "a text that does not fit"}, lib.SchemaIDArrStr)
}

func testArr(t *testing.T) {
	out := check.Value(lib.SchemaIDArr(tvmffi.Of[any](1, "b", nil, 2.5)))(t)
	defer out.Release()
	var got []any
	for _, v := range out.All() {
		got = append(got, v.Value())
	}
	check.Equal(t, got, []any{int64(1), "b", nil, 2.5})
	// A container of any element type is such an array too.
	ints := check.Value(tvmffi.NewArray[int64](1, 2))(t)
	defer ints.Release()
	second := check.Value(lib.SchemaIDArr(ints))(t)
	defer second.Release()
	check.Equal(t, second.At(1).Value(), any(int64(2)))
}

func testArrObj(t *testing.T) {
	pair := newPair(t, 1, 2)
	defer pair.Release()
	base := check.Value(lib.NewTestObjectBase())(t)
	defer base.Release()
	out := check.Value(lib.SchemaIDArrObj(tvmffi.Of[tvmffi.ObjectRef](pair, base)))(t)
	defer out.Release()
	check.Equal(t, memstat.UseCount(pair), 2)
	first := out.At(0)
	defer first.Release()
	if p, ok := tvmffi.Cast[*lib.TestIntPair](first); !ok || p.B() != 2 {
		t.Errorf("element 0 is %v", first)
	}
	var keys []string
	for _, o := range out.All() {
		keys = append(keys, tvmffi.TypeKey(o))
	}
	check.Equal(t, keys, []string{"testing.TestIntPair", "testing.TestObjectBase"})
	pairs := check.Value(tvmffi.NewArray(pair))(t)
	defer pairs.Release()
	check.Value(lib.SchemaIDArrObj(pairs))(t).Release()
	// The library checks the element type that an *Array claims.
	ints := check.Value(tvmffi.NewArray[int64](1))(t)
	defer ints.Release()
	_, err := lib.SchemaIDArrObj(ints)
	check.Fails(t, err, tvmffi.ErrType, "testing.schema_id_arr_obj", "Array<ffi.Object>", "index 0: int")
}

func testListInt(t *testing.T) {
	list := check.Value(tvmffi.NewList[int64](1, 2))(t)
	defer list.Release()
	out := check.Value(lib.SchemaIDListInt(list))(t)
	defer out.Release()
	check.OK(t, out.Append(3))
	check.OK(t, out.Set(0, 10))
	check.Returns(list.Slice())(t, []int64{10, 2, 3})
	check.Fails(t, out.Set(9, 0), tvmffi.ErrIndex)
	check.OK(t, out.Clear())
	check.Equal(t, list.Len(), 0)
}

func testListStr(t *testing.T) {
	list := check.Value(tvmffi.NewList("a", "a text that does not fit"))(t)
	defer list.Release()
	check.Elements(t, check.Value(lib.SchemaIDListStr(list))(t), (*tvmffi.List[string]).Slice, []string{"a", "a text that does not fit"})
}

func testListObj(t *testing.T) {
	pair := newPair(t, 1, 2)
	defer pair.Release()
	list := check.Value(tvmffi.NewList(tvmffi.Upcast[*tvmffi.Object](pair)))(t)
	defer list.Release()
	out := check.Value(lib.SchemaIDListObj(list))(t)
	defer out.Release()
	for _, o := range out.All() {
		if !tvmffi.Same(o, pair) {
			t.Errorf("got %v", o)
		}
	}
}

func testMap(t *testing.T) {
	in := tvmffi.PairsOf[any, any](tvmffi.Pair[any, any]{Key: 2, Value: "two"}, tvmffi.Pair[any, any]{Key: "one", Value: 1})
	out := check.Value(lib.SchemaIDMap(in))(t)
	defer out.Release()
	check.Equal(t, out.Len(), 2)
	var got []any
	for k, v := range out.All() {
		got = append(got, k.Value(), v.Value())
	}
	check.Equal(t, got, []any{int64(2), "two", "one", int64(1)})
}

func testMapStrInt(t *testing.T) {
	want := map[string]int64{"a": 1, "b": -2}
	check.Elements(t, check.Value(lib.SchemaIDMapStrInt(tvmffi.MapOf(want)))(t), (*tvmffi.Map[string, int64]).Map, want)
	m := check.Value(tvmffi.NewMap(tvmffi.MapOf(want)))(t)
	defer m.Release()
	out := check.Value(lib.SchemaIDMapStrInt(m))(t)
	defer out.Release()
	if v, ok := out.Get("b"); !ok || v != -2 || !tvmffi.Same(out, m) {
		t.Errorf("b is %d, %v", v, ok)
	}
	if _, ok := out.Get("c"); ok {
		t.Error("there is a c")
	}
	var keys []string
	for k := range out.All() {
		keys = append(keys, k)
	}
	if !slices.IsSorted(keys) {
		t.Errorf("the keys of a Go map came as %q", keys)
	}
}

func testMapStrStr(t *testing.T) {
	want := map[string]string{"a": "x", "a key of some length": "a text of some length"}
	check.Elements(t, check.Value(lib.SchemaIDMapStrStr(tvmffi.MapOf(want)))(t), (*tvmffi.Map[string, string]).Map, want)
}

func testMapStrObj(t *testing.T) {
	pair := newPair(t, 1, 2)
	defer pair.Release()
	out := check.Value(lib.SchemaIDMapStrObj(tvmffi.MapOf(map[string]tvmffi.ObjectRef{"pair": pair, "none": nil})))(t)
	defer out.Release()
	got, ok := out.Get("pair")
	if !ok || !tvmffi.Same(got, pair) {
		t.Errorf("pair is %v, %v", got, ok)
	}
	got.Release()
	if got, ok := out.Get("none"); !ok || got != nil {
		t.Errorf("none is %v, %v", got, ok)
	}
}

func testArrMapOpt(t *testing.T) {
	ones := check.Value(tvmffi.NewArray[int64](1))(t)
	defer ones.Release()
	entries := tvmffi.MapOf(map[string]tvmffi.ArrayArg[int64]{"a": ones, "b": tvmffi.Of[int64](2, 3)})
	read := func(m *tvmffi.Map[string, *tvmffi.Array[int64]]) (map[string][]int64, error) {
		out := map[string][]int64{}
		for k, v := range m.All() {
			s, err := v.Slice()
			if err != nil {
				return nil, err
			}
			out[k] = s
		}
		return out, nil
	}
	numbers := tvmffi.Of(new(int64(7)), nil, new(int64(9)))
	check.Elements(t, check.Value(lib.SchemaArrMapOpt(numbers, entries, nil))(t), read, map[string][]int64{"a": {1}, "b": {2, 3}})
	check.Elements(t, check.Value(lib.SchemaArrMapOpt(numbers, entries, new("c")))(t), read, map[string][]int64{"a": {1}, "b": {2, 3}, "c": {7, 9}})
}
