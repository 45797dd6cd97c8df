package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func wrapSchema(t testing.TB, schema string) string {
	t.Helper()
	text, err := json.Marshal(map[string]string{"type_schema": schema})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParseMetadata(t *testing.T) {
	const idInt = `{"type_schema":"{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[{\"type\":\"int\"}],\"params\":[{\"type\":\"int\"}]}}","bool_attr":true,"int_attr":1,"str_attr":"hello"}`
	m, err := ParseMetadata(idInt)
	if err != nil {
		t.Fatal(err)
	}
	want := Metadata{HasType: true,
		Type: TypeSchema{Name: "ffi.Function", Func: &Signature{
			Params: []Param{{Type: TypeSchema{Name: "int"}}}, Return: TypeSchema{Name: "int"}}},
		Extra: map[string]any{"bool_attr": true, "int_attr": int64(1), "str_attr": "hello"}}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}

	m, err = ParseMetadata(`{"f":1.5,"big":9223372036854775808,"list":[1,{"a":null}]}`)
	if err != nil || m.HasType {
		t.Fatalf("%+v, %v", m, err)
	}
	if m.Extra["f"] != 1.5 || m.Extra["big"] != 9223372036854775808.0 || m.Extra["list"] != `[1,{"a":null}]` {
		t.Errorf("extra values: %v", m.Extra)
	}
	m, err = ParseMetadata(`{"zero":-0,"least":-9223372036854775808}`)
	if zero, ok := m.Extra["zero"].(float64); err != nil || !ok || !math.Signbit(zero) || m.Extra["least"] != int64(math.MinInt64) {
		t.Errorf("extra values: %v, %v", m.Extra, err)
	}
	for _, empty := range []string{"", "  ", "{}", `{"type_schema":null}`, `{"type_schema":""}`} {
		if m, err := ParseMetadata(empty); err != nil || m.HasType {
			t.Errorf("%q: %+v, %v", empty, m, err)
		}
	}
	direct := `{"type":"ffi.Function","args":[{"type":"int"},{"type":"ffi.Array"}]}`
	for _, text := range []string{direct, `{"type_schema":` + direct + `}`, wrapSchema(t, direct)} {
		m, err := ParseMetadata(text)
		if err != nil || m.Type.Func.String() != "(ffi.Array) -> int" {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
	// "type" beside other keys is the user's own entry.
	m, err = ParseMetadata(`{"type":"kernel","author":"me"}`)
	if err != nil || m.HasType || m.Extra["type"] != "kernel" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestParseTypeSchema(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"ffi.Function","named_args":{"return":[{"type":"None"}],"params":[]}}`, "() -> None"},
		{`{"type":"ffi.Map","args":[{"type":"ffi.String"},{"type":"ffi.Array","args":[{"type":"int"}]}]}`, "ffi.Map<ffi.String, ffi.Array<int>>"},
		{`{"type":"ffi.Function","named_args":{"return":[{"type":"None"}],"params":[{"type":"int"},{"type":"float"},{"type":"ffi.Function"}]}}`, "(int, float, ffi.Function) -> None"},
		{`{"type":"ffi.Function","named_args":{"return":[{"type":"Optional","args":[{"type":"ffi.VisitInterrupt"}]}],"params":[{"type":"Any"},{"type":"ffi.Array","args":[{"type":"Tuple","args":[{"type":"int"},{"type":"ffi.Function"}]}]},{"type":"ffi.Array","args":[{"type":"Tuple","args":[{"type":"int"},{"type":"ffi.Function"}]}]},{"type":"int"}]}}`,
			"(Any, ffi.Array<Tuple<int, ffi.Function>>, ffi.Array<Tuple<int, ffi.Function>>, int) -> Optional<ffi.VisitInterrupt>"},
		{`{"type":"ffi.Function","args":[{"type":"int"},{"type":"ffi.Array"}]}`, "(ffi.Array) -> int"},
		{`{"type":"ffi.Function"}`, "ffi.Function"},
		{`{"type":"ffi.Function","args":[]}`, "ffi.Function"},
		{`{"type":"std::function","named_args":{"return":[{"type":"std::string"}],"params":[{"type":"str"}]}}`, "(ffi.String) -> ffi.String"},
		{`{"type":"std::array","args":[{"type":"int"},4]}`, "ffi.Array<int>"},
		{`{"type":"std::vector","args":[{"type":"Any"}]}`, "ffi.Array"},
		{`{"type":"std::tuple","args":[{"type":"int"},{"type":"std::optional","args":[{"type":"std::variant","args":[{"type":"int"},{"type":"bool"}]}]}]}`, "Tuple<int, Optional<Variant<int, bool>>>"},
		{`{"type":"std::map","args":[{"type":"Any"},{"type":"Any"}]}`, "ffi.Map"},
		{`{"type":"std::unordered_map","args":[{"type":"int"},{"type":"Any"}]}`, "ffi.Map<int, Any>"},
		{`{"type":"ObjectRValueRef","args":[{"type":"ir.IRModule"}]}`, "ObjectRValueRef<ir.IRModule>"},
		{`{"type":"NestedMsg","args":[{"type":"int"}],"name":"ignored"}`, "NestedMsg<int>"},
		{`{"type":"const char*"}`, "const char*"},
		{`{"type":"a<b>, \"c\""}`, `"a<b>, \"c\""`},
		{`{"type":"Tuple","args":[]}`, "Tuple"},
	} {
		got, err := ParseTypeSchema(c.schema)
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if got.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.schema, got, c.want)
		}
		back, err := ParseType(c.want)
		if err != nil || !reflect.DeepEqual(back, got.Normalized()) {
			t.Errorf("%s: read back %+v, %v", c.want, back, err)
		}
	}
}

func TestParseTypeSchemaErrors(t *testing.T) {
	deep := strings.Repeat(`{"type":"Optional","args":[`, 10000) + `{"type":"int"}` + strings.Repeat("]}", 10000)
	deeper := strings.Repeat(`{"type":"Optional","args":[`, 101) + `{"type":"int"}` + strings.Repeat("]}", 101)
	for _, c := range []struct{ schema, want string }{
		{deep, "nest deeper"},
		{deeper, "types nest deeper than 100 levels"},
		{strings.Repeat("[", 10000), "nest deeper"},
		{"", "the text ends too early"},
		{`{"type":"int"`, "ends too early"},
		{`{"type":"int"} x`, "byte"},
		{`[]`, "got an array"},
		{`{}`, `lacks the key "type"`},
		{`{"type":""}`, "got an empty string"},
		{`{"type":7}`, "got a number"},
		{`{"type":"int","type":"int"}`, `the key "type" occurs twice`},
		{"{\"type\":\"\xff\"}", "byte 9 is not valid UTF-8"},
		{`{"type":"int","args":[{"type":"int"}]}`, "int takes no type arguments, got 1"},
		{`{"type":"Optional"}`, "Optional takes 1 type argument, got 0"},
		{`{"type":"ffi.Map","args":[{"type":"int"}]}`, "ffi.Map takes no or 2 type arguments, got 1"},
		{`{"type":"Variant"}`, "Variant takes at least 1"},
		{`{"type":"ffi.Array","args":[{"type":"int"},{"type":"int"}]}`, "ffi.Array takes 0 to 1"},
		{`{"type":"ffi.Array","args":{}}`, "args: expected an array of types, got an object"},
		{`{"type":"ffi.Array","args":[4]}`, "args[0]: expected an object"},
		{`{"type":"std::array","args":[{"type":"int"},-4]}`, "args[1]: expected an object"},
		{`{"type":"std::array","args":[{"type":"int"},{"type":"int"}]}`, "must be its length"},
		{`{"type":"std::array","args":[{"type":"int"},4,{"type":"int"}]}`, "std::array takes 0 to 2 type arguments, got 3"},
		{`{"type":"ffi.Array","named_args":{}}`, "is not a function"},
		{`{"type":"ffi.Function","args":[],"named_args":{}}`, "not both"},
		{`{"type":"ffi.Function","named_args":[]}`, "named_args: expected an object"},
		{`{"type":"ffi.Function","named_args":{"params":[]}}`, "both return and params"},
		{`{"type":"ffi.Function","named_args":{"return":[{"type":"int"}]}}`, "both return and params"},
		{`{"type":"ffi.Function","named_args":{"return":[],"params":[]}}`, "named_args.return: expected exactly one type, got 0"},
		{`{"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":[],"kwargs":[]}}`, `unknown key "kwargs"`},
		{`{"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":[{"type":"int"},{"type":"ffi.Array","args":[{"type":"Optional"}]}]}}`,
			"named_args.params[1].args[0]: Optional takes"},
	} {
		_, err := ParseTypeSchema(c.schema)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: error %v, want %q", c.schema, err, c.want)
		}
		if _, err := ParseMetadata(`{"type_schema":` + c.schema + `}`); err == nil {
			t.Errorf("%.80s: accepted as metadata", c.schema)
		}
	}
	for _, text := range []string{`[]`, `"x"`, `{"a":1e999}`, `{"a":1e-999}`, `{"a":9223372036854775809}`, strings.Repeat(" ", 10) + strings.Repeat("1", maxMetadataLen)} {
		if m, err := ParseMetadata(text); err == nil {
			t.Errorf("%.40q: accepted: %v", text, m)
		}
	}
}

func FuzzParseMetadata(f *testing.F) {
	r := readRegistry(f, newRelease)
	for _, name := range []string{"testing.schema_id_int", "testing.schema_arr_map_opt", "ffi.StructuralWalk", "testing.schema_id_func_typed"} {
		f.Add(r.Functions[name])
	}
	f.Add(readRegistry(f, oldRelease).Functions["ffi.ArraySize"])
	f.Add(`{"type":"std::array","args":[{"type":"int"},4]}`)
	f.Add(`{"type_schema":{"type":"std::function","named_args":{"return":[{"type":"A b"}],"params":[{"type":"<"}]}},"x":1.0}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMetadata(text)
		if err != nil || !m.HasType {
			return
		}
		if err := m.Type.validate(1); err != nil {
			t.Fatalf("accepted what Validate refuses: %v", err)
		}
		canonical := m.Type.String()
		back, err := ParseType(canonical)
		if err != nil {
			t.Fatalf("%s: %v", canonical, err)
		}
		if !reflect.DeepEqual(back, m.Type.Normalized()) {
			t.Fatalf("%s: read back as %s", canonical, back)
		}
	})
}
