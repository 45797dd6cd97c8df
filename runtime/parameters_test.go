package tvmffi_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// C++ converts numbers and names for its parameters, in
// the order of the alternatives of a Variant.
func TestParameterConversions(t *testing.T) {
	runtimetest.Balanced(t)
	for _, c := range []struct {
		function string
		in, want any
	}{
		{"calls.echo_int", true, int64(1)},
		{"calls.echo_bool", 2, true},
		{"calls.echo_bool", 0, false},
		{"calls.echo_float", 3, 3.0},
		{"calls.echo_float", true, 1.0},
		{"calls.echo_dtype", "float32x4", tvmffi.Float32.WithLanes(4)},
		{"calls.echo_variant", true, int64(1)}, // the first alternative that takes it
		{"calls.echo_variant", "text", "text"},
		{"calls.echo_string", "", ""},
		// Those that may be None take None.
		{"calls.echo_object", nil, nil},
		{"calls.echo_function", nil, nil},
		{"calls.echo_tensor", nil, nil},
		{"calls.echo_box", nil, nil},
		{"calls.echo_pointer", tvmffi.Pointer{}, nil}, // the null pointer comes back as None
	} {
		v, err := runtimetest.Call(c.function, c.in)
		got := v.Value()
		if p, ok := got.(tvmffi.Pointer); ok && p.Address == 0 {
			got = nil
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s(%v): %#v, %v, want %#v", c.function, c.in, got, err, c.want)
		}
		v.Release()
	}
	for _, c := range []struct {
		function string
		in       any
		kind     error
		text     string
	}{
		{"calls.echo_int", 1.0, tvmffi.ErrType, "Expected `int` but got `float`"},
		{"calls.echo_string", []byte("bytes"), tvmffi.ErrType, "Expected `str` but got `ffi.SmallBytes`"},
		{"calls.echo_bytes", "text", tvmffi.ErrType, "Expected `bytes` but got `ffi.SmallStr`"},
		{"calls.echo_variant", 1.5, tvmffi.ErrType, "Expected `Variant<int, str>` but got `float`"},
		// None is neither an array nor a map.
		{"calls.echo_ints", nil, tvmffi.ErrType, "but got `None`"},
		{"calls.echo_map", nil, tvmffi.ErrType, "but got `None`"},
		{"calls.echo_shape", nil, tvmffi.ErrType, "but got `None`"},
	} {
		_, err := runtimetest.Call(c.function, c.in)
		runtimetest.WantError(t, err, c.kind, c.function, c.text)
	}
	if v := nativetest.Version(); v != "0.1.9" && v != "0.1.12" { // which take no names of devices
		if d := runtimetest.Get[tvmffi.Device](t, "calls.echo_device", "cuda:1"); d != tvmffi.CUDA(1) {
			t.Errorf("calls.echo_device returned %v, want cuda:1", d)
		}
	}
	_, err := runtimetest.Call("calls.echo_dtype", "nonsense")
	runtimetest.WantError(t, err, tvmffi.ErrValue, "unknown dtype `nonsense`")
	_, err = runtimetest.Call("calls.echo_device", "nonsense:1")
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.echo_device", "Device")
}

// A string is an object of the library only when it is long. In Go it is not,
// whatever its length, so that no program works by chance.
func TestTextIsNoObject(t *testing.T) {
	runtimetest.Balanced(t)
	for _, text := range []any{"short", "a text of more than seven bytes", []byte("short"), []byte("more than seven bytes")} {
		v := runtimetest.MustCall(t, "calls.echo", text)
		_, err := tvmffi.As[*tvmffi.Object](v)
		runtimetest.WantError(t, err, tvmffi.ErrType, "expected ffi.Object, got ffi.")
		_, err = tvmffi.As[[]*tvmffi.Object](runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(tvmffi.Of(text))))
		runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: expected ffi.Object, got ffi.")
	}
	_, err := runtimetest.Call("calls.echo_object", "short")
	runtimetest.WantError(t, err, tvmffi.ErrType, "but got `ffi.SmallStr`")
	if v := runtimetest.MustCall(t, "calls.echo_object", "a text of more than seven bytes"); v.Value() != "a text of more than seven bytes" {
		t.Errorf("calls.echo_object returned %v, want the string", v)
	}
	runtimetest.DropGarbage(t)
}

// Texts and bytes that C++ lends a callback are values of Go in it: nothing of them
// ends with the callback. Tensors in a container are tensors.
func TestLentTexts(t *testing.T) {
	runtimetest.Balanced(t)
	long := "a text of more than seven bytes"
	var text string
	var data []byte
	var loose []tvmffi.Any
	typed := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(s string, b []byte) { text, data = s, b }))
	packed := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(args []tvmffi.Any) (any, error) { loose = args; return nil, nil }))
	for _, f := range []*tvmffi.Function{typed, packed} {
		// A string goes as a C string, bytes as TVMFFIByteArray*.
		if _, err := lend(f, long, []byte(long)); err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	if text != long || string(data) != long || loose[0].Value() != long || string(loose[1].Value().([]byte)) != long {
		t.Errorf("the callback got %q, %q, %v, want the long string each time", text, data, loose)
	}
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1, 2}))
	a := runtimetest.Get[*tvmffi.Array[*tvmffi.Tensor]](t, "calls.echo", []any{x})
	if y := a.At(0); !tvmffi.Same(x, y) {
		t.Error("a tensor in an array")
	} else {
		y.Release()
	}
	a.Release()
	x.Release()
}

// lend calls f in a frame that lends its texts.
func lend(f *tvmffi.Function, s string, b []byte) (tvmffi.Any, error) {
	var c bindrt.Call8
	c.BeginFunction(bindrt.Ref(f), 2)
	c.String(0, s)
	c.Bytes(1, b)
	return bindrt.Do[tvmffi.Any](&c.Call)
}

// TestResultConversions has a function of which nobody knows the types, as those are that other languages give to Go.
// Its result is converted as an argument is.
func TestResultConversions(t *testing.T) {
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() []any { return []any{[]any{1, true}, []any{2.5}} }))
	defer f.Release()
	var c bindrt.Call1
	c.BeginFunction(bindrt.Ref(f), 0)
	got, err := bindrt.Do[[][]float64](&c.Call)
	if want := [][]float64{{1, 1}, {2.5}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Arrays and Lists, Maps and Dicts become each other for a parameter of the other
// kind: the result is of the kind that the parameter declares, a copy, with its
// elements converted.
func TestContainerConversions(t *testing.T) {
	runtimetest.Balanced(t)
	array := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](1, true))
	list := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any](1, true))
	pairs := tvmffi.PairsOf(tvmffi.Pair[string, any]{Key: "a", Value: 1}, tvmffi.Pair[string, any]{Key: "b", Value: true})
	table := runtimetest.Must[*tvmffi.Map[string, any]](t)(tvmffi.NewMap(pairs))
	dict := runtimetest.Must[*tvmffi.Dict[string, any]](t)(tvmffi.NewDict(pairs))
	for _, c := range []struct {
		function string
		in       tvmffi.ObjectRef
		key      string
	}{
		{"calls.echo_ints", list, "ffi.Array"},
		{"calls.echo_ints", array, "ffi.Array"},
		{"calls.echo_list", array, "ffi.List"},
		{"calls.echo_list", list, "ffi.List"},
		{"calls.echo_map", dict, "ffi.Map"},
		{"calls.echo_map", table, "ffi.Map"},
		{"calls.echo_dict", table, "ffi.Dict"},
		{"calls.echo_dict", dict, "ffi.Dict"},
	} {
		v := runtimetest.MustCall(t, c.function, c.in)
		if v.TypeKey() != c.key {
			t.Errorf("%s of %s is %s, want %s", c.function, tvmffi.TypeKey(c.in), v.TypeKey(), c.key)
		}
		var got any
		if strings.HasSuffix(c.function, "map") || strings.HasSuffix(c.function, "dict") {
			m := runtimetest.Must[map[string]int64](t)(tvmffi.As[map[string]int64](v))
			got = []int64{m["a"], m["b"]}
		} else {
			got = runtimetest.Must[[]int64](t)(tvmffi.As[[]int64](v))
		}
		if !slices.Equal(got.([]int64), []int64{1, 1}) {
			t.Errorf("%s of %s: %v", c.function, tvmffi.TypeKey(c.in), got)
		}
		if o := runtimetest.Must[*tvmffi.Object](t)(tvmffi.As[*tvmffi.Object](v)); tvmffi.Same(o, c.in) {
			t.Errorf("%s of %s did not copy what it converted", c.function, tvmffi.TypeKey(c.in))
		}
		v.Release()
	}
	for _, x := range []interface{ Release() }{array, list, table, dict} {
		x.Release()
	}
}

// The texts of the library name the element that does not fit.
func TestElementErrors(t *testing.T) {
	runtimetest.Balanced(t)
	for _, c := range []struct {
		function, want string
		in             any
	}{
		{"calls.echo_ints", "Array[index 1: ffi.SmallStr]", []any{1, "x"}},
		{"calls.echo_ints", "Array[index 1: ffi.String]", []any{1, "a text of more than seven bytes"}},
		{"calls.echo_list", "List[index 0: ffi.SmallStr]", []any{"x"}},
		{"calls.echo_map", "Map[some key is int, V]", map[int64]int64{1: 1}},
		{"calls.echo_map", "Map[K, some value is ffi.SmallStr]", map[string]string{"a": "x"}},
		{"calls.echo_dict", "Dict[some key is int, V]", map[int64]int64{1: 1}},
		{"calls.echo_dict", "Dict[K, some value is ffi.SmallStr]", map[string]string{"a": "x"}},
		{"calls.echo_nested", "Array[index 1: Array[index 0: int]]", []any{[]string{"a"}, []any{1}}},
		{"calls.echo_tuple", "Array[size=1]", []any{1}},
	} {
		_, err := runtimetest.Call(c.function, c.in)
		runtimetest.WantError(t, err, tvmffi.ErrType, "Mismatched type on argument #0 when calling: `"+c.function+"(0: ", c.want)
	}
	for _, dims := range []any{"x", 1.5, []any{1, "x"}} {
		_, err := runtimetest.Call("ffi.Shape", dims)
		runtimetest.WantError(t, err, tvmffi.ErrValue, "Expect shape to take list of int arguments")
	}
	if s := runtimetest.Get[*tvmffi.Shape](t, "calls.echo_shape", tvmffi.Of[int64](2, 3)); !slices.Equal(s.Slice(), []int64{2, 3}) {
		t.Errorf("calls.echo_shape returned %v, want [2 3]", s.Slice())
	} else {
		s.Release()
	}
}
