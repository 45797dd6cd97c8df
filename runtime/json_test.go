package tvmffi_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/defined"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

func TestParseJSON(t *testing.T) {
	runtimetest.Balanced(t)
	for _, c := range []struct{ text, want string }{
		{`null`, "None"}, {`true`, "True"}, {`1`, "1"}, {`-9223372036854775808`, "-9223372036854775808"}, {`1.0`, "1"}, {`1e3`, "1000"},
		{`NaN`, "nan"}, {`-Infinity`, "-inf"}, {`01`, "1"}, {`+1`, "1"}, {`.5`, "0.5"}, {`1.`, "1"},
		{`{"b":1,"a":[]}`, `{"b": 1, "a": ()}`}, {` [1, {"k": "v"}] `, `(1, {"k": "v"})`}, {`"\u0041\ud83d\ude00"`, `"A`},
	} {
		x, err := tvmffi.ParseJSON[tvmffi.Any]([]byte(c.text))
		s, failed := tvmffi.Repr(x)
		if err != nil || failed != nil || s != c.want && !strings.HasPrefix(s, c.want) {
			t.Errorf("%s is %s, want %s; %v, %v", c.text, s, c.want, err, failed)
		}
		x.Release()
	}
	for _, c := range []struct{ text, want string }{
		{``, "line 1 column 1 (char 0)"}, {`[1,`, "line 1 column 4 (char 3)"}, {"{\n\"k\" 1}", "line 2 column"}, {`"abc`, "Unterminated string"}, {`1 2`, "Extra data"},
		{strings.Repeat("[", 100000), "nested deeper than 1000 levels"}, {strings.Repeat(`{"k":`, 100000), "nested deeper than 1000 levels"},
	} {
		_, err := tvmffi.ParseJSON[tvmffi.Any]([]byte(c.text))
		runtimetest.WantError(t, err, tvmffi.ErrValue, c.want)
	}
	x := runtimetest.Must[tvmffi.Any](t)(tvmffi.ParseJSON[tvmffi.Any]([]byte(`"` + strings.Repeat("[", 5000) + `\"` + strings.Repeat("[", 5000) + `"`)))
	if len(x.String()) != 10001 {
		t.Error("brackets in a string are not nested")
	}
	n, err := tvmffi.ParseJSON[map[string][]int]([]byte(`{"k":[1,2]}`))
	if err != nil || len(n["k"]) != 2 {
		t.Errorf("ParseJSON returned %v, %v, want two numbers at k", n, err)
	}
	_, err = tvmffi.ParseJSON[int64]([]byte(`"x"`))
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected int")
}

func TestStringifyJSON(t *testing.T) {
	runtimetest.Balanced(t)
	for _, c := range []struct {
		x      any
		indent int
		want   string
	}{
		{nil, 0, "null"}, {0.1, 0, "0.10000000000000001"}, {2.0, 0, "2.0"}, {math.NaN(), 0, "NaN"}, {"a/b", 0, `"a\/b"`}, {[]any{1, true}, 0, "[1,true]"},
		{map[string]any{"k": 1}, 2, "{\n  \"k\": 1\n}"}, {[]any{}, 2, "[\n]"},
	} {
		if b, err := tvmffi.StringifyJSON(c.x, c.indent); err != nil || string(b) != c.want {
			t.Errorf("%v is %q, want %q; %v", c.x, b, c.want, err)
		}
	}
	l := runtimetest.NewLoop(t)
	_, err := tvmffi.StringifyJSON(l, 0)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	runtimetest.EndLoop(t, l)
	_, err = tvmffi.StringifyJSON(tvmffi.Float32, 0)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "Unsupported type: `DataType`")
	_, err = tvmffi.StringifyJSON(1, -1)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "an indent of -1")
}

// Each value has the text of its row, which is read back, or none.
func TestMarshalJSON_values(t *testing.T) {
	runtimetest.Balanced(t)
	runtimetest.Values(t, func(r values.Row, x any) {
		v := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(x))
		defer v.Release()
		text, err := json.Marshal(v)
		if (err == nil) != (r.JSON != "") || string(text) != r.JSON {
			t.Errorf("%s is %s, %v, want %s", r.Name, text, err, r.JSON)
		}
		if err != nil {
			return
		}
		var back tvmffi.Any
		if err := back.UnmarshalJSON(text); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != r.JSON {
			t.Errorf("%s was read and written as %s, %v", r.Name, again, err)
		}
		back.Release()
	})
}

func TestMarshalJSON(t *testing.T) {
	runtimetest.LoadProgram(t)
	a := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](1, 2.0, "é<\n", nil, []byte("bytes"), tvmffi.Float32, tvmffi.CPU, map[int]any{3: true}))
	l := runtimetest.NewList(t, 1, a)
	m := runtimetest.Must[*tvmffi.Map[string, any]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[string, any]{Key: "z", Value: l}, tvmffi.Pair[string, any]{Key: "a", Value: nil})))
	d := runtimetest.Must[*tvmffi.Dict[any, any]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[any, any]{Key: true, Value: 1})))
	type all struct {
		A *tvmffi.Array[any]
		M *tvmffi.Map[string, any]
		D *tvmffi.Dict[any, any]
		N *tvmffi.List[any]
		X tvmffi.Any
	}
	in := all{A: a, M: m, D: d, X: runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf("x"))}
	want := `{"A":[1,2.0,"é\u003c\n",null,"Ynl0ZXM=","float32","cpu:0",{"3":true}],` +
		`"M":{"z":[1,[1,2.0,"é\u003c\n",null,"Ynl0ZXM=","float32","cpu:0",{"3":true}]],"a":null},"D":{"True":1},"N":null,"X":"x"}`
	if b, err := json.Marshal(in); err != nil || string(b) != strings.Replace(want, "True", "true", 1) {
		t.Errorf("json.Marshal gives\n%s, %v, want\n%s", b, err, want)
	}
	// Objects go by their fields.
	x := runtimetest.NewVar(t, "x")
	f := runtimetest.NewFunc(t, []any{x}, []any{1})
	if b, err := json.Marshal(f); err != nil || string(b) != `{"params":[{"name":"x"}],"body":[1],"note":null}` {
		t.Errorf("json.Marshal of an object gives %s, %v", b, err)
	}
	if b, err := json.Marshal((*runtimetest.Node)(nil)); err != nil || string(b) != `null` {
		t.Errorf("json.Marshal of a nil object gives %s, %v, want null", b, err)
	}
	bx := runtimetest.MakeBox(t, 1)
	_, err := json.Marshal(bx) // it has a pointer
	runtimetest.WantError(t, err, tvmffi.ErrType, "field pointer: void* has no form in JSON")
	fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup("calls.nop"))
	for _, c := range []struct {
		x    any
		want string
	}{{[]any{fn}, "element 0: ffi.Function has no form in JSON"}, {map[string]any{"k": fn}, `value of key "k"`}} {
		v := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(c.x))
		_, err := json.Marshal(v)
		runtimetest.WantError(t, err, tvmffi.ErrType, c.want)
		v.Release()
	}
	// encoding/json would write U+FFFD for what is not UTF-8, and make one key of two.
	for _, c := range []struct {
		x    any
		want string
	}{
		{[]string{"a long text \xed\xa0\x80"}, "element 0: the text"}, {map[string]string{"k": "\xff"}, `value of key "k": the text`},
	} {
		v := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(c.x))
		for _, x := range []any{v, tvmffi.VariantOf(c.x)} {
			_, err := json.Marshal(x)
			runtimetest.WantError(t, err, tvmffi.ErrValue, c.want)
		}
		v.Release()
	}
	if b, err := json.Marshal(runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf("\ufffd"))); string(b) != `"`+"\ufffd"+`"` || err != nil {
		t.Errorf("json.Marshal of U+FFFD gives %s, %v", b, err)
	}
	ring := runtimetest.NewLoop(t)
	_, err = json.Marshal(ring)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	runtimetest.EndLoop(t, ring)
	for _, o := range []interface{ Release() }{a, l, m, d, x, f, bx, fn} {
		o.Release()
	}
	_, err = json.Marshal(a)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
}

func TestUnmarshalJSON(t *testing.T) {
	runtimetest.Balanced(t)
	var v struct{ A, B tvmffi.Any }
	if err := json.Unmarshal([]byte(`{"A":{"k":[1,2.5,"x",null,true]},"B":7}`), &v); err != nil {
		t.Fatal(err)
	}
	if s, err := tvmffi.Repr(v.A); s != `{"k": (1, 2.5, "x", None, True)}` || err != nil || v.B.Value() != any(int64(7)) {
		t.Errorf("A is %s, %v, and B %v, want 7", s, err, v.B)
	}
	if b, err := json.Marshal(v); err != nil || string(b) != `{"A":{"k":[1,2.5,"x",null,true]},"B":7}` {
		t.Errorf("json.Marshal gives %s, %v, want the text that was read", b, err)
	}
	v.A.Release()
	runtimetest.WantError(t, json.Unmarshal([]byte(`{"A":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`), &v), tvmffi.ErrValue, "nested deeper")
}

type grown struct {
	A int64 `ffi:"a"`
}

var grownType = define.Object[grown]("gotest.Grown")

// A library that is loaded later may add fields to a type whose objects were read;
// the library then moves the entries of all.
func TestFieldsThatAreAddedLater(t *testing.T) {
	runtimetest.Load(t)
	if err := grownType.Register(); err != nil { // with 0.1.9 its constructor is a Go value that stays
		t.Fatal(err)
	}
	runtimetest.Balanced(t)
	x := runtimetest.Must[*define.Instance[grown]](t)(grownType.New(grown{A: 3}))
	defer x.Release()
	want := func(want string) {
		t.Helper()
		if text, err := json.Marshal(x); err != nil || string(text) != want {
			t.Errorf("%s, want %s; %v", text, want, err)
		}
	}
	want(`{"a":3}`)
	index, err := registry.IndexOfKey("gotest.Grown")
	if err != nil {
		t.Fatal(err)
	}
	capi.Registry.Lock()
	d := &defined.Type{Key: "gotest.Grown", Info: capi.InfoOf(index)}
	f := &defined.Field{
		Name: "b", Metadata: `{"type_schema":"{\"type\":\"int\"}"}`, Offset: abi.ObjectSize,
		Accept: defined.Accept{Kind: defined.KindInt64, Expected: "int"},
	}
	err = f.Prepare()
	if err == nil {
		err = d.AddField(f)
	}
	capi.Registry.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	want(`{"a":3,"b":3}`)
}
