package tvmffi_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// Every value goes out and comes back, through a packed function, a typed one, and a callback.
func TestRoundTrip(t *testing.T) {
	runtimetest.Balanced(t)
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x tvmffi.Any) tvmffi.Any { return x }))
	defer f.Release()
	runtimetest.Values(t, func(r values.Row, x any) {
		for how, through := range map[string]func() (tvmffi.Any, error){
			"calls.echo":     func() (tvmffi.Any, error) { return runtimetest.Call("calls.echo", x) },
			"calls.echo_any": func() (tvmffi.Any, error) { return runtimetest.Call("calls.echo_any", x) },
			"testing.echo":   func() (tvmffi.Any, error) { return runtimetest.Call("testing.echo", x) },
			"a callback":     func() (tvmffi.Any, error) { return runtimetest.Call("calls.apply", f, x) },
			"AnyOf":          func() (tvmffi.Any, error) { return tvmffi.AnyOf(x) },
		} {
			v, err := through()
			runtimetest.WantBack(t, how, r, x, v, err)
			if graph, err := jsongraph.Marshal(v, nil); r.Graph != "" && (err != nil || string(graph) != r.GraphText()) {
				t.Errorf("%s: %s came back as %s, %v", how, r.Name, graph, err)
			}
			v.Release()
		}
	})
}

// Each typed echo takes and gives its kind, by the generic route of bindings.
func TestTypedEchoes(t *testing.T) {
	runtimetest.Balanced(t)
	echo(t, "echo_int", int64(-1), "float")
	echo(t, "echo_float", 0.5, "ffi.SmallStr")
	echo(t, "echo_bool", true, "ffi.SmallStr")
	echo(t, "echo_string", "a text of more than seven bytes", "int")
	echo(t, "echo_std_string", "text", "int")
	echo(t, "echo_bytes", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, "int")
	echo(t, "echo_dtype", tvmffi.BFloat16, "int")
	echo(t, "echo_device", tvmffi.CUDA(1), "int")
	echo(t, "echo_pointer", tvmffi.Pointer{Address: 64}, "int")
	echo(t, "echo_opt_int", new(int64), "ffi.SmallStr")
	echo(t, "echo_opt_int", (*int64)(nil), "ffi.SmallStr")
	echo(t, "echo_opt_float", new(float64), "ffi.SmallStr")
	echo(t, "echo_opt_bool", new(bool), "ffi.SmallStr")
	echo(t, "echo_opt_string", new(string), "int")
	echo(t, "echo_opt_string", (*string)(nil), "int")
	echo(t, "echo_opt_bytes", &[]byte{1}, "int")
	echo(t, "echo_opt_array", []int64{1, 2}, "int")
	echo(t, "echo_ints", []int64{1, 2, 3}, "int")
	echo(t, "echo_ints", []int64{}, "int")
	echo(t, "echo_strings", []string{"a", "", "a text of more than seven bytes"}, "int")
	echo(t, "echo_nested", [][]string{{"a"}, {}, {"b", "c"}}, "int")
	echo(t, "echo_map", map[string]int64{"a": 1, "b": 2}, "int")
	echo(t, "echo_int_map", map[int64]string{1: "a", -2: "b"}, "int")
	echo(t, "echo_tuple", tvmffi.Tuple2[int64, string]{A: 1, B: "b"}, "int")
	echo(t, "echo_shape", []int64{2, 3}[:2], "ffi.SmallStr")
	echo(t, "stl_vector", []int64{1, 2}, "int")
	echo(t, "stl_array", [2]int64{1, 2}, "int")
	echo(t, "stl_optional", new(int64), "ffi.SmallStr")
	echo(t, "stl_tuple", tvmffi.Tuple2[int64, string]{A: 1, B: "b"}, "int")
	echo(t, "stl_map", map[string]int64{"a": 1}, "int")
	echo(t, "stl_unordered_map", map[string]int64{"a": 1, "b": 2}, "int")
	if v := runtimetest.MustCall(t, "calls.stl_function", func(x int64) int64 { return -x }, 4); v.Value() != int64(-4) {
		t.Errorf("calls.stl_function returned %v, want -4", v)
	}
}

// echo sends x through calls.name and back, and a value of another type, which
// is refused with the name of the function.
func echo[T any](t *testing.T, name string, x T, wrong string) {
	t.Helper()
	v := runtimetest.MustCall(t, "calls."+name, x)
	if name == "echo_shape" {
		shape, err := tvmffi.As[*tvmffi.Shape](v)
		if err != nil || !reflect.DeepEqual(any(shape.Slice()), any(x)) {
			t.Errorf("%s returned %v, %v, want %v", name, shape, err, x)
		}
		v.Release()
		return
	}
	got, err := tvmffi.As[T](v)
	if err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("%s returned %v, %v, want %v", name, got, err, x)
	}
	v.Release()
	bad := map[string]any{"int": 1, "float": 1.5, "ffi.SmallStr": "x"}[wrong]
	if name == "echo_opt_string" || name == "echo_pointer" {
		bad = 1.5
	}
	_, err = runtimetest.Call("calls."+name, bad)
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls."+name)
}

func TestNumbersThatDoNotFit(t *testing.T) {
	runtimetest.Load(t)
	v := runtimetest.MustCall(t, "calls.echo", -300)
	for _, c := range []struct {
		as   func() error
		text string
	}{
		{func() error { _, err := tvmffi.As[int8](v); return err }, "expected an int from -128 to 127, got -300"},
		{func() error { _, err := tvmffi.As[uint8](v); return err }, "expected an int from 0 to 255, got -300"},
		{func() error { _, err := tvmffi.As[uint64](v); return err }, "expected an int from 0 to 18446744073709551615, got -300"},
		{func() error { _, err := tvmffi.As[float32](runtimetest.MustCall(t, "calls.echo", 1e300)); return err }, "1e+300 does not fit float32"},
	} {
		runtimetest.WantError(t, c.as(), tvmffi.ErrOverflow, c.text)
	}
	if x, err := tvmffi.As[int16](v); err != nil || x != -300 {
		t.Errorf("As[int16] returned %d, %v, want -300", x, err)
	}
	for _, c := range []any{make(chan int), struct{ X int }{1}} {
		_, err := runtimetest.Call("calls.echo", c)
		runtimetest.WantError(t, err, tvmffi.ErrType, fmt.Sprintf("Go type %T: this type has no counterpart in TVM-FFI", c))
	}
}

func TestBigInt(t *testing.T) {
	runtimetest.Balanced(t)
	_, err := runtimetest.Call("calls.echo", new(big.Int).Lsh(big.NewInt(1), 63))
	if capi.API.BigIntFromByteArray == 0 {
		runtimetest.WantError(t, err, tvmffi.ErrOverflow, "the loaded libtvm_ffi has no integers beyond those of int64")
		return
	}
	one := big.NewInt(1)
	for _, bits := range []uint{0, 1, 7, 8, 62, 63, 64, 65, 127, 128, 129, 1000, 4096} {
		p := new(big.Int).Lsh(one, bits)
		for _, d := range []int64{-1, 0, 1} {
			for _, x := range []*big.Int{new(big.Int).Add(p, big.NewInt(d)), new(big.Int).Neg(new(big.Int).Add(p, big.NewInt(d)))} {
				v := runtimetest.MustCall(t, "calls.echo", x)
				if key := v.TypeKey(); (key == "int") != x.IsInt64() {
					t.Errorf("%v goes as %s", x, key)
				}
				if got, err := tvmffi.As[*big.Int](v); err != nil || got.Cmp(x) != 0 {
					t.Errorf("%v came back as %v, %v", x, got, err)
				}
				v.Release()
			}
		}
	}
	x, _ := new(big.Int).SetString("1000000000000000000000000000000", 10)
	v := runtimetest.MustCall(t, "calls.echo", x)
	defer v.Release()
	if s := v.String(); !strings.Contains(s, x.String()) {
		t.Errorf("String of 10^30: %q", s)
	}
	_, err = runtimetest.Call("calls.add_one", x)
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.add_one", "BigInt")
	_, err = tvmffi.As[int64](v)
	runtimetest.WantError(t, err, tvmffi.ErrOverflow, "expected an int from -9223372036854775808 to 9223372036854775807, got 1000000000000000000000000000000")
}

// An unsigned number beyond int64 goes as a BigInt, wherever it is.
func TestUint64(t *testing.T) {
	runtimetest.Balanced(t)
	const most = math.MaxUint64
	_, err := runtimetest.Call("calls.echo", uint64(most))
	if capi.API.BigIntFromByteArray == 0 {
		runtimetest.WantError(t, err, tvmffi.ErrOverflow, "the loaded libtvm_ffi has no integers beyond those of int64")
		return
	}
	type record struct {
		N uint64  `ffi:"n"`
		P *uint64 `ffi:"p"`
	}
	n := uint64(1 << 63)
	for _, c := range []struct {
		x    any
		as   func(tvmffi.Any) (any, error)
		want any
	}{
		{n, asAny[uint64], n},
		{uint(most), asAny[uint], uint(most)},
		{uintptr(n), asAny[uintptr], uintptr(n)},
		{new(big.Int).SetUint64(n), asAny[uint64], n},
		{[]uint64{1, n, most}, asAny[[]uint64], []uint64{1, n, most}},
		{[2]uint{1, most}, asAny[[2]uint], [2]uint{1, most}},
		{[]any{n, big.NewInt(1)}, asAny[[]uint64], []uint64{n, 1}},
		{map[uint64]uint64{n: most, 1: 2}, asAny[map[uint64]uint64], map[uint64]uint64{n: most, 1: 2}},
		{map[uint64]struct{}{n: {}, 1: {}}, asAny[map[uint64]struct{}], map[uint64]struct{}{n: {}, 1: {}}},
		{[]record{{most, &n}}, asAny[[]record], []record{{most, &n}}},
	} {
		v := runtimetest.MustCall(t, "calls.echo", c.x)
		if got, err := c.as(v); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v came back as %v, %v, want %v", c.x, got, err, c.want)
		}
		v.Release()
	}
	for _, c := range []struct {
		x    any
		as   func(tvmffi.Any) (any, error)
		want string
	}{
		{-1, asAny[uint64], "expected an int from 0 to 18446744073709551615, got -1"},
		{new(big.Int).Lsh(big.NewInt(1), 64), asAny[uint64], "expected an int from 0 to 18446744073709551615, got 18446744073709551616"},
		{new(big.Int).Lsh(big.NewInt(-1), 63), asAny[uint], "got -9223372036854775808"},
		{new(big.Int).Lsh(big.NewInt(1), 200), asAny[uint64], "expected an int from 0 to 18446744073709551615, got one outside this range"},
		{n, asAny[uint32], "expected an int from 0 to 4294967295, got 9223372036854775808"},
		{n, asAny[int8], "expected an int from -128 to 127, got 9223372036854775808"},
	} {
		v := runtimetest.MustCall(t, "calls.echo", c.x)
		_, err := c.as(v)
		runtimetest.WantError(t, err, tvmffi.ErrOverflow, c.want)
		v.Release()
	}
	v := runtimetest.MustCall(t, "calls.echo", n)
	if x, ok := v.Value().(*big.Int); !ok || x.Uint64() != n || v.String() != "9223372036854775808" {
		t.Errorf("Value of %d: %v %T", n, v, v.Value())
	}
	v.Release()
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x uint64, all []uint64, rest any) ([]uint64, uint64) {
		return append(all, rest.(*big.Int).Uint64()), x + 1
	}))
	v = runtimetest.Must[tvmffi.Any](t)(f.Call(n, []uint64{most}, n))
	if got, err := tvmffi.As[[]any](v); err != nil || fmt.Sprint(got) != "[(18446744073709551615, 9223372036854775808) 9223372036854775809]" {
		t.Errorf("a callback returned %v, %v", got, err)
	}
	v.Release()
	f.Release()
}

func asAny[T any](v tvmffi.Any) (any, error) { return tvmffi.As[T](v) }

// An int that is converted to a float becomes the nearest one.
func TestBigIntToFloat(t *testing.T) {
	runtimetest.Balanced(t)
	if capi.API.BigIntFromByteArray == 0 {
		t.Log("this library has no BigInt, see TestBigInt")
		return
	}
	one := big.NewInt(1)
	p := new(big.Int).Lsh(one, 64)
	for _, c := range []struct {
		x    *big.Int
		want float64
	}{{p, 1 << 64}, {new(big.Int).Neg(p), -1 << 64}, {new(big.Int).Add(p, one), 1 << 64}, {new(big.Int).Lsh(one, 1023), 0x1p1023}} {
		v := runtimetest.MustCall(t, "calls.echo", []any{c.x, 1 << 53})
		if got, err := tvmffi.Convert[[]float64](v); err != nil || !slices.Equal(got, []float64{c.want, 1 << 53}) {
			t.Errorf("%v is the float %v, %v", c.x, got, err)
		}
		_, err := tvmffi.As[[]float64](v)
		runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: expected float, got ffi.BigInt")
		v.Release()
	}
	v := runtimetest.MustCall(t, "calls.echo", new(big.Int).Lsh(one, 1024))
	_, err := tvmffi.Convert[float64](v)
	runtimetest.WantError(t, err, tvmffi.ErrOverflow, "expected a float, got an int that is too large for one")
	_, err = tvmffi.Convert[complex64](v)
	runtimetest.WantError(t, err, tvmffi.ErrOverflow, "too large")
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", new(big.Int).Lsh(one, 200))
	_, err = tvmffi.Convert[float32](v)
	runtimetest.WantError(t, err, tvmffi.ErrOverflow, "does not fit float32")
	v.Release()
}

// As is strict, Convert does what the library does for parameters.
func TestAnyTable(t *testing.T) {
	runtimetest.Balanced(t)
	type result struct {
		as, convert bool // does it work
	}
	values := map[string]any{
		"None": nil, "bool": true, "int": 3, "float": 1.5, "string": "text", "dtype name": "float32", "device name": "cuda:1",
		"bytes": []byte("x"), "dtype": tvmffi.Int8, "device": tvmffi.CPU, "pointer": tvmffi.Pointer{Address: 1}, "ints": tvmffi.Of[int64](1, 2),
	}
	both, strict, none := result{true, true}, result{false, true}, result{}
	for _, c := range []struct {
		name string
		try  func(a tvmffi.Any) (bool, bool)
		want map[string]result // the others: none
	}{
		{"int64", try[int64], map[string]result{"int": both, "bool": strict}},
		{"float64", try[float64], map[string]result{"float": both, "int": strict, "bool": strict}},
		{"bool", try[bool], map[string]result{"bool": both, "int": strict}},
		{"string", try[string], map[string]result{"string": both, "dtype name": both, "device name": both}},
		{"[]byte", try[[]byte], map[string]result{"bytes": both}},
		{"DataType", try[tvmffi.DataType], map[string]result{"dtype": both, "dtype name": strict}},
		{"Device", try[tvmffi.Device], map[string]result{"device": both, "device name": strict}},
		{"Pointer", try[tvmffi.Pointer], map[string]result{"pointer": both, "None": both}},
		{"[]int64", try[[]int64], map[string]result{"ints": both}},
		{"*Array[int64]", try[*tvmffi.Array[int64]], map[string]result{"ints": both, "None": both}},
		{"*List[int64]", try[*tvmffi.List[int64]], map[string]result{"ints": strict, "None": both}},
		{"*Array[float64]", try[*tvmffi.Array[float64]], map[string]result{"ints": strict, "None": both}},
		{"*Object", try[*tvmffi.Object], map[string]result{"ints": both, "None": both}},
		{"*Box", try[*runtimetest.Box], map[string]result{"None": both}},
		{"*Function", try[*tvmffi.Function], map[string]result{"None": both}},
		{"*int64", try[*int64], map[string]result{"int": both, "bool": strict, "None": both}},
		{"*string", try[*string], map[string]result{"string": both, "dtype name": both, "device name": both, "None": both}},
		{"*big.Int", try[*big.Int], map[string]result{"int": both, "None": both}},
		{"error", try[error], map[string]result{"None": both}},
	} {
		for kind, x := range values {
			v := runtimetest.MustCall(t, "calls.echo", x)
			as, convert := c.try(v)
			want, ok := c.want[kind]
			if !ok {
				want = none
			}
			if (result{as, convert}) != want {
				t.Errorf("%s as %s: As %v, Convert %v, want %v", kind, c.name, as, convert, want)
			}
			v.Release()
		}
	}
	for kind, x := range values {
		v := runtimetest.MustCall(t, "calls.echo", x)
		if a, err := tvmffi.As[any](v); err != nil || kind != "ints" && !reflect.DeepEqual(a, v.Value()) {
			t.Errorf("%s as any: %v, %v", kind, a, err)
		}
		if a, err := tvmffi.As[tvmffi.Any](v); err != nil || a.TypeKey() != v.TypeKey() {
			t.Errorf("%s as Any: %v", kind, err)
		}
		v.Release()
	}
	runtimetest.DropGarbage(t)
	if x, err := tvmffi.Convert[float64](runtimetest.MustCall(t, "calls.echo", -3)); err != nil || x != -3 {
		t.Errorf("Convert[float64] returned %v, %v, want -3", x, err)
	}
	if x, err := tvmffi.Convert[tvmffi.DataType](runtimetest.MustCall(t, "calls.echo", "float32x4")); err != nil || x != (tvmffi.DataType{Code: 2, Bits: 32, Lanes: 4}) {
		t.Errorf("Convert[DataType] returned %v, %v, want float32x4", x, err)
	}
	_, err := tvmffi.Convert[tvmffi.DataType](runtimetest.MustCall(t, "calls.echo", "nonsense"))
	runtimetest.WantError(t, err, tvmffi.ErrValue, "nonsense")
	_, err = tvmffi.Convert[tvmffi.Device](runtimetest.MustCall(t, "calls.echo", "nonsense"))
	runtimetest.WantError(t, err, tvmffi.ErrValue, "nonsense")
	nested := runtimetest.MustCall(t, "calls.echo", map[string]any{"a": []any{1, 2, "three"}})
	_, err = tvmffi.Convert[map[string][]int64](nested)
	runtimetest.WantError(t, err, tvmffi.ErrType, `value of key "a": element 2: expected int, got ffi.SmallStr`)
	nested.Release()
	_, err = tvmffi.As[int64](runtimetest.MustCall(t, "calls.echo", 1.5))
	if err == nil || err.Error() != "TypeError: expected int, got float" {
		t.Error(err)
	}
}

func try[T any](a tvmffi.Any) (as, convert bool) {
	_, err := tvmffi.As[T](a)
	_, loose := tvmffi.Convert[T](a)
	return err == nil, loose == nil
}

func TestAny(t *testing.T) {
	runtimetest.Balanced(t)
	var zero tvmffi.Any
	if !zero.IsNone() || zero.Value() != nil || zero.String() != "None" || zero.TypeKey() != "None" {
		t.Error("the zero Any is None")
	}
	zero.Release()
	for _, c := range []struct {
		name string
		want any
	}{
		{"calls.ints", &tvmffi.Array[tvmffi.Any]{}}, {"calls.table", &tvmffi.Map[tvmffi.Any, tvmffi.Any]{}}, {"calls.box", &tvmffi.Object{}}, {"calls.adder", &tvmffi.Function{}},
	} {
		v := runtimetest.MustCall(t, c.name, 3)
		if reflect.TypeOf(v.Value()) != reflect.TypeOf(c.want) {
			t.Errorf("%s: %T, want %T", c.name, v.Value(), c.want)
		}
		v.Release()
		v.Release()
	}
	f := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(func() int64 { return 1 }))
	if r := runtimetest.Must[tvmffi.Any](t)(runtimetest.Must[*tvmffi.Function](t)(tvmffi.As[*tvmffi.Function](f)).Call()); r.Value() != int64(1) {
		t.Errorf("the function returned %v, want 1", r)
	}
	f.Release()
	// The Go type of every kind of object.
	tensor := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1, 2}))
	module := runtimetest.Must[*tvmffi.Module](t)(tvmffi.SystemLib(""))
	list := runtimetest.Must[*tvmffi.List[int64]](t)(tvmffi.NewList[int64](1))
	dict := runtimetest.Must[*tvmffi.Dict[string, int64]](t)(tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"a": 1})))
	shape := runtimetest.Must[*tvmffi.Shape](t)(tvmffi.NewShape(2))
	for key, c := range map[string]struct {
		in   tvmffi.ObjectRef
		want any
	}{
		"ffi.Tensor": {tensor, &tvmffi.Tensor{}}, "ffi.Module": {module, &tvmffi.Module{}}, "ffi.List": {list, &tvmffi.List[tvmffi.Any]{}},
		"ffi.Dict": {dict, &tvmffi.Dict[tvmffi.Any, tvmffi.Any]{}}, "ffi.Shape": {shape, &tvmffi.Shape{}},
	} {
		v := runtimetest.MustCall(t, "calls.echo", c.in)
		if x, ok := v.Value().(tvmffi.ObjectRef); !ok || reflect.TypeOf(x) != reflect.TypeOf(c.want) || v.TypeKey() != key || !tvmffi.Same(x, c.in) {
			t.Errorf("an object of type %s came back as %T of type %s, want %T", key, v.Value(), v.TypeKey(), c.want)
		}
		v.Release()
	}
	for _, x := range []interface{ Release() }{tensor, module, list, dict, shape} {
		x.Release()
	}
	_, err := tvmffi.AnyOf(make(chan int))
	if !errors.Is(err, tvmffi.ErrType) {
		t.Error(err)
	}
	if s := runtimetest.MustCall(t, "calls.echo", 1.5).String(); s != "1.5" {
		t.Errorf("1.5 prints %s", s)
	}
}
