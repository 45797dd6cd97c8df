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
