package hints_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

func example() hints.File {
	return hints.File{
		Format:     hints.Format,
		Sources:    []hints.Source{{Package: "garden", Version: "1.2", SHA256: strings.Repeat("ab", 32)}},
		Namespaces: map[string]string{"garden": "Plants and tools.\n\nMore <text> & more."},
		Items: map[string]hints.Item{
			"garden.water": {Params: []string{"plant", "litres"}, Types: map[string]string{"plant": "garden.Rose"}, Returns: "garden.Rose"},
			"garden.Rose":  {Doc: "A rose."},
			"garden.dig": {Params: []string{"mode", "depth"}, Enum: map[string]string{"mode": "Mode", hints.Returns: "Mode"}, Required: []string{"mode"},
				Default: map[string]hints.Constant{"mode": {int64(1)}, "depth": {2.0}, "wet": {true}, "tool": {"spade"}, "bed": {nil}}},
			"garden.Rose.__ffi_init__": {Params: []string{"color"}, Name: "NewRose"},
		},
		Enums: map[string]hints.Enum{"Mode": {Doc: "Mode says how.", Values: map[string]hints.Constant{"SLOW": {int64(0)}, "FAST": {int64(1)}}}},
	}
}

func TestEncode(t *testing.T) {
	data, err := example().Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := hints.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, example()) {
		t.Errorf("Decode(Encode(f)) = %+v, want %+v", got, example())
	}
	if again, _ := got.Encode(); string(again) != string(data) {
		t.Errorf("a second Encode gives other bytes:\n%s", again)
	}
}

func TestDecode_bad(t *testing.T) {
	deep := `{"format": 1, "items": {"a": {"params": ` + strings.Repeat("[", 20000) + `}}}`
	for name, test := range map[string]struct{ text, want string }{
		"empty":      {"", "line 1, column 1: unexpected end"},
		"truncated":  {"{\"format\": 1,\n\"items\": {", "line 2, column"},
		"other":      {`{"format": 2}`, `the format is 2, this version reads 1; write the file again with "tvmffi-bind names"`},
		"no format":  {`{}`, "the format is 0"},
		"a list":     {`[]`, "array"},
		"unknown":    {`{"format": 1, "docs": {}}`, `unknown field "docs"`},
		"type":       {"{\"format\": 1,\n \"items\": {\"a\": {\"params\": \"x\"}}}", "line 2, column 30: items.params is a JSON string"},
		"brief":      {"{\"format\": 1,\n \"items\": {\"a\": {\"brief\": \"yes\"}}}", "line 2, column 31: items.brief is a JSON string, expected true or false"},
		"deep":       {deep, "exceeded max depth"},
		"no name":    {`{"format": 1, "items": {"": {}}}`, `"" is not the name of an item`},
		"go name":    {`{"format": 1, "items": {"a": {"name": "rose"}}}`, `the name "rose" of a is not an exported Go name`},
		"long doc":   {`{"format": 1, "items": {"a": {"doc": "` + strings.Repeat("x", hints.MaxDoc+1) + `"}}}`, "the documentation of a has 65537 bytes"},
		"parameters": {`{"format": 1, "items": {"a": {"params": [` + strings.Repeat(`"",`, 1024) + `""]}}}`, "a has 1025 parameters"},
		"list":       {`{"format": 1, "items": {"a": {"default": {"b": []}}}}`, "found a list or a mapping"},
		"large":      {`{"format": 1, "items": {"a": {"default": {"b": 9223372036854775808}}}}`, "9223372036854775808 is outside the range of int64"},
		"tiny":       {`{"format": 1, "items": {"a": {"default": {"b": 1e-400}}}}`, "1e-400 is nearer to 0 than each other float64"},
		"double":     {"{\"format\": 1,\n\"enums\": {\n\"E\": {\"values\": {\"A\": 1,\n  \"B\": 1}}}}", "line 4, column 3: enum E: A and B are both 1: remove one"},
		"no values":  {"{\"format\": 1,\n\"enums\": {\n\"E\": {}}}", "line 3, column 1: enum E: the enum has no values"},
		"twice":      {"{\"format\": 1,\n\"items\": {\"a\": {\"doc\": \"x\"},\n \"a\": {}}}", `line 3, column 2: the key "a" occurs twice in items: remove one`},
		"two cases":  {`{"format": 1, "items": {"a": {"doc": "x", "Doc": "y"}, "A": {}}}`, `the keys "doc" and "Doc" in items.a are one key: remove one`},
		"surrogate":  {`{"format": 1, "items": {"a": {"doc": "\udc00"}}}`, `line 1, column 39: \udc00 is half of a surrogate pair`},
		"member":     {`{"format": 1, "enums": {"E": {"values": {"A": 1, "A": 2}}}}`, `line 1, column 50: the key "A" occurs twice in enums.E.values`},
		"mixed":      {`{"format": 1, "enums": {"E": {"values": {"A": 1, "B": "b"}}}}`, `B is "b" and A is 1: write only ints or only strings`},
		"float":      {`{"format": 1, "enums": {"E": {"values": {"A": 1.0}}}}`, "A is 1.0, expected an int or a string"},
		"namespace":  {`{"format": 1, "namespaces": {"n": "` + strings.Repeat("x", hints.MaxDoc+1) + `"}}`, `the namespace "n" has 65537 bytes`},
	} {
		_, err := hints.Decode([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
	if _, err := hints.Decode(make([]byte, 33<<20)); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("33 MB: error %v", err)
	}
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]string{
		"int":                              "int",
		"Optional<Array<str>>":             "Optional<ffi.Array<ffi.String>>",
		"garden.Rose":                      "garden.Rose",
		"(int, Tensor) -> None":            "(int, ffi.Tensor) -> None",
		"Map<str, Array<int>>":             "ffi.Map<ffi.String, ffi.Array<int>>",
		"Optional<Tensor(int32)>":          `Optional<"Tensor(int32)">`,
		"ffi.Tensor( float8_e4m3fn )":      `"Tensor(float8_e4m3fn)"`,
		"Variant<garden.Rose, ffi.Tensor>": "Variant<garden.Rose, ffi.Tensor>",
	} {
		got, err := hints.ParseType(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseType(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Array<", "Tensor(int32", "int int>", "Optional"} {
		if got, err := hints.ParseType(text); err == nil {
			t.Errorf("ParseType(%q) = %s, want an error", text, got)
		}
	}
	narrow, _ := hints.ParseType("Tensor(int32)")
	if dtype, ok := hints.TensorElement(narrow); !ok || dtype != "int32" {
		t.Errorf("TensorElement = %q, %v", dtype, ok)
	}
}

func TestNarrow(t *testing.T) {
	types := hints.Types{
		"garden.Plant": {Key: "garden.Plant", Ancestors: []string{"ffi.Object"}},
		"garden.Rose":  {Key: "garden.Rose", Ancestors: []string{"ffi.Object", "garden.Plant"}},
	}
	for _, test := range []struct {
		wide, narrow string
		want         bool
	}{
		{"Any", "Tensor(int32)", true},
		{"Any", "(int) -> None", true},
		{"ffi.Object", "garden.Rose", true},
		{"ffi.Object", "Array<int>", true},
		{"ffi.Object", "int", false},
		{"ffi.Object", "str", false},
		{"ffi.Object", "garden.Unknown", false},
		{"garden.Plant", "garden.Rose", true},
		{"garden.Rose", "garden.Plant", false},
		{"Optional<garden.Plant>", "garden.Rose", true},
		{"Optional<garden.Plant>", "Optional<garden.Rose>", true},
		{"garden.Plant", "Optional<garden.Rose>", false},
		{"Optional<garden.Plant>", "None", true},
		{"Variant<int, garden.Plant>", "garden.Rose", true},
		{"Variant<int, garden.Plant>", "Variant<garden.Rose, int>", true},
		{"Variant<int, garden.Plant>", "str", false},
		{"Array", "Array<int>", true},
		{"Array<garden.Plant>", "Array<garden.Rose>", true},
		{"Array<garden.Rose>", "Array<garden.Plant>", false},
		{"Array", "Map<str, int>", false},
		{"Map<str, Any>", "Map<str, int>", true},
		{"ffi.Function", "(int) -> int", true},
		{"(int) -> int", "(int) -> str", false},
		{"(int) -> int", "Optional<(int) -> int>", true},
		{"(int) -> int", "Optional<(int) -> str>", false},
		{"ffi.Function", "Optional<(int) -> int>", true},
		{"ffi.Tensor", "Tensor(int32)", true},
		{"DLTensor*", "Tensor(int32)", true},
		{"DLTensor*", "Tensor", true},
		{"ffi.Shape", "Tensor(int32)", false},
		{"int", "bool", false},
		{"int", "int32", true},
		{"int", "int64", true},
		{"Any", "uint8", true},
		{"Optional<int>", "Optional<uint64>", true},
		{"Map<str, Array<int>>", "Map<str, Array<int8>>", true},
		{"(int, str) -> int", "(int16, str) -> uint32", true},
		{"(int, str) -> int", "(str, str) -> uint32", false},
		{"float", "int32", false},
		{"bool", "uint8", false},
		{"Array<float>", "Array<int32>", false},
	} {
		wide, err1 := hints.ParseType(test.wide)
		narrow, err2 := hints.ParseType(test.narrow)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		err := types.Narrow(wide.Normalized(), narrow.Normalized())
		if (err == nil) != test.want {
			t.Errorf("Narrow(%s, %s) = %v, want a fit: %v", test.wide, test.narrow, err, test.want)
		}
	}
}

// TestConstant_width: a constant of an int of a certain width is in its range.
func TestConstant_width(t *testing.T) {
	for _, test := range []struct {
		typ   string
		value any
		want  bool
	}{
		{"int8", int64(-128), true}, {"int8", int64(-129), false}, {"int8", int64(127), true}, {"int8", int64(128), false},
		{"uint8", int64(-1), false}, {"uint8", int64(255), true}, {"uint8", int64(256), false}, {"uint8", true, true},
		{"int32", int64(1) << 31, false}, {"uint32", int64(1)<<32 - 1, true}, {"uint64", int64(-1), false}, {"uint64", int64(1) << 62, true},
		{"float", int64(1)<<53 + 1, false}, {"float", int64(math.MaxInt64), false},
		{"int16", 1.0, false}, {"uint16", "x", false}, {"int32", nil, false}, {"Optional<int32>", nil, true}, {"Optional<int32>", int64(1) << 40, false},
	} {
		typ, err := hints.ParseType(test.typ)
		if err != nil {
			t.Fatal(err)
		}
		if as, _, ok := (hints.Types{}).Constant(typ, test.value); ok != test.want || ok && test.value != nil && as != "int" {
			t.Errorf("%v as %s: %q, %t, want %t", test.value, test.typ, as, ok, test.want)
		}
	}
}

// TestConstant_zero: the sign of -0 stays, for which a float has room.
func TestConstant_zero(t *testing.T) {
	word, err := hints.ParseWord("-0")
	if x, ok := word.Value.(float64); err != nil || !ok || !math.Signbit(x) {
		t.Errorf("the word -0 is %v, %v", word, err)
	}
	var c hints.Constant
	if err := json.Unmarshal([]byte("-0"), &c); err != nil || c.Value != 0.0 || !math.Signbit(c.Value.(float64)) {
		t.Errorf("-0 is %v, %v", c, err)
	}
	if text, err := json.Marshal(c); err != nil || string(text) != "-0.0" {
		t.Errorf("-0 is written as %s, %v", text, err)
	}
}

// FuzzDecode checks that Decode does not crash, and that what it accepts survives a round trip.
func FuzzDecode(f *testing.F) {
	data, err := example().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"format": 1, "items": {"func": {"params": ["type", "*/", "\u0000"], "types": {"x": "Tensor("}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := hints.Decode(data)
		if err != nil {
			return
		}
		again, err := file.Encode()
		if err != nil {
			t.Fatalf("Encode refuses what Decode accepted: %v", err)
		}
		back, err := hints.Decode(again)
		if err != nil {
			t.Fatalf("Decode refuses what Encode wrote: %v", err)
		}
		a, _ := json.Marshal(file)
		b, _ := json.Marshal(back)
		if string(a) != string(b) {
			t.Fatalf("round trip: %s, then %s", a, b)
		}
	})
}

// FuzzParseType checks that the text of a type that ParseType accepts is a type again.
func FuzzParseType(f *testing.F) {
	f.Add("Optional<Tensor(int32)>")
	f.Add(`(Array<"x y">, int) -> None`)
	f.Fuzz(func(t *testing.T, text string) {
		typ, err := hints.ParseType(text)
		if err != nil {
			return
		}
		if again, err := schema.ParseType(typ.String()); err != nil || again.String() != typ.String() {
			t.Fatalf("%q is %s, which becomes %s, %v", text, typ, again, err)
		}
	})
}
