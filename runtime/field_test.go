package tvmffi_test

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestFieldDefaults(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 64)
	defer b.Release()
	o := bindrt.Ref(b)
	for name, want := range map[string]int64{"i64": 64, "i32": -32, "i16": -16, "i8": -8, "u64": 64, "u32": 4000000000, "u16": 60000, "u8": 200, "constant": 42} {
		f := runtimetest.BoxField(name, "int")
		if v := f.Int(o); v != want {
			t.Errorf("%s is %d, want %d", name, v, want)
		}
		if v := bindrt.GetField[int64](f, o); v != want {
			t.Errorf("%s by the codec is %d, want %d", name, v, want)
		}
	}
	if v := runtimetest.BoxField("f64", "float").Float(o); v != 0.5 {
		t.Errorf("f64 is %v, want 0.5", v)
	}
	if v := runtimetest.BoxField("f32", "float").Float(o); v != 0.25 {
		t.Errorf("f32 is %v, want 0.25", v)
	}
	if !runtimetest.BoxField("flag", "bool").Bool(o) {
		t.Error("flag")
	}
	if v := runtimetest.BoxField("text", "ffi.String").Text(o); v != "a text that does not fit into seven bytes" {
		t.Errorf("text is %q", v)
	}
	if v := runtimetest.BoxField("small", "ffi.String").Text(o); v != "small" {
		t.Errorf("small is %q, want small", v)
	}
	if v := bindrt.GetField[[]byte](runtimetest.BoxField("bytes", "ffi.Bytes"), o); !bytes.Equal(v, []byte{0, 1, 255}) {
		t.Errorf("bytes is %v, want [0 1 255]", v)
	}
	if v := bindrt.GetField[tvmffi.Any](runtimetest.BoxField("any", "Any"), o); v.Value() != int64(7) {
		t.Errorf("any is %v, want 7", v)
	}
	if v := bindrt.GetField[*int64](runtimetest.BoxField("opt_int", "Optional<int>"), o); v != nil {
		t.Errorf("opt_int is %d, want nil", *v)
	}
	if v := bindrt.GetField[tvmffi.DataType](runtimetest.BoxField("dtype", "DataType"), o); v != tvmffi.Float32 {
		t.Errorf("dtype is %v, want float32", v)
	}
	if v := bindrt.GetField[tvmffi.Device](runtimetest.BoxField("device", "Device"), o); v != tvmffi.CPU {
		t.Errorf("device is %v, want cpu:0", v)
	}
	if v := bindrt.GetField[tvmffi.Pointer](runtimetest.BoxField("pointer", "void*"), o); v.Address != 0 {
		t.Errorf("pointer is %v, want null", v)
	}
	if v := b.Child(); v != nil {
		t.Errorf("child is %v, want nil", v)
	}
}

// set writes a field and reads it back.
func set[T any](t *testing.T, b *runtimetest.Box, name string, values ...T) {
	t.Helper()
	f := runtimetest.BoxField(name, "")
	for _, v := range values {
		if err := bindrt.SetField(f, bindrt.Ref(b), v); err != nil {
			t.Errorf("setting %s to %v fails: %v", name, v, err)
			continue
		}
		if got := bindrt.GetField[T](f, bindrt.Ref(b)); !reflect.DeepEqual(got, v) {
			t.Errorf("%s = %v reads %v", name, v, got)
		}
	}
}

func TestFieldWrites(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 1)
	set(t, b, "flag", false, true)
	set(t, b, "f64", 0.1, math.Inf(1), -math.MaxFloat64)
	set(t, b, "text", "", "short", "exactly", "exactly8", "another text of more than seven bytes", "with\x00NUL and more")
	set(t, b, "bytes", []byte{}, []byte{1, 2, 3, 4, 5, 6, 7}, bytes.Repeat([]byte{0}, 100))
	set(t, b, "opt_int", new(int64), (*int64)(nil))
	set(t, b, "opt_text", new(string), (*string)(nil))
	set(t, b, "numbers", []int64{}, []int64{4, 5})
	set(t, b, "table", map[string]int64{"x": 1}, map[string]int64{})
	set(t, b, "dtype", tvmffi.BFloat16)
	set(t, b, "device", tvmffi.CUDA(2))
	set(t, b, "pointer", tvmffi.Pointer{Address: 1 << 40})
	set(t, b, "any", any("text"), any(1.5), any(int64(2)), any(nil))

	double := func(x int64) (int64, error) { return 2 * x, nil }
	callback := runtimetest.BoxField("callback", "")
	if err := bindrt.SetField(callback, bindrt.Ref(b), double); err != nil {
		t.Fatal(err)
	}
	f := bindrt.GetField[*tvmffi.Function](callback, bindrt.Ref(b))
	if v, err := f.Call(4); err != nil || v.Value() != int64(8) {
		t.Errorf("the callback in the field returned %v, %v, want 8", v, err)
	}
	f.Release()
	if err := bindrt.SetField(callback, bindrt.Ref(b), (*tvmffi.Function)(nil)); err != nil {
		t.Error(err)
	}
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1, 2}))
	if err := bindrt.SetField(runtimetest.BoxField("tensor", ""), bindrt.Ref(b), x); err != nil || memstat.UseCount(x) != 2 {
		t.Errorf("%v, use count %d", err, memstat.UseCount(x))
	}
	if err := bindrt.SetField(runtimetest.BoxField("tensor", ""), bindrt.Ref(b), (*tvmffi.Tensor)(nil)); err != nil || memstat.UseCount(x) != 1 {
		t.Errorf("%v, use count %d", err, memstat.UseCount(x))
	}
	x.Release()
	b.Release()
}

func TestNarrowFields(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 1)
	defer b.Release()
	o := bindrt.Ref(b)
	for _, c := range []struct {
		name      string
		good, bad []int64
	}{
		{"i64", []int64{math.MinInt64, -1, 0, math.MaxInt64}, nil},
		{"i32", []int64{math.MinInt32, -1, 0, math.MaxInt32}, []int64{math.MinInt32 - 1, math.MaxInt32 + 1, math.MaxUint32, 1 << 40, math.MinInt64}},
		{"i16", []int64{math.MinInt16, -1, 0, math.MaxInt16}, []int64{math.MinInt16 - 1, math.MaxInt16 + 1, math.MaxUint16, 1 << 32}},
		{"i8", []int64{-128, -1, 0, 127}, []int64{-129, 128, 255, 300, 1 << 32}},
		{"u32", []int64{0, 1, math.MaxInt32, math.MaxUint32}, []int64{-1, math.MinInt32, math.MaxUint32 + 1, math.MinInt64}},
		{"u16", []int64{0, 1, math.MaxUint16}, []int64{-1, math.MaxUint16 + 1}},
		{"u8", []int64{0, 1, 255}, []int64{-1, -128, 256}},
	} {
		f := runtimetest.BoxField(c.name, "int")
		for _, v := range c.good {
			if err := bindrt.SetField(f, o, v); err != nil || f.Int(o) != v {
				t.Errorf("%s = %d reads %d, %v", c.name, v, f.Int(o), err)
			}
			for _, bad := range c.bad {
				runtimetest.WantError(t, bindrt.SetField(f, o, bad), tvmffi.ErrValue, "field calls.Box."+c.name, "does not fit an int of")
				if got := f.Int(o); got != v {
					t.Errorf("%s = %d changed the field from %d to %d", c.name, bad, v, got)
				}
			}
		}
	}
	// C++ takes no BigInt, which old libraries lack.
	runtimetest.WantError(t, bindrt.SetField(runtimetest.BoxField("u64", "int"), o, uint64(1<<63)), nil, "field calls.Box.u64", "int")

	f := runtimetest.BoxField("f32", "float")
	for _, v := range []float64{0.1, math.MaxFloat32, -math.MaxFloat32, math.Inf(1), math.Inf(-1), 1e-50} {
		if err := bindrt.SetField(f, o, v); err != nil || f.Float(o) != float64(float32(v)) {
			t.Errorf("f32 = %g reads %g, %v", v, f.Float(o), err)
		}
	}
	if err := bindrt.SetField(f, o, 0.25); err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{1e39, -1e300, math.MaxFloat64} {
		runtimetest.WantError(t, bindrt.SetField(f, o, v), tvmffi.ErrValue, "field calls.Box.f32", "does not fit a float of 4 bytes")
	}
	if err := bindrt.SetField(f, o, math.NaN()); err != nil || !math.IsNaN(f.Float(o)) {
		t.Error("NaN")
	}
}

func TestFieldErrors(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 1)
	o := bindrt.Ref(b)
	runtimetest.WantError(t, bindrt.SetField(runtimetest.BoxField("i64", "int"), o, "text"), tvmffi.ErrType)
	runtimetest.WantError(t, bindrt.SetField(runtimetest.BoxField("numbers", ""), o, []string{"x"}), tvmffi.ErrType)
	runtimetest.WantError(t, bindrt.SetField(runtimetest.BoxField("any", ""), o, make(chan int)), tvmffi.ErrType, "field calls.Box.any: Go type chan int")
	runtimetest.WantError(t, bindrt.SetField(runtimetest.BoxField("constant", "int"), o, int64(1)), tvmffi.ErrAttribute, "field calls.Box.constant is read-only")
	if v := runtimetest.BoxField("constant", "int").Int(o); v != 42 {
		t.Errorf("a read-only field was written: %d", v)
	}
	runtimetest.WantPanic(t, tvmffi.ErrAttribute, "calls.Box.nothing: no such field", func() { runtimetest.BoxField("nothing", "int").Int(o) })
	runtimetest.WantError(t, bindrt.SetField(runtimetest.BoxField("nothing", "int"), o, int64(1)), tvmffi.ErrAttribute, "calls.Box.nothing: no such field")
	runtimetest.WantPanic(t, tvmffi.ErrSchema, "calls.Box.i64 changed since the bindings were generated: they expect float, the loaded library has int", func() { runtimetest.BoxField("i64", "float").Float(o) })
	runtimetest.WantPanic(t, tvmffi.ErrType, "field calls.Box.text: expected int, got ffi.Str", func() { bindrt.GetField[int64](runtimetest.BoxField("text", ""), o) })
	b.Release()
	for name, read := range map[string]func(f *bindrt.Field){
		"i64": func(f *bindrt.Field) { f.Int(o) }, "f64": func(f *bindrt.Field) { f.Float(o) }, "flag": func(f *bindrt.Field) { f.Bool(o) },
		"text": func(f *bindrt.Field) { f.Text(o) }, "any": func(f *bindrt.Field) { bindrt.GetField[any](f, o) },
	} {
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, "field calls.Box."+name+": the receiver was released", func() { read(runtimetest.BoxField(name, "")) })
	}
}

func TestHandshake(t *testing.T) {
	runtimetest.Load(t)
	for _, c := range []struct {
		f    *bindrt.Func
		kind error
		text string
	}{
		{runtimetest.GlobalFunc("calls.add_one", "(float) -> int"), tvmffi.ErrSchema, "calls.add_one changed since the bindings were generated: they expect (float) -> int, the loaded library has (int) -> int; run go generate"},
		{runtimetest.GlobalFunc("calls.gone", "(int) -> int"), tvmffi.ErrAttribute, "calls.gone: no such global function: the loaded library differs from the one the bindings were generated from; run go generate"},
		{runtimetest.BoxMethod("gone", "(int) -> int"), tvmffi.ErrAttribute, "calls.Box.gone: no such method"},
		{runtimetest.BoxMethod("add", "(calls.Box) -> int"), tvmffi.ErrSchema, "calls.Box.add changed"},
		{runtimetest.ExportedFunc("gone", ""), tvmffi.ErrAttribute, "libcalls.so:gone: no such function of the module"},
		{runtimetest.ExportedFunc("triple", "(float) -> int"), tvmffi.ErrSchema, "libcalls.so:triple changed"},
		{&bindrt.Func{Library: &runtimetest.Calls, Module: "libother.so", Name: "f"}, tvmffi.ErrAttribute, "library libother.so is not among the files of the bindings"},
		{&bindrt.Func{Owner: &bindrt.Type{Library: &runtimetest.Calls, Key: "calls.Gone"}, Name: "f"}, tvmffi.ErrAttribute, "type calls.Gone is not registered"},
		{&bindrt.Func{Owner: &runtimetest.BoxType, Name: "__no_such__", Attribute: true}, tvmffi.ErrAttribute, "no such type attribute"},
	} {
		for range 2 { // the failure is reported again
			var call bindrt.Call1
			call.Begin(c.f, 1)
			call.Int(0, 1)
			runtimetest.WantError(t, call.Do(), c.kind, c.text)
		}
	}
	var c bindrt.Call1
	c.Begin(runtimetest.ExportedFunc("triple", "(int) -> int"), 1)
	c.Int(0, 14)
	if err := c.Do(); err != nil {
		t.Fatal(err)
	}
	if v, err := c.IntResult(); err != nil || v != 42 {
		t.Errorf("the call returned %d, %v, want 42", v, err)
	}
	var d bindrt.Call1
	d.Begin(runtimetest.GlobalFunc("calls.add_one", ""), 1)
	d.Int(0, 1)
	if err := d.Do(); err != nil {
		t.Fatal(err)
	}
	_, err := d.BoolResult()
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.add_one: result: expected bool, got int")
}
