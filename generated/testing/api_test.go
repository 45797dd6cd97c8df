package testing_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary()
	os.Exit(m.Run())
}

// load loads the libraries of the tests.
func load(t testing.TB) {
	t.Helper()
	if err := lib.Load(tvmffi.WithLibrary(nativetest.Library(t)), tvmffi.WithFile(nativetest.Testing(t))); err != nil {
		t.Fatal(err)
	}
}

// TestLoadChecked compares all items with the library that they were made from.
func TestLoadChecked(t *testing.T) {
	load(t)
	if err := lib.LoadChecked(); err != nil && nativetest.Version() == wheel.DefaultVersion {
		t.Error(err)
	}
}

// functions has a test for every generated function, by its Go name. The test of package
// generated checks that none is missing and that each calls its function.
var functions = map[string]func(*testing.T){
	// Scalars.
	"AddOne": func(t *testing.T) { check.Returns(lib.AddOne(41))(t, 42) },
	"SchemaIDInt": func(t *testing.T) {
		for _, v := range []int64{0, -1, 1<<63 - 1, -1 << 63} {
			check.Returns(lib.SchemaIDInt(v))(t, v)
		}
	},
	"SchemaIDFloat": func(t *testing.T) {
		for _, v := range []float64{0, -1.5, 1e308, 5e-324} {
			check.Returns(lib.SchemaIDFloat(v))(t, v)
		}
	},
	"SchemaIDBool": func(t *testing.T) {
		check.Returns(lib.SchemaIDBool(true))(t, true)
		check.Returns(lib.SchemaIDBool(false))(t, false)
	},
	"SchemaIDString": func(t *testing.T) {
		for _, n := range []int{0, 7, 8, 32, 63, 64, 65, 4096, 1 << 20} {
			s := strings.Repeat("ä", n)[:n]
			check.Returns(lib.SchemaIDString(s))(t, s)
		}
		check.Returns(lib.SchemaIDString("a NUL \x00 inside a text"))(t, "a NUL \x00 inside a text")
	},
	"SchemaIDBytes": func(t *testing.T) {
		for _, n := range []int{0, 7, 8, 1 << 16} {
			b := slices.Repeat([]byte{0xff}, n)
			check.Returns(lib.SchemaIDBytes(b))(t, b)
		}
	},
	"SchemaIDDevice": func(t *testing.T) {
		check.Returns(lib.SchemaIDDevice(tvmffi.CPU))(t, tvmffi.CPU)
		check.Returns(lib.SchemaIDDevice(tvmffi.CUDA(3)))(t, tvmffi.CUDA(3))
	},
	"SchemaIDDtype": func(t *testing.T) {
		for _, v := range []tvmffi.DataType{tvmffi.Bool, tvmffi.Int8, tvmffi.BFloat16, tvmffi.Float64, {Code: 2, Bits: 32, Lanes: 4}} {
			check.Returns(lib.SchemaIDDtype(v))(t, v)
		}
	},
	"SchemaNoArgs":         func(t *testing.T) { check.Returns(lib.SchemaNoArgs())(t, 1) },
	"SchemaNoArgsNoReturn": func(t *testing.T) { check.OK(t, lib.SchemaNoArgsNoReturn()) },
	"SchemaNoReturn":       func(t *testing.T) { check.OK(t, lib.SchemaNoReturn(7)) },

	// Exports of the library as a module.
	"TestingDllSchemaIDInt":          func(t *testing.T) { check.Returns(lib.TestingDllSchemaIDInt(-7))(t, -7) },
	"TestingDllTestAddWithDocstring": func(t *testing.T) { check.Returns(lib.TestingDllTestAddWithDocstring(40, 2))(t, 42) },

	// Any, Optional and Variant.
	"SchemaIDAny":           testAny,
	"SchemaIDOptInt":        testOptInt,
	"SchemaIDOptStr":        testOptStr,
	"SchemaIDOptObj":        testOptObj,
	"SchemaIDVariantIntStr": testVariantIntStr,
	"SchemaVariantMix":      testVariantMix,

	// Functions.
	"SchemaIDFunc":      testFunc,
	"SchemaIDFuncTyped": testFuncTyped,

	// Packed functions. Echo reads its first argument without a check of their number,
	// and Apply reads it as a function, so the tests always pass one.
	"Echo": func(t *testing.T) {
		check.Returns(tvmffi.As[int64](check.Value(lib.Echo(3, "ignored"))(t)))(t, 3)
		check.Returns(tvmffi.As[string](check.Value(lib.Echo("a text of some length"))(t)))(t, "a text of some length")
		if v := check.Value(lib.Echo(nil))(t); !v.IsNone() {
			t.Errorf("nil came back as %v", v)
		}
		many := make([]any, 129)
		many[0] = 2.5
		check.Returns(tvmffi.As[float64](check.Value(lib.Echo(many[:128]...))(t)))(t, 2.5)
		_, err := lib.Echo(many...)
		check.Fails(t, err, tvmffi.ErrType, "129 arguments", "limit")
	},
	"Apply": testApply,
	"Nop": func(t *testing.T) {
		for _, args := range [][]any{nil, {1}, {"a", nil, 2.5, []int64{1}}} {
			if v := check.Value(lib.Nop(args...))(t); !v.IsNone() {
				t.Errorf("%v gave %v", args, v)
			}
		}
	},
	"SchemaPacked": func(t *testing.T) {
		if v := check.Value(lib.SchemaPacked(1, "b", nil))(t); !v.IsNone() {
			t.Errorf("got %v", v)
		}
	},

	// Objects.
	"SchemaIDObject": func(t *testing.T) {
		pair := newPair(t, 1, 2)
		defer pair.Release()
		same := check.Value(lib.SchemaIDObject(pair))(t)
		defer same.Release()
		if !tvmffi.Same(pair, same) || memstat.UseCount(pair) != 2 {
			t.Errorf("same %v, %d references", tvmffi.Same(pair, same), memstat.UseCount(pair))
		}
	},
	"ObjectUseCount": func(t *testing.T) {
		pair := newPair(t, 1, 2)
		defer pair.Release()
		check.Returns(lib.ObjectUseCount(pair))(t, 1)
		second := tvmffi.Retain(pair)
		check.Returns(lib.ObjectUseCount(pair))(t, 2)
		second.Release()
		check.Returns(lib.ObjectUseCount(pair))(t, 1)
	},
	"TestIntPairSum": func(t *testing.T) {
		pair := newPair(t, 40, 2)
		defer pair.Release()
		check.Returns(lib.TestIntPairSum(pair))(t, 42)
	},
	"MakeUnregisteredObject": func(t *testing.T) {
		o := check.Value(lib.MakeUnregisteredObject())(t)
		defer o.Release()
		derived, ok := tvmffi.Cast[*lib.TestUnregisteredObject](o)
		if !ok || derived.V1() != 41 || derived.V2() != 42 {
			t.Errorf("got %v", o)
		}
	},
	"EnumVariantGet": func(t *testing.T) {
		for i, name := range []string{"Alpha", "Beta"} {
			e := check.Value(lib.EnumVariantGet(name))(t)
			check.Equal(t, e.StrIndex(), name)
			check.Equal(t, e.IntIndex(), int64(i))
			if _, ok := tvmffi.Cast[*lib.TestEnumVariant](e); !ok {
				t.Errorf("%v is not a TestEnumVariant", e)
			}
			e.Release()
		}
		_, err := lib.EnumVariantGet("Gamma")
		check.Fails(t, err, tvmffi.ErrValue, "Gamma", "testing.TestEnumVariant")
	},
	"MakeVisitRegionGraph": func(t *testing.T) {
		plain := check.Value(lib.MakeVisitRegionGraph(false))(t)
		defer plain.Release()
		regions := check.Value(tvmffi.As[*lib.TestVisitRegions](plain))(t)
		check.Equal(t, [3]int64{regions.Simple(), regions.Pattern(), regions.Ordinary()}, [3]int64{1, 2, 3})
		hooked := check.Value(lib.MakeVisitRegionGraph(true))(t)
		defer hooked.Release()
		hook := check.Value(tvmffi.As[*lib.TestVisitHook](hooked))(t)
		child := hook.Child()
		defer child.Release()
		check.Equal(t, tvmffi.TypeKey(child), "testing.TestVisitRegions")
		_, err := tvmffi.As[*lib.TestVisitRegions](hooked)
		check.Fails(t, err, tvmffi.ErrType, "testing.TestVisitRegions", "testing.TestVisitHook")
	},

	// Errors, signals and addresses.
	"TestRaiseError": testRaiseError,
	"RunCheckSignal": func(t *testing.T) { check.OK(t, lib.RunCheckSignal(0)) },
	"GetAddOneCSymbol": func(t *testing.T) {
		if v := check.Value(lib.GetAddOneCSymbol())(t); v == 0 {
			t.Error("the address is 0")
		}
	},
	"GetMLIRAddOneCSymbol": func(t *testing.T) {
		plain := check.Value(lib.GetAddOneCSymbol())(t)
		if v := check.Value(lib.GetMLIRAddOneCSymbol())(t); v == 0 || v == plain {
			t.Errorf("the address is %#x, the address of the plain symbol %#x", v, plain)
		}
	},
}

func init() {
	for name, test := range containerFunctions {
		functions[name] = test
	}
}

func TestFunctions(t *testing.T) {
	load(t)
	const generated = 61 // 59 of the registry and 2 that the library exports
	if len(functions) != generated {
		t.Errorf("%d functions have a test, %d are generated", len(functions), generated)
	}
	for name, test := range functions {
		t.Run(name, test)
	}
}

func newPair(t testing.TB, a, b int64) *lib.TestIntPair {
	t.Helper()
	return check.Value(lib.NewTestIntPair(a, b))(t)
}

func testAny(t *testing.T) {
	pair := newPair(t, 1, 2)
	defer pair.Release()
	for _, c := range []struct {
		in   any
		want any
		key  string
	}{
		{nil, nil, "None"},
		{7, int64(7), "int"},
		{uint8(7), int64(7), "int"},
		{true, true, "bool"},
		{float32(2.5), 2.5, "float"},
		{"text", "text", "ffi.String"},
		{"a text that does not fit", "a text that does not fit", "ffi.String"},
		{[]byte("bytes"), []byte("bytes"), "ffi.Bytes"},
		{tvmffi.CUDA(1), tvmffi.CUDA(1), "Device"},
		{tvmffi.Float16, tvmffi.Float16, "DataType"},
		{tvmffi.Pointer{Address: 64}, tvmffi.Pointer{Address: 64}, "void*"},
		{new(int64(3)), int64(3), "int"},
		{(*int64)(nil), nil, "None"},
		{(*lib.TestIntPair)(nil), nil, "None"},
	} {
		v := check.Value(lib.SchemaIDAny(c.in))(t)
		check.Equal(t, v.Value(), c.want)
		check.Equal(t, v.TypeKey(), c.key)
	}
	v := check.Value(lib.SchemaIDAny(pair))(t)
	defer v.Release()
	same := check.Value(tvmffi.As[*lib.TestIntPair](v))(t)
	if !tvmffi.Same(same, pair) || same.B() != 2 {
		t.Errorf("got %v", v)
	}
	again := check.Value(lib.SchemaIDAny(v))(t)
	defer again.Release()
	check.Equal(t, again.TypeKey(), "testing.TestIntPair")

	for _, c := range []struct {
		in     any
		key    string
		nested any
	}{
		{[]int64{1, 2}, "ffi.Array", []int64{1, 2}},
		{map[string]int64{"a": 1}, "ffi.Map", nil},
		{tvmffi.Of("a", "b"), "ffi.Array", nil},
		{tvmffi.Tuple2[int64, string]{A: 1, B: "b"}, "ffi.Array", nil},
	} {
		v := check.Value(lib.SchemaIDAny(c.in))(t)
		check.Equal(t, v.TypeKey(), c.key)
		if c.nested != nil {
			check.Returns(tvmffi.As[[]int64](v))(t, c.nested.([]int64))
		}
		v.Release()
	}

	// A value without a counterpart is refused before the call, with its type.
	_, err := lib.SchemaIDAny(make(chan int))
	check.Fails(t, err, tvmffi.ErrType, "testing.schema_id_any", "chan int")
	_, err = lib.SchemaIDAny(struct{ X int }{1})
	check.Fails(t, err, tvmffi.ErrType, "testing.schema_id_any", "struct")
	// As is strict; Convert converts like the library.
	number := check.Value(lib.SchemaIDAny(7))(t)
	_, err = tvmffi.As[float64](number)
	check.Fails(t, err, tvmffi.ErrType, "float", "int")
	_, err = tvmffi.As[string](number)
	check.Fails(t, err, tvmffi.ErrType, "ffi.String", "int")
	_, err = tvmffi.As[*lib.TestIntPair](number)
	check.Fails(t, err, tvmffi.ErrType, "testing.TestIntPair", "int")
	check.Returns(tvmffi.Convert[float64](number))(t, 7)
}

func testOptInt(t *testing.T) {
	check.Returns(lib.SchemaIDOptInt(new(int64(3))))(t, new(int64(3)))
	check.Returns(lib.SchemaIDOptInt(nil))(t, nil)
}

func testOptStr(t *testing.T) {
	check.Returns(lib.SchemaIDOptStr(new("a text of some length")))(t, new("a text of some length"))
	check.Returns(lib.SchemaIDOptStr(new("")))(t, new(""))
	check.Returns(lib.SchemaIDOptStr(nil))(t, nil)
}

func testOptObj(t *testing.T) {
	pair := newPair(t, 1, 2)
	defer pair.Release()
	same := check.Value(lib.SchemaIDOptObj(pair))(t)
	defer same.Release()
	if !tvmffi.Same(pair, same) {
		t.Errorf("got %v", same)
	}
	check.Returns(lib.SchemaIDOptObj(nil))(t, nil)
	check.Returns(lib.SchemaIDOptObj((*lib.TestIntPair)(nil)))(t, nil)
}

func testVariantIntStr(t *testing.T) {
	v := check.Value(lib.SchemaIDVariantIntStr(lib.IntOrStringOfInt(5)))(t)
	if n, ok := v.AsInt(); !ok || n != 5 {
		t.Errorf("got %v, %v", n, ok)
	}
	if s, ok := v.AsString(); ok {
		t.Errorf("an int is the string %q", s)
	}
	v = check.Value(lib.SchemaIDVariantIntStr(lib.IntOrStringOfString("a text of some length")))(t)
	if s, ok := v.AsString(); !ok || s != "a text of some length" {
		t.Errorf("got %q, %v", s, ok)
	}
	if n, ok := v.AsInt(); ok {
		t.Errorf("a string is the int %d", n)
	}
}

func testVariantMix(t *testing.T) {
	v := check.Value(lib.SchemaVariantMix(lib.IntOrStringOrIntArrayOfInt(5)))(t)
	if n, ok := v.AsInt(); !ok || n != 5 {
		t.Errorf("got %v, %v", n, ok)
	}
	v = check.Value(lib.SchemaVariantMix(lib.IntOrStringOrIntArrayOfString("s")))(t)
	if s, ok := v.AsString(); !ok || s != "s" {
		t.Errorf("got %q, %v", s, ok)
	}
	if _, ok := v.AsIntArray(); ok {
		t.Error("a string is an array")
	}
	array := check.Value(tvmffi.NewArray[int64](4, 5))(t)
	defer array.Release()
	for _, in := range []tvmffi.ArrayArg[int64]{tvmffi.Of[int64](4, 5), array} {
		v = check.Value(lib.SchemaVariantMix(lib.IntOrStringOrIntArrayOfIntArray(in)))(t)
		out, ok := v.AsIntArray()
		if !ok {
			t.Fatalf("%T did not come back as an array", in)
		}
		check.Returns(out.Slice())(t, []int64{4, 5})
		out.Release()
	}
}

func testFunc(t *testing.T) {
	double := check.Value(tvmffi.FuncOf(func(x int64) (int64, error) { return 2 * x, nil }))(t)
	defer double.Release()
	same := check.Value(lib.SchemaIDFunc(double))(t)
	defer same.Release()
	if !tvmffi.Same(double, same) {
		t.Error("another function came back")
	}
	check.Returns(tvmffi.As[int64](check.Value(same.Call(21))(t)))(t, 42)
}

func testFuncTyped(t *testing.T) {
	var seen []string
	note := errors.New("enough")
	callback := func(n int64, f float64, g *tvmffi.Function) error {
		seen = append(seen, fmt.Sprint(n, f, g != nil))
		if n < 0 {
			return note
		}
		if g == nil {
			return nil
		}
		_, err := g.Call(n)
		return err
	}
	f := check.Value(lib.SchemaIDFuncTyped(callback))(t)
	var got int64
	inner := check.Value(tvmffi.FuncOf(func(x int64) error { got = x; return nil }))(t)
	defer inner.Release()
	check.OK(t, f(7, 2.5, inner))
	check.OK(t, f(8, 0, nil))
	if got != 7 {
		t.Errorf("the inner function got %d", got)
	}
	// The Go error crosses C++ twice and is still the same one.
	if err := f(-1, 0, nil); !errors.Is(err, note) {
		t.Errorf("got %v", err)
	}
	if want := []string{"7 2.5 true", "8 0 false", "-1 0 false"}; !slices.Equal(seen, want) {
		t.Errorf("the callback saw %q, want %q", seen, want)
	}
	// A func that came from a Function goes back as it, so this adds no layer.
	again := check.Value(lib.SchemaIDFuncTyped(f))(t)
	check.OK(t, again(9, 1, nil))
	panicking := check.Value(lib.SchemaIDFuncTyped(func(int64, float64, *tvmffi.Function) error { panic("no") }))(t)
	check.Fails(t, panicking(1, 1, nil), tvmffi.ErrRuntime, "panic", "no")
}

func testApply(t *testing.T) {
	add := check.Value(tvmffi.FuncOf(func(x, y int64) (int64, error) { return x + y, nil }))(t)
	defer add.Release()
	check.Returns(tvmffi.As[int64](check.Value(lib.Apply(add, 40, 2))(t)))(t, 42)
	// A Go func is as good as a Function.
	join := func(a, b string) (string, error) { return a + b, nil }
	check.Returns(tvmffi.As[string](check.Value(lib.Apply(join, "a long text ", "and another"))(t)))(t, "a long text and another")
	failure := errors.New("from Go")
	if _, err := lib.Apply(func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	_, err := lib.Apply(add, "x", 2)
	check.Fails(t, err, tvmffi.ErrType, "argument 0", "int")
	_, err = lib.Apply(add, 1)
	check.Fails(t, err, tvmffi.ErrType, "2", "1")
}

func testRaiseError(t *testing.T) {
	for kind, target := range map[string]error{
		"ValueError": tvmffi.ErrValue, "TypeError": tvmffi.ErrType, "IndexError": tvmffi.ErrIndex,
		"KeyError": tvmffi.ErrKey, "RuntimeError": tvmffi.ErrRuntime, "AttributeError": tvmffi.ErrAttribute,
		"SomethingElse": tvmffi.KindError("SomethingElse"), "": tvmffi.KindError(""),
	} {
		err := lib.TestRaiseError(kind, "the message, of some length")
		check.Fails(t, err, target, "the message, of some length")
		var e *tvmffi.Error
		if errors.As(err, &e) {
			check.Equal(t, e.Kind, kind)
			check.Equal(t, e.Message, "the message, of some length")
			if !strings.Contains(e.Backtrace, "TestRaiseError") {
				t.Errorf("the backtrace does not name the C++ function: %q", e.Backtrace)
			}
		}
		if errors.Is(err, tvmffi.ErrMemory) {
			t.Errorf("a %s is a MemoryError", kind)
		}
	}
}
