package tvmffi_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

type layer struct {
	Name  string            `ffi:"name"`
	Sizes []int64           `ffi:"sizes,optional"`
	Extra map[string]string `ffi:"extra,optional"`
	Next  *layer            `ffi:"next,optional"`
}

type common struct {
	Version int `ffi:"version"`
}

type config struct {
	common
	Layers  []layer             `ffi:"layers"`
	ByName  map[string]layer    `ffi:"by_name,optional"`
	Scale   *float64            `ffi:"scale"`
	Box     *runtimetest.Box    `ffi:"box,optional"`
	Any     any                 `ffi:"any,optional"`
	DType   tvmffi.DataType     `ffi:"dtype,optional"`
	Ignored string              `ffi:"-"`
	Private func()              // no tag, no part
	Raw     tvmffi.Any          `ffi:"raw,optional"`
	Pair    [2]int32            `ffi:"pair"`
	Tuple   tvmffi.Tuple1[bool] `ffi:"tuple"`
}

func TestMarshal(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 3)
	half := 0.5
	in := config{
		common: common{3},
		Layers: []layer{{Name: "a", Sizes: []int64{1, 2}}, {Name: "b", Next: &layer{Name: "c", Extra: map[string]string{"k": "v"}}}},
		ByName: map[string]layer{"x": {Name: "d"}},
		Scale:  &half, Box: b, Any: "anything", Ignored: "not sent", Pair: [2]int32{4, 5}, Tuple: tvmffi.Tuple1[bool]{A: true},
	}
	m := runtimetest.Must[*tvmffi.Map[string, tvmffi.Any]](t)(tvmffi.MarshalMap(&in))
	if v, ok := m.Get("version"); !ok || v.Value() != int64(3) || m.Has("ignored") || m.Has("Ignored") || m.Has("raw") || m.Has("dtype") {
		t.Errorf("map %v", m)
	}
	out := config{Ignored: "kept"}
	if err := tvmffi.UnmarshalMap(m, &out); err != nil {
		t.Fatal(err)
	}
	if !tvmffi.Same(out.Box, b) || memstat.UseCount(b) != 3 {
		t.Errorf("use count %d", memstat.UseCount(b))
	}
	out.Box.Release()
	out.Box, in.Ignored = b, "kept"
	if !reflect.DeepEqual(in, out) {
		t.Errorf("got  %+v\nwant %+v", out, in)
	}
	m.Release()
	// As an argument, an element and a result.
	v := runtimetest.MustCall(t, "calls.echo", []layer{{Name: "one"}, {Name: "two", Sizes: []int64{2}}})
	layers := runtimetest.Must[[]layer](t)(tvmffi.As[[]layer](v))
	if len(layers) != 2 || layers[1].Name != "two" || layers[1].Sizes[0] != 2 {
		t.Errorf("the layers came back as %+v", layers)
	}
	v.Release()
	v = runtimetest.MustCall(t, "calls.echo", (*layer)(nil))
	if p := runtimetest.Must[*layer](t)(tvmffi.As[*layer](v)); p != nil {
		t.Error("nil is None")
	}
	d := runtimetest.Must[*tvmffi.Dict[string, any]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[string, any]{Key: "name", Value: "of a dict"}, tvmffi.Pair[string, any]{Key: "more", Value: 1}, tvmffi.Pair[string, any]{Key: "sizes"})))
	var l layer
	if err := tvmffi.UnmarshalMap(d, &l); err != nil || l.Name != "of a dict" {
		t.Errorf("UnmarshalMap of a Dict with None for sizes gives %+v, %v", l, err)
	}
	d.Release()
	b.Release()
}

// An object is read by its fields, inherited ones too.
func TestUnmarshalObject(t *testing.T) {
	runtimetest.Balanced(t)
	var fields struct {
		I64     int64            `ffi:"i64"`
		U8      uint8            `ffi:"u8"`
		Text    string           `ffi:"text"`
		Numbers []int64          `ffi:"numbers"`
		Table   map[string]int64 `ffi:"table"`
		Child   *tvmffi.Object   `ffi:"child"`
		None    *int64           `ffi:"opt_int"`
		Extra   int64            `ffi:"extra,optional"`
		Absent  int64            `ffi:"absent,optional"`
	}
	b := runtimetest.MakeBox(t, 11)
	if err := tvmffi.UnmarshalMap(b, &fields); err != nil {
		t.Fatal(err)
	}
	if fields.I64 != 11 || fields.U8 != 200 || len(fields.Numbers) != 3 || fields.Table["two"] != 2 || fields.Child != nil || fields.None != nil || fields.Extra != 0 {
		t.Errorf("the fields of the box are %+v", fields)
	}
	b.Release()
	sub := runtimetest.Must[*runtimetest.Box](t)(runtimetest.NewSubBox(12))
	if err := tvmffi.UnmarshalMap(sub, &fields); err != nil || fields.I64 != 12 || fields.Extra != 1 {
		t.Errorf("the fields of a SubBox are %+v, %v, want I64 12 and Extra 1", fields, err)
	}
	var wrong struct {
		Text int64 `ffi:"text"`
	}
	runtimetest.WantError(t, tvmffi.UnmarshalMap(sub, &wrong), tvmffi.ErrType, "TypeError: text: expected int, got ffi.Str")
	var absent struct {
		X int64 `ffi:"x"`
	}
	runtimetest.WantError(t, tvmffi.UnmarshalMap(sub, &absent), tvmffi.ErrKey, "KeyError: calls.SubBox has no x")
	sub.Release()
	runtimetest.WantError(t, tvmffi.UnmarshalMap(sub, &absent), tvmffi.ErrRuntime, "was released")
	runtimetest.WantError(t, tvmffi.UnmarshalMap(nil, &absent), tvmffi.ErrType, "is nil")
}

func TestMarshalErrors(t *testing.T) {
	runtimetest.Balanced(t)
	type bad struct {
		Layers []any `ffi:"layers"`
	}
	_, err := tvmffi.MarshalMap(bad{Layers: []any{1, map[string]any{"k": make(chan int)}}})
	runtimetest.WantError(t, err, tvmffi.ErrType, `TypeError: bad.layers[1]["k"]: Go type chan int: this type has no counterpart in TVM-FFI`)
	l := &layer{Name: "loop"}
	l.Next = l
	_, err = tvmffi.MarshalMap(l)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	for _, x := range []any{nil, 1, struct{ X int }{}, (*layer)(nil), []layer{}} {
		_, err = tvmffi.MarshalMap(x)
		runtimetest.WantError(t, err, tvmffi.ErrType, "expected a struct with ffi tags")
	}
	var twice struct {
		A int `ffi:"a"`
		B int `ffi:"a"`
	}
	_, err = tvmffi.MarshalMap(twice)
	runtimetest.WantError(t, err, tvmffi.ErrType, "two of its fields are named a")
	m := runtimetest.Must[*tvmffi.Map[string, any]](t)(tvmffi.NewMap(tvmffi.MapOf(map[string]any{
		"version": 1, "scale": nil, "pair": []int64{1, 2}, "tuple": []any{true},
		"layers": []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "sizes": []any{1, "two"}}},
	})))
	var c config
	err = tvmffi.UnmarshalMap(m, &c)
	runtimetest.WantError(t, err, tvmffi.ErrType, "TypeError: config.layers[1].sizes[1]: expected int, got ffi.SmallStr")
	var e *tvmffi.Error
	if !errors.As(err, &e) || c.Version != 1 {
		t.Error("what came before is set")
	}
	m.Release()
	for _, into := range []any{nil, c, new(int), (*config)(nil), new(struct{})} {
		runtimetest.WantError(t, tvmffi.UnmarshalMap(m, into), tvmffi.ErrType, "expected a pointer to a struct with ffi tags")
	}
	a := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1))
	runtimetest.WantError(t, tvmffi.UnmarshalMap(a, &c), tvmffi.ErrType, "expected ffi.Map, ffi.Dict or an object for tvmffi_test.config, got ffi.Array")
	a.Release()
	_, err = tvmffi.As[layer](runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(1)))
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected ffi.Map, ffi.Dict or an object for tvmffi_test.layer, got int")
}

// Inside has a field with a tag, and lies in another struct.
type Inside struct {
	X int64 `ffi:"x"`
}

// deep embeds a pointer to one.
type deep struct{ *Inside }

// TestMarshalLost uses structs of which a field could not cross, beside one that can.
func TestMarshalLost(t *testing.T) {
	hidden := struct {
		x int64 `ffi:"x"`
		Y int64 `ffi:"y"`
	}{1, 2}
	for _, c := range []struct {
		from, into any
		text       string
	}{
		{hidden, &hidden, "field x: it has a tag, but is not exported"},
		{struct {
			*Inside
			Y int64 `ffi:"y"`
		}{&Inside{1}, 2}, new(struct {
			*Inside
			Y int64 `ffi:"y"`
		}), "field Inside: it embeds the pointer *tvmffi_test.Inside, whose fields would be left out"},
		{struct {
			deep
			Y int64 `ffi:"y"`
		}{deep{&Inside{1}}, 2}, new(struct {
			*deep
			Y int64 `ffi:"y"`
		}), ": it embeds the pointer *tvmffi_test."},
		{struct {
			X int64 `,ffi:"x"`
			Y int64 `ffi:"y"`
		}{1, 2}, new(struct {
			X int64 `,ffi:"x"`
			Y int64 `ffi:"y"`
		}), "field X: the tag ,ffi:\"x\" is malformed"},
	} {
		_, err := tvmffi.MarshalMap(c.from)
		runtimetest.WantError(t, err, tvmffi.ErrType, c.text)
		m := runtimetest.Must[*tvmffi.Map[string, tvmffi.Any]](t)(tvmffi.MarshalMap(Inside{1}))
		runtimetest.WantError(t, tvmffi.UnmarshalMap(m, c.into), tvmffi.ErrType, c.text)
		m.Release()
	}
	// A struct without tags has no field that could be lost, and a tag gives an embedded pointer a place.
	type plain struct{ X int64 }
	both := struct {
		*plain
		*Inside `ffi:"in"`
	}{&plain{1}, &Inside{2}}
	m := runtimetest.Must[*tvmffi.Map[string, tvmffi.Any]](t)(tvmffi.MarshalMap(both))
	if text := m.String(); text != `{"in": {"x": 2}}` {
		t.Error(text)
	}
	m.Release()
}

// TestUnmarshalDefaults reads a Map without the entries of fields that have a default.
func TestUnmarshalDefaults(t *testing.T) {
	runtimetest.Balanced(t)
	type defaults struct {
		Age   int8            `ffi:"age,default=7"`
		Note  *string         `ffi:"note,default=a, b"`
		Wait  time.Duration   `ffi:"wait,default=1.5s"`
		DType tvmffi.DataType `ffi:"dtype,default=float32"`
		Some  int64           `ffi:"some,optional,default=3"`
	}
	empty := runtimetest.Must[*tvmffi.Map[string, any]](t)(tvmffi.NewMap(tvmffi.MapOf(map[string]any{})))
	var got, other defaults
	for _, into := range []*defaults{&got, &other} {
		if err := tvmffi.UnmarshalMap(empty, into); err != nil {
			t.Fatal(err)
		}
	}
	if want := (defaults{7, new("a, b"), 1500 * time.Millisecond, tvmffi.Float32, 3}); !reflect.DeepEqual(got, want) || got.Note == other.Note {
		t.Errorf("the defaults are %+v, want %+v", got, want)
	}
	m := runtimetest.Must[*tvmffi.Map[string, tvmffi.Any]](t)(tvmffi.MarshalMap(defaults{}))
	if err := tvmffi.UnmarshalMap(m, &got); err != nil || !reflect.DeepEqual(got, defaults{}) {
		t.Errorf("zeros came back as %+v, %v: what is zero is not the default", got, err)
	}
	m.Release()
	for text, into := range map[string]any{
		`field Age: the default "x" is not a valid int64`: &struct {
			Age int64 `ffi:"age,default=x"`
		}{},
		"list: a tag cannot hold a default of the Go type []int64": &struct {
			List []int64 `ffi:"list,default=x"`
		}{},
		"dtype: unknown dtype `floot32`": &struct {
			DType tvmffi.DataType `ffi:"dtype,default=floot32"`
		}{},
		`unknown option "optinal"`: &struct {
			Age int64 `ffi:"age,optinal"`
		}{},
	} {
		if err := tvmffi.UnmarshalMap(empty, into); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
	empty.Release()
}

// TestMarshal_sign: a field that is -0.0 is not left out, for its sign would be lost.
func TestMarshal_sign(t *testing.T) {
	runtimetest.Load(t)
	type inner struct {
		X float32 `ffi:"x"`
	}
	type zeros struct {
		Float   float64    `ffi:"float,optional"`
		Array   [2]float32 `ffi:"array,optional"`
		Struct  inner      `ffi:"struct,optional"`
		Complex complex64  `ffi:"complex,optional"`
		Plus    float64    `ffi:"plus,optional"`
	}
	minus := math.Copysign(0, -1)
	in := zeros{minus, [2]float32{0, float32(minus)}, inner{float32(minus)}, complex(0, float32(minus)), 0}
	m := runtimetest.Must[*tvmffi.Map[string, tvmffi.Any]](t)(tvmffi.MarshalMap(&in))
	defer m.Release()
	var out zeros
	if err := tvmffi.UnmarshalMap(m, &out); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]float64{"float": out.Float, "array": float64(out.Array[1]), "struct": float64(out.Struct.X), "complex": float64(imag(out.Complex))} {
		if !math.Signbit(v) {
			t.Errorf("%s is %v, want -0.0", name, v)
		}
	}
	if m.Has("plus") || math.Signbit(out.Plus) {
		t.Errorf("0.0 was not left out of %v", m)
	}
}

// TestUnmarshal_again: what MarshalMap leaves out is zero again, also in a struct that was used before.
func TestUnmarshal_again(t *testing.T) {
	runtimetest.Load(t)
	type used struct {
		Name    string   `ffi:"name"`
		Age     int64    `ffi:"age,optional"`
		Pointer *int64   `ffi:"pointer,optional"`
		List    []int64  `ffi:"list,optional"`
		Default string   `ffi:"default,optional,default=d"`
		Within  struct{} // has no tag, so it is left alone
		Other   int
	}
	age := int64(7)
	for _, entries := range [][]tvmffi.Pair[string, any]{{{"name", "new"}}, {{"name", "new"}, {"age", nil}, {"pointer", nil}, {"list", nil}}} {
		m := runtimetest.Must[*tvmffi.Map[string, any]](t)(tvmffi.NewMap(tvmffi.PairsOf(entries...)))
		x := used{"old", age, &age, []int64{1}, "old", struct{}{}, 5}
		err := tvmffi.UnmarshalMap(m, &x)
		if want := (used{Name: "new", Default: "d", Other: 5}); err != nil || !reflect.DeepEqual(x, want) {
			t.Errorf("%v became %+v (%v), want %+v", entries, x, err, want)
		}
		m.Release()
	}
}
