package tvmffi_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// parsed returns what ParseJSON makes of a text, as fmt.Sprint prints it, or the error.
func parsed[T any](text string) string {
	x, err := tvmffi.ParseJSON[T]([]byte(text))
	if err != nil {
		return err.Error()
	}
	if o, ok := any(x).(interface{ Release() }); ok {
		defer o.Release()
	}
	return shownAs(x)
}

// scoped returns x as a value, which the scope releases.
func scoped(t *testing.T, s *tvmffi.Scope, x any) tvmffi.Any {
	t.Helper()
	a := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(x))
	s.Add(runtimetest.Must[*tvmffi.Object](t)(tvmffi.As[*tvmffi.Object](a)))
	return a
}

// kept returns x, which the scope releases.
func kept[T tvmffi.ObjectRef](s *tvmffi.Scope, x T) T {
	s.Add(x)
	return x
}

func shownAs(x any) string {
	switch x := x.(type) {
	case *tvmffi.Array[float64]:
		all, err := x.Slice()
		return fmt.Sprint("Array", all, err)
	case *tvmffi.List[float64]:
		all, err := x.Slice()
		return fmt.Sprint("List", all, err)
	case *tvmffi.Map[string, float64]:
		all, err := x.Map()
		return fmt.Sprint("Map", all, err)
	case *tvmffi.Dict[string, float64]:
		return fmt.Sprint("Dict ", x.Len())
	}
	return fmt.Sprint(x)
}

// JSON has one kind of number, also inside containers whose elements have a type.
func TestParseJSONNumbers(t *testing.T) {
	runtimetest.Balanced(t)
	type place struct {
		Temp float64            `ffi:"temp"`
		All  map[string]float32 `ffi:"all"`
	}
	for _, c := range []struct{ got, want string }{
		{parsed[float64]("3"), "3"}, {parsed[[]float64]("[1, 2.5]"), "[1 2.5]"}, {parsed[[2]float32]("[1, 2]"), "[1 2]"},
		{parsed[[][]float64]("[[1], [2, 0.5]]"), "[[1] [2 0.5]]"}, {parsed[map[string]float64](`{"t": 1}`), "map[t:1]"},
		{parsed[place](`{"temp": 1, "all": {"a": 2}}`), "{1 map[a:2]}"}, {parsed[*tvmffi.Array[float64]]("[1, 2.5]"), "Array[1 2.5] <nil>"},
		{parsed[*tvmffi.List[float64]]("[1, 2.5]"), "List[1 2.5] <nil>"}, {parsed[*tvmffi.Map[string, float64]](`{"t": 1}`), "Mapmap[t:1] <nil>"},
		{parsed[float32]("9007199791611905"), "9.0072e+15"}, {parsed[[]float32]("[9007199791611905, 1]"), "[9.0072e+15 1]"},
		{parsed[float64]("-0"), "-0"}, {parsed[[]float64](`[-00, 0, -0.0, +0, -0e1]`), "[-0 0 -0 0 -0]"}, {parsed[float32](" -0 "), "-0"},
		{parsed[tvmffi.Any](`["-0", -0, {"-0": -0}, 0, -01, -10]`), `("-0", -0, {"-0": -0}, 0, -1, -10)`}, {parsed[int64]("-0"), "TypeError: expected int, got float"},
		{parsed[[]float64]("[-0, x]"), "ValueError: Expecting value: line 1 column 6 (char 5)"},
		{parsed[[]float64]("[.5e-310, +5e-310, -.5e-310]"), "[5e-311 5e-310 -5e-311]"},
		{parsed[*tvmffi.Dict[string, float64]](`{"t": 1}`), "Dict 1"},
		{parsed[int64]("1.0"), "TypeError: expected int, got float"}, {parsed[float64]("true"), "TypeError: expected float, got bool"},
		{parsed[[]float64]("[1, true]"), "TypeError: element 1: expected float, got bool"}, {parsed[bool]("1"), "TypeError: expected bool, got int"},
		{parsed[*tvmffi.Array[int64]]("[1, 2.5]"), "TypeError: element 1: expected int, got float"},
		{parsed[*tvmffi.Map[string, float64]](`{"t": null}`), `TypeError: value of key "t": expected float, got None`},
		{parsed[*tvmffi.Array[*tvmffi.Array[int64]]](`[[1], ["x"]]`), "TypeError: element 1: element 0: expected int, got ffi.SmallStr"},
		{parsed[*tvmffi.Array[float64]](`{"t": 1}`), "TypeError: expected ffi.Array, got ffi.Map"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

// An int beyond int64 stays what it is. A library without such ints makes a float of it.
func TestParseJSONBigInts(t *testing.T) {
	runtimetest.Balanced(t)
	if capi.API.BigIntFromByteArray == 0 {
		if got := parsed[[]float64]("[9, 100000000000000000000]"); got != "[9 1e+20]" {
			t.Errorf("without BigInt: %s", got)
		}
		return
	}
	for _, c := range []struct{ got, want string }{
		{parsed[uint64]("18446744073709551615"), "18446744073709551615"}, {parsed[*big.Int]("-9223372036854775809"), "-9223372036854775809"},
		{parsed[[]*big.Int]("[1, 00000000000000000000000002, 9223372036854775808]"), "[1 2 9223372036854775808]"},
		{parsed[[]float32]("[100000000000000000000]"), "[1e+20]"}, {parsed[float64]("100000000000000000000"), "1e+20"}, {parsed[*tvmffi.Array[float64]]("[100000000000000000000]"), "Array[1e+20] <nil>"},
		{parsed[map[string]any](`{"a": 9223372036854775807, "b": -9223372036854775808}`), "map[a:9223372036854775807 b:-9223372036854775808]"},
		{parsed[[]float64]("[.1234567890123456789, +1.0, +12345678901234567890]"), "[0.12345678901234568 1 1.2345678901234567e+19]"},
		{parsed[tvmffi.Any]("+12345678901234567890"), "12345678901234567890"}, {parsed[tvmffi.Any]("9223372036854775808"), "9223372036854775808"},
		{parsed[tvmffi.Any]("{12345678901234567890 : 1}"), "ValueError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
		{parsed[tvmffi.Any]("[12345678901234567890,\n -12345678901234567890, x]"), "ValueError: Expecting value: line 2 column 25 (char 47)"},
		{parsed[string](`"a \" 99999999999999999999 b"`), `a " 99999999999999999999 b`},
		{parsed[int64]("9223372036854775808"), "OverflowError: expected an int from -9223372036854775808 to 9223372036854775807, got 9223372036854775808"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	const text = `{"id":18446744073709551615,"deep":[{"x":[-123456789012345678901234567890]}],"e":1e+30,"s":"18446744073709551615"}`
	var x tvmffi.Any
	if err := x.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if b, err := x.MarshalJSON(); err != nil || string(b) != text {
		t.Errorf("%s, %v: want %s", b, err, text)
	}
	x.Release()
	if got := parsed[tvmffi.Any]("[18446744073709551615, 1 2]"); !strings.Contains(got, "ValueError") {
		t.Errorf("a wrong text gives %s", got)
	}
}

// A container is converted when it is made, or it fails there.
func TestConvertContainers(t *testing.T) {
	runtimetest.Balanced(t)
	var s tvmffi.Scope
	defer s.Release()
	mixed := scoped(t, &s, tvmffi.Of[any](1, 2.5))
	floats := runtimetest.Must[*tvmffi.Array[float64]](t)(tvmffi.Convert[*tvmffi.Array[float64]](mixed))
	s.Add(floats)
	if floats.At(0) != 1 || floats.At(1) != 2.5 || tvmffi.Same(floats, mixed.Value().(tvmffi.ObjectRef)) {
		t.Error("an Array of ints and floats becomes a new one of floats")
	}
	again := runtimetest.Must[*tvmffi.Array[float64]](t)(tvmffi.Convert[*tvmffi.Array[float64]](scoped(t, &s, floats)))
	if !tvmffi.Same(floats, again) {
		t.Error("an Array that fits stays the same")
	}
	list := runtimetest.NewList(t, 1, 2.5)
	s.Add(list)
	anyList := scoped(t, &s, list)
	_, err := tvmffi.Convert[*tvmffi.List[float64]](anyList)
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: expected float, got int")
	snapshot := runtimetest.Must[*tvmffi.Array[float64]](t)(tvmffi.Convert[*tvmffi.Array[float64]](anyList))
	s.Add(snapshot)
	if snapshot.Len() != 2 || snapshot.At(0) != 1 {
		t.Error("an Array is made of a List")
	}
	_, err = tvmffi.As[*tvmffi.Array[float64]](mixed)
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: expected float, got int")
	dict := runtimetest.Must[*tvmffi.Dict[any, any]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[any, any]{Key: 1, Value: 2})))
	s.Add(dict)
	m := runtimetest.Must[*tvmffi.Map[int64, float64]](t)(tvmffi.Convert[*tvmffi.Map[int64, float64]](scoped(t, &s, dict)))
	s.Add(m)
	if m.MustGet(1) != 2 {
		t.Error("a Map is made of a Dict")
	}
}

// The same rule holds for the arguments of Go funcs.
func TestContainerArguments(t *testing.T) {
	runtimetest.Balanced(t)
	var kept *tvmffi.Array[float64]
	for _, c := range []struct {
		f    any
		arg  any
		want string
	}{
		{func(x *tvmffi.Array[float64]) float64 { kept = tvmffi.Retain(x); return x.At(0) + x.At(1) }, []any{1, 2.5}, "3.5"},
		{func(x *tvmffi.Array[float64]) float64 { return x.At(0) }, runtimetest.NewList(t, 1), "1"},
		{func(x *tvmffi.Map[string, float64]) float64 { return x.MustGet("t") }, map[string]any{"t": 1}, "1"},
		{func(x *tvmffi.Array[*tvmffi.Array[float64]]) float64 { return x.At(0).At(0) }, []any{[]any{1}, []float64{2}}, "1"},
		{func(x *tvmffi.Array[float64]) float64 { return x.At(0) }, []any{1, "x"}, "argument 0: element 1: expected float, got ffi.SmallStr"},
		{func(x *tvmffi.List[float64]) float64 { return x.At(0) }, runtimetest.NewList(t, 1), "argument 0: element 0: expected float, got int"},
		{func(x *tvmffi.Map[int64, int64]) int64 { return x.MustGet(1) }, map[any]any{1: 1, true: 2}, "argument 0: two keys of the ffi.Map are the same int"},
		{func(x map[int64]int64) int64 { return x[1] }, map[any]any{1: 1, true: 2}, "argument 0: two keys of the ffi.Map are the key 1 of the Go map"},
		{func(x map[float64]int64) int64 { return x[0] }, map[any]any{0: 1, 0.5: 2, false: 3}, "argument 0: two keys of the ffi.Map are the key 0 of the Go map"},
	} {
		f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(c.f))
		x, err := f.Call(c.arg)
		if got := fmt.Sprint(x, err); !strings.Contains(got, c.want) {
			t.Errorf("%T of %v: %s, want %s", c.f, c.arg, got, c.want)
		}
		f.Release()
		if l, ok := c.arg.(*tvmffi.List[any]); ok {
			l.Release()
		}
	}
	if kept.Len() != 2 || kept.At(0) != 1 {
		t.Error("a converted Array that is retained lives on")
	}
	kept.Release()
}

// Keys that differ in one place and are equal in another one are an error there.
func TestKeysThatBecomeEqual(t *testing.T) {
	runtimetest.Balanced(t)
	runtimetest.Load(t)
	for _, m := range []any{
		map[any]int{1: 1, int64(1): 2}, map[any]int{float32(0.5): 1, 0.5: 2}, map[float64]int{math.NaN(): 1, math.Float64frombits(math.Float64bits(math.NaN())): 2},
	} {
		_, err := tvmffi.AnyOf(m)
		runtimetest.WantError(t, err, tvmffi.ErrValue, "two keys of the map", "are the same key of an ffi.Map")
	}
	zeros := runtimetest.Must[*tvmffi.Map[float64, int64]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[float64, int64]{Key: 0, Value: 1}, tvmffi.Pair[float64, int64]{Key: math.Copysign(0, -1), Value: 2})))
	_, err := zeros.Map()
	runtimetest.WantError(t, err, tvmffi.ErrValue, "two keys of the ffi.Map", "range over the Map")
	zeros.Release()
	for _, key := range []any{1, true} {
		m := runtimetest.Must[*tvmffi.Map[any, int64]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[any, int64]{Key: key, Value: 1}, tvmffi.Pair[any, int64]{Key: fmt.Sprint(key), Value: 2})))
		_, err := m.MarshalJSON()
		runtimetest.WantError(t, err, tvmffi.ErrValue, "two keys have the name", fmt.Sprintf("%q", fmt.Sprint(key)))
		m.Release()
	}
}

// What a container with a type yields is what it holds: otherwise the container is another one, or an error when it is made.
func TestFloat32Containers(t *testing.T) {
	runtimetest.Balanced(t)
	var s tvmffi.Scope
	defer s.Release()
	numbers := scoped(t, &s, []float64{0.5, 0.1})
	_, err := tvmffi.As[*tvmffi.Array[float32]](numbers)
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 1: 0.1 (0x3fb999999999999a) is not a float32, which would be 0.10000000149011612 (0x3fb99999a0000000): take a container of float64, or Convert a copy")
	type narrow float32
	_, err = tvmffi.As[*tvmffi.Array[*narrow]](numbers)
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 1: 0.1")
	_, err = tvmffi.As[*tvmffi.Array[float32]](scoped(t, &s, []float64{math.Float64frombits(0x7ff8000000000001)}))
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: NaN (0x7ff8000000000001) is not a float32, which would be NaN (0x7ff8000000000000)")
	a := kept(&s, runtimetest.Must[*tvmffi.Array[float32]](t)(tvmffi.Convert[*tvmffi.Array[float32]](numbers)))
	if ok, err := a.Contains(a.At(1)); !ok || err != nil {
		t.Errorf("%v does not have its element: %v", a, err)
	}
	keys := scoped(t, &s, map[float64]float64{0.1: 0.1})
	_, err = tvmffi.As[*tvmffi.Map[float32, float64]](keys)
	runtimetest.WantError(t, err, tvmffi.ErrType, "a key: 0.1")
	_, err = tvmffi.As[*tvmffi.Map[float64, float32]](keys)
	runtimetest.WantError(t, err, tvmffi.ErrType, `value of key "0.1": 0.1`)
	m := kept(&s, runtimetest.Must[*tvmffi.Map[float32, float32]](t)(tvmffi.Convert[*tvmffi.Map[float32, float32]](keys)))
	for k := range m.Keys() {
		if x, ok := m.Get(k); !ok || x != 0.1 {
			t.Errorf("the key %v has %v, %v", k, x, ok)
		}
	}
	d := runtimetest.Must[*tvmffi.Dict[float64, float64]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[float64, float64]{Key: 0.1, Value: 0.1})))
	_, err = tvmffi.Convert[*tvmffi.Dict[float32, float64]](scoped(t, &s, d))
	runtimetest.WantError(t, err, tvmffi.ErrType, "a key: 0.1") // a Dict may change, so it is not copied
	d.Release()
	if x, err := tvmffi.As[*tvmffi.Array[float32]](scoped(t, &s, []float64{0.5, math.Inf(1), math.Copysign(0, -1)})); err != nil || x.At(2) != 0 {
		t.Errorf("float32s are %v, %v", x, err)
	}
	_, err = tvmffi.Convert[*tvmffi.Map[float32, int64]](scoped(t, &s, map[float64]int64{0.1: 1, 0.10000000000000002: 2}))
	runtimetest.WantError(t, err, tvmffi.ErrValue, "two keys of the ffi.Map are the same float")
}

// As looks at the elements of all containers, wherever they are, so that no later read of one panics.
func TestAsLooksInside(t *testing.T) {
	runtimetest.Balanced(t)
	var s tvmffi.Scope
	defer s.Release()
	rows := scoped(t, &s, []any{[]int64{1}, []any{"x"}})
	const want = "element 0: expected int, got ffi.SmallStr"
	_, err := tvmffi.As[[]*tvmffi.Array[int64]](rows)
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 1: "+want)
	_, err = tvmffi.As[*tvmffi.Array[*tvmffi.Array[int64]]](rows)
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 1: "+want)
	_, err = tvmffi.As[*tvmffi.Array[[]*tvmffi.Array[int64]]](scoped(t, &s, []any{[]any{[]any{"x"}}}))
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: element 0: "+want)
	record := scoped(t, &s, map[string]any{"k": []any{"x"}})
	_, err = tvmffi.As[map[string]*tvmffi.Array[int64]](record)
	runtimetest.WantError(t, err, tvmffi.ErrType, `value of key "k": `+want)
	_, err = tvmffi.As[struct {
		K *tvmffi.Array[int64] `ffi:"k"`
	}](record)
	runtimetest.WantError(t, err, tvmffi.ErrType, "field k: "+want)
	_, err = tvmffi.As[[]*tvmffi.Map[string, int64]](rows)
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: expected ffi.Map, got ffi.Array")
	if all, err := tvmffi.As[[]*tvmffi.Array[tvmffi.Any]](rows); err != nil || all[0].Len() != 1 {
		t.Errorf("%v, %v", all, err)
	} else {
		all[0].Release()
		all[1].Release()
	}
}

// A question that can only be answered by no is an error.
func TestSoughtByAddress(t *testing.T) {
	runtimetest.Balanced(t)
	var s tvmffi.Scope
	defer s.Release()
	m := kept(&s, runtimetest.Must[*tvmffi.Map[[2]int64, string]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[[2]int64, string]{Key: [2]int64{1, 2}, Value: "x"}))))
	const want = "a [2]int64 becomes a new ffi.Array, and the library finds one by its address alone: range over the container, and compare"
	runtimetest.WantPanic(t, tvmffi.ErrType, want, func() { m.Get([2]int64{1, 2}) })
	runtimetest.WantPanic(t, tvmffi.ErrType, want, func() { m.Has([2]int64{1, 2}) })
	d := kept(&s, runtimetest.Must[*tvmffi.Dict[any, string]](t)(tvmffi.NewDict(tvmffi.PairsOf[any, string]())))
	_, err := d.Delete([2]int64{1, 2})
	runtimetest.WantError(t, err, tvmffi.ErrType, want)
	rows := kept(&s, runtimetest.Must[*tvmffi.Array[[]int64]](t)(tvmffi.NewArray([]int64{1})))
	_, err = rows.Contains([]int64{1})
	runtimetest.WantError(t, err, tvmffi.ErrType, "a []int64 becomes a new ffi.Array")
	row := kept(&s, runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1)))
	found := []any{row, []byte("long bytes are an object"), "a long text is an object", 2 + 0.5, nil}
	if capi.API.BigIntFromByteArray != 0 {
		found = append(found, uint64(1<<63))
	}
	all := kept(&s, runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray(found...)))
	for i := range all.Len() {
		x := all.At(i)
		if ok, err := all.Contains(x); !ok || err != nil {
			t.Errorf("%v is not in %v: %v", x, all, err)
		}
		if o, ok := x.(*tvmffi.Array[tvmffi.Any]); ok {
			o.Release()
		}
	}
}
