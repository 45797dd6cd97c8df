package reflection_test

import (
	"errors"
	"testing"

	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/schema"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// constructor returns the constructor of a type, or skips the test: libraries
// before 0.1.11 make none of the fields.
func constructor(t testing.TB, key string) *reflection.Constructor {
	t.Helper()
	c, err := typeByKey(t, key).Constructor()
	if err != nil {
		t.Skip(err)
	}
	return c
}

func TestConstructor(t *testing.T) {
	if !atLeast(11) {
		t.Skip("the library declares these constructors, or has none")
	}
	for key, want := range map[string]string{
		"garden.Rose":                           "garden.Rose(color: ffi.String, height: float = ..., petals: int = ...)",
		"testing.TestIntPair":                   "testing.TestIntPair(int, int)",
		"testing.TestCxxAutoInit":               "testing.TestCxxAutoInit(a: int, d: int = ..., *, c: int)",
		"testing.TestCxxKwOnly":                 "testing.TestCxxKwOnly(*, x: int, y: int, z: int, w: int = ...)",
		"testing.TestCxxAutoInitChild":          "testing.TestCxxAutoInitChild(parent_required: int, child_required: int, parent_default: int = ..., *, child_kw_only: int)",
		"testing.TestCxxAutoInitAllInitOff":     "testing.TestCxxAutoInitAllInitOff()",
		"testing.TestCxxAutoInitKwOnlyDefaults": "testing.TestCxxAutoInitKwOnlyDefaults(p_required: int, p_default: int = ..., *, k_required: int, k_default: int = ...)",
	} {
		t.Run(key, func(t *testing.T) {
			if got := constructor(t, key).String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// named is a part of an error that older libraries leave out.
func named(text string) string {
	if !atLeast(14) {
		return ""
	}
	return text
}

func TestConstruct(t *testing.T) {
	leaktest.Check(t)
	constructor(t, "testing.TestCxxAutoInit")
	type kw = reflection.Kwargs
	for _, c := range []struct {
		key  string
		args []any
		want string // the object or a part of the error
		kind error
	}{
		{"testing.TestIntPair", []any{1, 2}, "testing.TestIntPair(a=1, b=2)", nil},
		{"testing.TestIntPair", []any{1, 2, kw{}}, "testing.TestIntPair(a=1, b=2)", nil},
		{"testing.TestIntPair", []any{1}, "testing.TestIntPair.__ffi_init__() takes 2 arguments, but 1 were given", tvmffi.ErrType},
		{"testing.TestIntPair", []any{1, kw{"b": 2}}, "takes its arguments by position", tvmffi.ErrType},
		{"testing.TestIntPair", []any{1, "x"}, "TestIntPair", tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{1, kw{"c": 3}}, "testing.TestCxxAutoInit(a=1, b=42, c=3, d=99)", nil},
		{"testing.TestCxxAutoInit", []any{1, 4, kw{"c": 3}}, "testing.TestCxxAutoInit(a=1, b=42, c=3, d=4)", nil},
		{"testing.TestCxxAutoInit", []any{kw{"a": 1, "c": 3}}, "testing.TestCxxAutoInit(a=1, b=42, c=3, d=99)", nil},
		{"testing.TestCxxAutoInit", []any{kw{"c": 3}}, "testing.TestCxxAutoInit.__ffi_init__() missing required argument: 'a'", tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{1}, "testing.TestCxxAutoInit.__ffi_init__() missing required keyword-only argument: 'c'", tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{1, 2, 3}, "testing.TestCxxAutoInit.__ffi_init__() takes at most 2 positional argument(s), but 3 were given", tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{1, kw{"c": 3, "b": 1}}, "testing.TestCxxAutoInit.__ffi_init__() got an unexpected keyword argument 'b'", tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{1, kw{"a": 2, "c": 3}}, "testing.TestCxxAutoInit.__ffi_init__() got multiple values for argument 'a'", tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{"one", kw{"c": 3}}, named("'a'"), tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{make(chan int)}, "testing.TestCxxAutoInit.__ffi_init__() argument 0", tvmffi.ErrType},
		{"testing.TestCxxAutoInit", []any{1, kw{"c": make(chan int)}}, "testing.TestCxxAutoInit.__ffi_init__() argument 'c'", tvmffi.ErrType},
		{"testing.TestCxxAutoInitAllInitOff", nil, "testing.TestCxxAutoInitAllInitOff(x=7, y=9, z=", nil},
		{"testing.TestCxxAutoInitAllInitOff", []any{1}, "takes at most 0 positional argument(s), but 1 were given", tvmffi.ErrType},
		{"testing.TestCxxNoAutoInit", nil, "`testing.TestCxxNoAutoInit` cannot be constructed directly", tvmffi.ErrType},
		{"int", nil, "`int` cannot be constructed directly", tvmffi.ErrType},
	} {
		x, err := typeByKey(t, c.key).Construct(c.args...)
		if c.kind != nil {
			wantError(t, c.key, err, c.kind, c.want)
			continue
		}
		if err != nil {
			t.Errorf("%s%v: %v", c.key, c.args, err)
			continue
		}
		if got := x.String(); len(got) < len(c.want) || got[:len(c.want)] != c.want {
			t.Errorf("%s%v: %s, want %s", c.key, c.args, got, c.want)
		}
		x.Release()
	}
}

func TestNew(t *testing.T) {
	leaktest.Check(t)
	type kw = reflection.Kwargs
	for _, c := range []struct {
		key    string
		fields kw
		want   string
		kind   error
	}{
		{"garden.Rose", kw{"color": "blue"}, `garden.Rose(height=1, color="blue", petals=5)`, nil}, // color is read-only
		{"garden.Rose", kw{"color": "blue and more than that", "petals": 1, "height": 2}, `garden.Rose(height=2, color="blue and more than that", petals=1)`, nil},
		{"testing.TestIntPair", kw{"a": 1, "b": true}, "testing.TestIntPair(a=1, b=1)", nil},
		{"testing.TestCxxNoAutoInit", kw{"x": 1, "y": 2}, "testing.TestCxxNoAutoInit(x=1, y=2)", nil},
		{"garden.Rose", nil, "Required field `color` not set in type `garden.Rose`", tvmffi.ErrType},
		{"garden.Rose", kw{"color": "blue", "thorns": 3}, "Type `garden.Rose` does not have field `thorns`", tvmffi.ErrType},
		// Up to 0.1.13 the library itself would leave the field empty.
		{"garden.Rose", kw{"color": 7}, "garden.Rose: field 'color': Cannot convert from type `int` to `str`", tvmffi.ErrType},
		{"garden.Rose", kw{"color": "x", "height": "tall"}, "garden.Plant: field 'height'", tvmffi.ErrType},
		{"garden.Rose", kw{"color": nil}, "garden.Rose: field 'color'", tvmffi.ErrType},
		{"garden.Rose", kw{"color": make(chan int)}, "garden.Rose: field 'color'", tvmffi.ErrType},
		{"testing.TestNonCopyable", kw{"value": 1}, "Type `testing.TestNonCopyable` does not support reflection creation (no native creator or __ffi_new__ type attr)", tvmffi.ErrRuntime},
		{"int", nil, "does not support reflection creation", tvmffi.ErrRuntime},
	} {
		x, err := typeByKey(t, c.key).New(c.fields)
		if c.kind != nil {
			wantError(t, c.key, err, c.kind, c.want)
			continue
		}
		if err != nil || x.String() != c.want {
			t.Errorf("%s%v: %v, %v", c.key, c.fields, x, err)
		}
		x.Release()
	}
	if got := call(t, "garden.alive"); got.Value() != int64(0) {
		t.Errorf("%v plants are left", got)
	}
}

// A default that a factory makes is made when it is needed, and each time.
func TestNew_factory(t *testing.T) {
	leaktest.Check(t)
	typ := oddType(t, "odd.Node")
	made := func() int64 { return call(t, "odd.factories").Value().(int64) }
	before := made()
	f := fieldOf(t, typ, "list")
	if !f.HasDefault() || made() != before {
		t.Errorf("has default: %v, made %d", f.HasDefault(), made()-before)
	}
	for range 2 {
		d, err := f.Default()
		if err != nil || d.TypeKey() != "ffi.Array" {
			t.Fatalf("default: %v, %v", d, err)
		}
		d.Release()
	}
	if n := made() - before; n != 2 && f.Flags()&schema.FlagDefaultFromFactory != 0 {
		t.Errorf("the factory was called %d times", n)
	}
	_, err := fieldOf(t, typeByKey(t, "garden.Rose"), "color").Default()
	wantError(t, "color", err, tvmffi.ErrAttribute, "field garden.Rose.color has no default")
}

// A type that the program only knows by its key (B8-17).
func TestUnknownObject(t *testing.T) {
	load(t)
	leaktest.Check(t)
	v := call(t, "testing.make_unregistered_object")
	defer v.Release()
	x := v.Value().(*tvmffi.Object)
	sum, err := reflection.ValueOf(x).Call("get_v1_plus_one")
	more, err2 := reflection.ValueOf(x).Call("get_v2_plus_two")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if v1, err := reflection.Get[int64](x, "v1"); err != nil || sum.Value() != v1+1 {
		t.Errorf("v1 %v, method %v, %v", v1, sum, err)
	}
	if v2, err := reflection.Get[int64](x, "v2"); err != nil || more.Value() != v2+2 {
		t.Errorf("v2 %v, method %v, %v", v2, more, err)
	}
	if reflection.TypeOf(x).Parent().Key() != "testing.TestUnregisteredBaseObject" {
		t.Errorf("parent %v", reflection.TypeOf(x).Parent())
	}
}

// An enum whose entries stand for numbers or texts.
func TestEnum_payload(t *testing.T) {
	oddType(t, "odd.Node")
	level, err := typeByKey(t, "odd.Level").Enum()
	if errors.Is(err, tvmffi.ErrType) {
		t.Skipf("the library has no such enums: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if x, err := level.ByName("high"); err != nil || x.Payload() != int64(70) {
		t.Errorf("high: %v, %v", x, err)
	}
	if x, err := level.ByIndex(-1); err != nil || x.Name != "low" {
		t.Errorf("-1: %v, %v", x, err)
	}
	color, err := typeByKey(t, "odd.Color").Enum()
	if err != nil {
		t.Fatal(err)
	}
	if x, err := color.ByIndex(0); err != nil || x.Payload() != "red" {
		t.Errorf("0: %v, %v", x, err)
	}
}

// New of every type of the registry is an object or an error.
func TestNew_everyType(t *testing.T) {
	load(t)
	all, err := reflection.Types()
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for typ := range all {
		if x, err := typ.New(nil); err == nil {
			made++
			if reflection.TypeOf(x) != typ {
				t.Errorf("New of %v made %v", typ, reflection.TypeOf(x))
			}
			x.Release()
		}
		if x, err := typ.Construct(make([]any, 100)...); err == nil {
			t.Errorf("%v takes 100 arguments", typ)
			x.Release()
		}
	}
	if made < 3 {
		t.Errorf("%d types can be made without fields", made)
	}
}
