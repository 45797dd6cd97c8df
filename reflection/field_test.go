package reflection_test

import (
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// fieldOf finds a field.
func fieldOf(t testing.TB, typ *reflection.Type, name string) *reflection.Field {
	t.Helper()
	f, err := typ.FieldByName(name)
	return must(t, f, err)
}

// TestField_allocations: a field that was found is read without allocation.
func TestField_allocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	typ, x := typeByKey(t, "garden.Rose"), rose(t)
	defer x.Release()
	height, petals := fieldOf(t, typ, "height"), fieldOf(t, typ, "petals")
	if n := testing.AllocsPerRun(100, func() { petals.Int(x); height.Float(x) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if v, err := petals.Get(x); err != nil || v.IsNone() {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("Get of an int: %v allocations", n)
	}
}

func TestField_typed(t *testing.T) {
	leaktest.Check(t)
	typ := typeByKey(t, "garden.Rose")
	x := rose(t)
	defer x.Release()
	height, color, petals := fieldOf(t, typ, "height"), fieldOf(t, typ, "color"), fieldOf(t, typ, "petals")
	if height.Float(x) != 0.5 || color.Text(x) != "red" || petals.Int(x) != 40 {
		t.Errorf("%v: %v, %q, %v", x, height.Float(x), color.Text(x), petals.Int(x))
	}
	if height.Owner() != typ.Parent() || height.String() != "garden.Plant.height" || height.Doc() != "The height in metres." || !height.Writable() || color.Writable() || height.KwOnly() || !height.InInit() {
		t.Errorf("%v: %v, %q", height, height.Owner(), height.Doc())
	}
	tulip, err := typeByKey(t, "garden.Tulip").New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tulip.Release()
	for range 2 { // a field of the parent reads both types in turn
		if height.Float(tulip) != 1 || height.Float(x) != 0.5 {
			t.Error("height")
		}
	}
	released := rose(t)
	released.Release()
	for what, c := range map[string]struct {
		f    func()
		kind error
		text string
	}{
		"a tulip":    {func() { petals.Int(tulip) }, tvmffi.ErrType, "field garden.Rose.petals: expected garden.Rose, got garden.Tulip"},
		"nil":        {func() { petals.Int(nil) }, tvmffi.ErrType, "field garden.Rose.petals: the object is nil"},
		"typed nil":  {func() { petals.Int((*tvmffi.Object)(nil)) }, tvmffi.ErrType, "the object is nil"},
		"released":   {func() { petals.Float(released) }, tvmffi.ErrRuntime, "field garden.Rose.petals: the object was released"},
		"wrong type": {func() { color.Int(x) }, tvmffi.ErrType, "garden.Rose.color"},
		"text":       {func() { petals.Text(x) }, tvmffi.ErrType, "garden.Rose.petals"},
		"bool":       {func() { petals.Bool(x) }, tvmffi.ErrType, "garden.Rose.petals"},
	} {
		wantError(t, what, panicOf(t, c.f), c.kind, c.text)
	}
}

func TestValue(t *testing.T) {
	leaktest.Check(t)
	x := rose(t)
	defer x.Release()
	v := reflection.ValueOf(x)
	if got, err := v.Get("petals"); err != nil || got.Value() != int64(40) {
		t.Errorf("petals: %v, %v", got, err)
	}
	if got, err := reflection.Get[string](x, "color"); err != nil || got != "red" {
		t.Errorf("color: %v, %v", got, err)
	}
	if err := errors.Join(v.Set("petals", 7), v.Set("height", 2)); err != nil { // int to float, as C++ does
		t.Error(err)
	}
	if got, err := v.Call("pluck", 3); err != nil || got.Value() != int64(4) {
		t.Errorf("pluck: %v, %v", got, err)
	}
	if got, err := v.Call("grow", 0.5); err != nil || got.Value() != 2.5 {
		t.Errorf("grow: %v, %v", got, err)
	}
	species, err := v.Call("species")
	if err != nil || species.String() == "" {
		t.Errorf("species: %v, %v", species, err)
	}
	species.Release()
	if v.String() != `garden.Rose(height=2.5, color="red", petals=4)` || !v.IsValid() || v.Type().Key() != "garden.Rose" || v.Ref() != tvmffi.ObjectRef(x) {
		t.Errorf("%v", v)
	}
	var all []any
	for f, value := range v.Fields() {
		all = append(all, f.Name(), value.Value())
	}
	if want := []any{"height", 2.5, "color", "red", "petals", int64(4)}; len(all) != 6 || all[1] != want[1] || all[3] != want[3] || all[5] != want[5] {
		t.Errorf("fields: %v", all)
	}

	_, err = v.Get("thorns")
	wantError(t, "no field", err, tvmffi.ErrAttribute, "garden.Rose has no field thorns")
	wantError(t, "set no field", v.Set("thorns", 1), tvmffi.ErrAttribute, "garden.Rose has no field thorns")
	wantError(t, "misspelt field", v.Set("petal", 1), tvmffi.ErrAttribute, "garden.Rose has no field petal; did you mean petals?")
	_, err = v.Call("pluk")
	wantError(t, "misspelt method", err, tvmffi.ErrAttribute, "garden.Rose has no method pluk; did you mean pluck?")
	_, err = reflection.TypeByKey("garden.Roze")
	wantError(t, "misspelt type", err, tvmffi.ErrInternal, "there is no type garden.Roze: load the library that registers it first; did you mean garden.Rose?")
	_, err = v.Call("wither")
	wantError(t, "no method", err, tvmffi.ErrAttribute, "garden.Rose has no method wither")
	_, err = v.Call("pluck", 99)
	wantError(t, "a method that throws", err, tvmffi.ErrIndex, "cannot pluck 99 of 4 petals")
	_, err = v.Call("pluck", "all")
	wantError(t, "a wrong argument", err, tvmffi.ErrType, "pluck")
	_, err = v.Call("pluck")
	wantError(t, "an argument missing", err, tvmffi.ErrType, "pluck")
	_, err = v.Call("pluck", make(chan int))
	wantError(t, "a channel", err, tvmffi.ErrType, "argument 1")
	wantError(t, "read-only", v.Set("color", "blue"), tvmffi.ErrAttribute, "field garden.Rose.color is read-only")
	wantError(t, "text for int", v.Set("petals", "many"), tvmffi.ErrType, "field garden.Rose.petals: Cannot convert from type `ffi.SmallStr` to `int`")
	wantError(t, "a channel", v.Set("petals", make(chan int)), tvmffi.ErrType, "field garden.Rose.petals")
	_, err = reflection.Get[float64](x, "petals")
	wantError(t, "no float", err, tvmffi.ErrType, "field garden.Rose.petals: expected float, got int")
	if got := reflection.ValueOf(x).String(); got != `garden.Rose(height=2.5, color="red", petals=4)` {
		t.Errorf("after errors: %v", got)
	}
	pluck, err := typeByKey(t, "garden.Rose").MethodByName("pluck")
	if err != nil {
		t.Fatal(err)
	}
	_, err = pluck.Call(nil, 1)
	wantError(t, "a method of nil", err, tvmffi.ErrType, "garden.Rose.pluck: the object is nil")
	list, err := tvmffi.NewList[int64]()
	if err != nil {
		t.Fatal(err)
	}
	defer list.Release()
	_, err = pluck.Call(list, 1)
	wantError(t, "a method of a list", err, tvmffi.ErrType, "garden.Rose.pluck: expected garden.Rose, got ffi.List")
}

// TestMethod_function: a method has one Function, which remembers whether its calls are brief, and which nobody ends.
func TestMethod_function(t *testing.T) {
	pluck := must2(t, func() (*reflection.Method, error) { return typeByKey(t, "garden.Rose").MethodByName("pluck") })
	x := rose(t)
	defer x.Release()
	f := must2(t, pluck.Func)
	f.Release()
	if again := must2(t, pluck.Func); again != f {
		t.Error("a method has two Functions")
	}
	if _, err := f.Call(x, 1); err != nil {
		t.Error(err)
	}
}

// TestMethod_brief: the metadata of a method may say whether it is brief.
func TestMethod_brief(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the type is there for light calls")
	}
	runtimetest.Load(t)
	typ := must2(t, func() (*reflection.Type, error) { return reflection.TypeByKey("light.Odd") })
	for name, want := range map[string]bool{"unsaid": false, "always": true, "never": false, "brief": false} {
		m := must2(t, func() (*reflection.Method, error) { return typ.MethodByName(name) })
		if got := objects.StateOf(must2(t, m.Func)).Way().Light(); got != want {
			t.Errorf("%s: light is %t", m, got)
		}
		// It stays so until the program asks for light calls. A call with two long texts is a slow one, and C++ refuses them.
		text := strings.Repeat("x", 1<<10)
		for range 50 {
			if _, err := must2(t, m.Func).Call(text, text); !errors.Is(err, tvmffi.ErrType) {
				t.Fatalf("%s of two texts: %v", m, err)
			}
		}
		if got := objects.StateOf(must2(t, m.Func)).Way().Light(); got != want {
			t.Errorf("%s: light is %t after 50 calls", m, got)
		}
	}
}

func TestValue_none(t *testing.T) {
	load(t)
	released := rose(t)
	released.Release()
	for what, c := range map[string]struct {
		v    reflection.Value
		kind error
	}{
		"zero":      {reflection.Value{}, tvmffi.ErrType},
		"nil":       {reflection.ValueOf(nil), tvmffi.ErrType},
		"typed nil": {reflection.ValueOf((*tvmffi.Object)(nil)), tvmffi.ErrType},
		"released":  {reflection.ValueOf(released), tvmffi.ErrRuntime},
	} {
		if c.v.IsValid() || c.v.Type() != nil || c.v.String() == "" {
			t.Errorf("%s is valid", what)
		}
		_, err := c.v.Get("petals")
		wantError(t, what+": get", err, c.kind, "petals: the object")
		wantError(t, what+": set", c.v.Set("petals", 1), c.kind, "petals: the object")
		_, err = c.v.Call("pluck", 1)
		wantError(t, what+": call", err, c.kind, "pluck: the object")
		wantError(t, what+": fields", panicOf(t, func() {
			for range c.v.Fields() {
				t.Error("a field")
			}
		}), c.kind, "the object")
		w := reflection.Walk(c.v.Ref())
		for range w.All() {
			t.Error("a step")
		}
		wantError(t, what+": walk", w.Err(), c.kind, "walk: the object")
	}
}

// All forms of fields, by the library's own example of all types.
func TestField_allTypes(t *testing.T) {
	leaktest.Check(t)
	typ := typeByKey(t, "testing.SchemaAllTypes")
	made, err := typ.MethodByName("make_with")
	if err != nil {
		t.Fatal(err)
	}
	any, err := made.Call(nil, 3, 1.5, "a text of more than seven bytes")
	if err != nil {
		t.Fatal(err)
	}
	defer any.Release()
	x := any.Value().(*tvmffi.Object)
	v := reflection.ValueOf(x)
	for name, value := range map[string]interface{}{
		"v_bool": true, "v_int": int64(-5), "v_float": 2.5, "v_device": tvmffi.Device{Type: 2, ID: 1}, "v_dtype": tvmffi.DataType{Code: 2, Bits: 32, Lanes: 4},
		"v_string": "another text of more than seven", "v_opt_int": int64(8), "v_opt_str": "maybe",
	} {
		if err := v.Set(name, value); err != nil {
			t.Errorf("set %s: %v", name, err)
		}
		if got, err := v.Get(name); err != nil || got.Value() != value {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if err := errors.Join(v.Set("v_bytes", []byte("bytes")), v.Set("v_arr_int", []int64{1, 2}), v.Set("v_map_str_int", map[string]int64{"a": 1}), v.Set("v_variant", "text"), v.Set("v_opt_str", nil)); err != nil {
		t.Error(err)
	}
	if got, err := reflection.Get[[]int64](x, "v_arr_int"); err != nil || len(got) != 2 || got[1] != 2 {
		t.Errorf("array: %v, %v", got, err)
	}
	if got, err := reflection.Get[map[string]int64](x, "v_map_str_int"); err != nil || got["a"] != 1 {
		t.Errorf("map: %v, %v", got, err)
	}
	if got, err := reflection.Get[*string](x, "v_opt_str"); err != nil || got != nil {
		t.Errorf("optional: %v, %v", got, err)
	}
	wantError(t, "int for text", v.Set("v_string", 1), tvmffi.ErrType, "Cannot convert from type `int` to `str`")
	wantError(t, "elements", v.Set("v_arr_int", []string{"a"}), tvmffi.ErrType, "Array")
	wantError(t, "None", v.Set("v_arr_int", nil), tvmffi.ErrType, "None")
	if f := fieldOf(t, typ, "v_bool"); f.Metadata()["bool_attr"] != true || !f.Bool(x) {
		t.Errorf("metadata: %v", f.Metadata())
	}
}

func TestField_narrow(t *testing.T) {
	leaktest.Check(t)
	typ := oddType(t, "odd.Narrow")
	x, err := typ.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	if i8, u8 := fieldOf(t, typ, "i8"), fieldOf(t, typ, "u8"); i8.Int(x) != -8 || u8.Int(x) != 8 || i8.Size() != 1 {
		t.Errorf("%v", x)
	}
	v := reflection.ValueOf(x)
	for _, c := range []struct {
		name  string
		value int64
		fits  bool
	}{
		{"i8", 127, true}, {"i8", -128, true}, {"i8", 128, false}, {"i8", 300, false},
		{"u8", 255, true}, {"u8", -1, false}, {"u8", 256, false},
		{"i16", -32768, true}, {"i16", 40000, false},
		{"u32", math.MaxUint32, true}, {"u32", -1, false}, {"u32", 1 << 32, false},
		{"i64", math.MinInt64, true},
		{"u64", math.MaxInt64, true}, {"u64", -1, false}, {"u64", math.MinInt64, false},
	} {
		before, err := v.Get(c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = v.Set(c.name, c.value)
		got, failed := v.Get(c.name)
		if failed != nil {
			t.Fatal(failed)
		}
		if c.fits && (err != nil || got.Value() != c.value) {
			t.Errorf("%s = %d: %v, %v", c.name, c.value, got, err)
		}
		if !c.fits {
			wantError(t, c.name, err, tvmffi.ErrValue, "does not fit an ")
			if got.Value() != before.Value() {
				t.Errorf("%s changed to %v", c.name, got)
			}
		}
		made, err := typ.New(reflection.Kwargs{c.name: c.value})
		if (err == nil) != c.fits {
			t.Errorf("New(%s = %d): %v", c.name, c.value, err)
		}
		if err == nil {
			made.Release()
		}
		if _, none := typ.Constructor(); none != nil {
			continue // an old library makes no constructors
		}
		made, err = typ.Construct(reflection.Kwargs{c.name: c.value})
		if (err == nil) != c.fits || err != nil && !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("Construct(%s = %d): %v", c.name, c.value, err)
		}
		if err == nil {
			made.Release()
		}
	}
	wantError(t, "f32", v.Set("f32", 1e300), tvmffi.ErrValue, "does not fit a float of 4 bytes")
	if err := v.Set("f32", math.Inf(1)); err != nil {
		t.Error(err)
	}
}

// The getter of C++ refuses a number beyond int64, and so does every reader in Go: none takes it for one below 0.
func TestField_unsigned(t *testing.T) {
	leaktest.Check(t)
	typ := oddType(t, "odd.Most")
	v := call(t, "odd.most")
	x, err := tvmffi.As[*tvmffi.Object](v)
	defer must(t, x, err).Release()
	most, few := fieldOf(t, typ, "most"), fieldOf(t, typ, "few")
	_, err = most.Get(x)
	wantError(t, "Get", err, tvmffi.ErrOverflow, "18446744073709551615")
	_, err = reflection.GetAs[int64](most, x)
	wantError(t, "GetAs", err, tvmffi.ErrOverflow, "18446744073709551615")
	wantError(t, "Int", panicOf(t, func() { most.Int(x) }), tvmffi.ErrOverflow, "18446744073709551615")
	wantError(t, "fields", panicOf(t, func() {
		for range reflection.ValueOf(x).Fields() {
		}
	}), tvmffi.ErrOverflow, "18446744073709551615")
	_, err = json.Marshal(x)
	wantError(t, "JSON", err, tvmffi.ErrOverflow, "18446744073709551615")
	if got := few.Int(x); got != 7 {
		t.Errorf("few is %d", got)
	}
}

// Float reads an int only if it is a float64.
func TestField_floatOfInt(t *testing.T) {
	leaktest.Check(t)
	typ := oddType(t, "odd.Narrow")
	x, err := typ.New(nil)
	defer must(t, x, err).Release()
	f := fieldOf(t, typ, "i64")
	for _, c := range []struct {
		n  int64
		is bool
	}{{1 << 53, true}, {1<<53 + 1, false}, {-1<<53 - 1, false}, {math.MinInt64, true}, {math.MaxInt64, false}, {1<<53 + 2, true}} {
		must(t, 0, f.Set(x, c.n))
		var got float64
		err := panicOf(t, func() { got = f.Float(x) })
		if c.is && (err != nil || got != float64(c.n)) {
			t.Errorf("%d: %v, %v", c.n, got, err)
		}
		if !c.is {
			wantError(t, "Float", err, tvmffi.ErrType, "is not a float64")
		}
	}
}

// A getter that fails, a setter that refuses.
func TestField_hooks(t *testing.T) {
	nativetest.OneCompiler(t)
	leaktest.Check(t)
	x := nodeWithComputed(t)
	defer x.Release()
	v := reflection.ValueOf(x)
	got, err := v.Get("computed")
	if err != nil || got.String() != "((1,), (1,))" {
		t.Errorf("computed: %v, %v", got, err)
	}
	got.Release()
	err = v.Set("computed", 1)
	var refused *tvmffi.Error
	if !errors.As(err, &refused) || len(refused.Frames()) == 0 {
		t.Errorf("the frames of the setter are lost: %+v", err)
	}
	if err == nil || err.Error() != "PermissionError: field odd.Node.computed: the setter refuses" {
		t.Errorf("set: %v", err)
	}
	call(t, "odd.fail", true)
	defer call(t, "odd.fail", false)
	_, err = v.Get("computed")
	wantError(t, "get", err, tvmffi.ErrValue, "field odd.Node.computed: the getter fails")
	wantError(t, "fields", panicOf(t, func() {
		for range v.Fields() {
		}
	}), tvmffi.ErrValue, "the getter fails")
	w := reflection.Walk(x)
	steps := 0
	for range w.All() {
		steps++
	}
	wantError(t, "walk", w.Err(), tvmffi.ErrValue, "<root>.computed: the getter fails")
	if steps == 0 {
		t.Error("the walk did not begin")
	}
}
