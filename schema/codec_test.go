package schema

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// garden is a small schema with one of everything.
func garden() Schema {
	sig := func(text string) *Signature {
		s, err := ParseSignature(text)
		if err != nil {
			panic(err)
		}
		return s
	}
	return Schema{
		Format: FormatVersion,
		ABI:    Version{0, 1, 16},
		Libraries: []Library{
			{File: "libtvm_ffi.so", Role: RoleCore, SHA256: strings.Repeat("0a", 32), Package: "apache-tvm-ffi", PackageVersion: "0.1.15.post2", PathInPackage: "tvm_ffi/lib/libtvm_ffi.so"},
			{File: "libgarden.so", Role: RoleBound},
		},
		Functions: []Function{
			{Name: "scale", Source: SourceModule, Library: "libgarden.so", Reported: true,
				Signature: &Signature{Return: TypeSchema{Name: "None"}, Params: []Param{{Name: "a", Type: TypeSchema{Name: "DLTensor*"}, Note: "Tensor([n], float32)"},
					{Name: "done", Type: TypeSchema{Name: "ffi.Function", Func: &Signature{Return: TypeSchema{Name: "None"}}}}}}},
			{Name: "garden.water", Source: SourceGlobal, Library: "libgarden.so", Signature: sig("(garden.Plant, float) -> None"), Doc: "Waters <a> plant & more.",
				Metadata: map[string]any{"flag": true, "n": int64(9007199254740993), "f": 3.0, "small": 1e-30, "s": "x"}},
			{Name: "garden.packed", Source: SourceGlobal, Library: "libgarden.so"},
		},
		Types: []Type{
			{Key: "garden.Rose", Ancestors: []string{"ffi.Object", "garden.Plant"}, Library: "libgarden.so", TotalSize: 40, HasMetadata: true, Attributes: []string{"__ffi_new__", "__ffi_init__"},
				Fields: []Field{{Name: "petals", Type: TypeSchema{Name: "int"}, Offset: 32, Size: 8, Alignment: 8, Flags: FlagHasDefault, Metadata: map[string]any{"unit": 2.5}}}},
			{Key: "garden.Plant", Ancestors: []string{"ffi.Object"}, Library: "libgarden.so", TotalSize: 32, HasMetadata: true,
				Fields:  []Field{{Name: "height", Type: TypeSchema{Name: "float"}, Offset: 24, Size: 8, Alignment: 8, Flags: FlagWritable, StaticTypeIndex: 3}},
				Methods: []Method{{Name: "grow", Signature: sig("(garden.Plant, float) -> None"), Metadata: map[string]any{"k": int64(1)}}, {Name: "any", Flags: FlagIsStaticMethod}}},
			{Key: "ffi.Object", TotalSize: 24},
		},
	}
}

func mustEncode(t testing.TB, s Schema) []byte {
	t.Helper()
	data, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEncodeDecode(t *testing.T) {
	for name, s := range map[string]Schema{"garden": garden(), newRelease: realSchema(t, newRelease), oldRelease: realSchema(t, oldRelease), "empty": {Format: FormatVersion}} {
		data := mustEncode(t, s)
		back, err := Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := s.clone()
		want.Sort()
		if !reflect.DeepEqual(back, want) {
			t.Errorf("%s: decoded %+v, want %+v", name, back, want)
		}
		if again := mustEncode(t, back); !bytes.Equal(again, data) {
			t.Errorf("%s: encoding what was decoded gives other bytes", name)
		}
		if bytes.Contains(data, []byte("null")) {
			t.Errorf("%s: null in the JSON form", name)
		}
	}
}

// TVM's expr_functor.PyExprMutator has a field at -64: its header is not at the
// start of the C++ object.
func TestNegativeOffset(t *testing.T) {
	s := garden()
	s.Types[0].Fields[0].Offset = -64
	if back, err := Decode(mustEncode(t, s)); err != nil || back.Types[2].Fields[0].Offset != -64 {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestEncodeIsStable(t *testing.T) {
	s := garden()
	data := mustEncode(t, s)
	if s.Functions[0].Name != "scale" || s.Types[0].Key != "garden.Rose" || s.Types[0].Attributes[0] != "__ffi_new__" {
		t.Error("Encode changed its argument")
	}
	s.Sort()
	if !bytes.Equal(mustEncode(t, s), data) {
		t.Error("the order of items changes the bytes")
	}
	if s.Types[0].Key != "ffi.Object" || s.Types[2].Key != "garden.Rose" || s.Functions[2].Name != "scale" {
		t.Errorf("order after Sort: %v", s.Types)
	}
	if !bytes.Contains(data, []byte("Waters <a> plant & more.")) {
		t.Error("docs are escaped for HTML")
	}
}

// A file leaves out the items of libtvm_ffi if it is a release that Decode knows, and
// all of them are there again afterwards.
func TestCoreLeftOut(t *testing.T) {
	const file = "tvm_ffi.dll"
	s, err := coreItems("0.1.15.post2", file)
	if err != nil {
		t.Fatal(err)
	}
	all := len(s.Functions)
	s.Libraries = []Library{{File: file, Role: RoleCore}, {File: "garden.dll", Role: RoleBound}}
	s.Functions = append(s.Functions, Function{Name: "garden.packed", Source: SourceGlobal, Library: "garden.dll"})
	data := mustEncode(t, s)
	if n := bytes.Count(data, []byte("\n")); n > 20 || bytes.Contains(data, []byte("ffi.ArraySize")) {
		t.Errorf("%d lines:\n%s", n, data)
	}
	back, err := Decode(data)
	if s.Sort(); err != nil || !reflect.DeepEqual(back, s) || all < 50 {
		t.Errorf("%d functions of %d, %d types of %d, %v", len(back.Functions), len(s.Functions), len(back.Types), len(s.Types), err)
	}
	doc := s.Functions[0].Doc
	s.Functions[0].Doc = "This is another release."
	if data = mustEncode(t, s); !bytes.Contains(data, []byte("ffi.ArraySize")) || bytes.Contains(data, []byte(`"core":`)) {
		t.Errorf("items of an unknown release are left out:\n%s", data)
	}
	s.Functions[0].Doc, s.Libraries[0].Role = doc, RoleBound
	if data := mustEncode(t, s); !bytes.Contains(data, []byte("ffi.ArraySize")) {
		t.Errorf("items that are bound are left out:\n%s", data)
	}
}

func TestDecodeErrors(t *testing.T) {
	valid := string(mustEncode(t, garden()))
	edit := func(old, new string) string {
		if !strings.Contains(valid, old) {
			t.Fatalf("no %q in the valid form", old)
		}
		return strings.Replace(valid, old, new, 1)
	}
	for _, c := range []struct{ name, data, want string }{
		{"empty", " \n", "the file is empty"},
		{"no json", "garden", "json, byte"},
		{"array", "[]", "expected an object"},
		{"truncated", valid[:len(valid)/2], "ends too early"},
		{"trailing", valid + "x", "byte"},
		{"no format", `{"abi":{}}`, `the key "format" is missing`},
		{"newer", edit(`"format": 1`, `"format": 2`), "format 2 is newer than 1, the newest this tool reads; update tvmffi-bind"},
		{"older", edit(`"format": 1`, `"format": 0`), `format 0 is not 1; write the file again`},
		{"text format", edit(`"format": 1`, `"format": "1"`), "must be a whole number, got a string"},
		{"unknown key", edit(`"format": 1`, `"format": 1, "extra": 2`), `unknown field "extra"`},
		{"wrong kind", edit(`"format": 1`, `"format": 1, "types": 3`), "occurs twice"},
		{"two cases", edit(`"format": 1`, `"format": 1, "Types": []`), `the keys "Types" and "types" are one key`},
		{"utf8", edit("Waters", "W\xffters"), "is not valid UTF-8"},
		{"deep", `{"format":1,"x":` + strings.Repeat("[", 10000), "nest deeper"},
		{"abi", edit(`"minor": 1`, `"minor": -1`), "abi version 0.-1.16"},
		{"role", edit(`"role": "bound"`, `"role": "x"`), `library 1 ("libgarden.so"): unknown role "x"`},
		{"file", edit(`"file": "libgarden.so"`, `"file": "../libgarden.so"`), "base name without folders"},
		{"file twice", edit(`"file": "libgarden.so"`, `"file": "libtvm_ffi.so"`), `library "libtvm_ffi.so" occurs twice`},
		{"hash", edit("0a0a", "0A0A"), "64 lower-case hexadecimal digits"},
		{"path", edit(`tvm_ffi/lib/libtvm_ffi.so"`, `../libtvm_ffi.so"`), "must be relative"},
		{"function twice", edit(`"garden.packed"`, `"garden.water"`), `function "garden.water" occurs twice`},
		{"function name", edit(`"garden.packed"`, `""`), `function "": the name is empty`},
		{"source", edit(`"source": "global"`, `"source": "sky"`), `unknown source "sky"`},
		{"library", edit(`"library": "libgarden.so"`, `"library": "other.so"`), `function "garden.packed": library "other.so" is not in the list`},
		{"metadata", edit(`"flag": true`, `"flag": [true]`), `function "garden.water": metadata "flag": the value must be a bool, number or string`},
		{"metadata number", edit(`"flag": true`, `"flag": 1e999`), `function "garden.water": metadata "flag": the number`},
		{"arity", edit(`"type": "float"`, `"type": "Optional"`), `function "garden.water": signature: parameter 1: Optional takes 1`},
		{"type twice", edit(`"key": "garden.Rose"`, `"key": "garden.Plant"`), `type "garden.Plant" occurs twice`},
		{"no key", edit(`"key": "garden.Rose"`, `"key": ""`), "the key is empty"},
		{"missing ancestor", edit(`"key": "ffi.Object"`, `"key": "ffi.Objekt"`), `its ancestor "ffi.Object" is not in the schema`},
		{"self ancestor", edit(`["ffi.Object", "garden.Plant"]`, `["ffi.Object", "garden.Rose"]`), `type "garden.Rose": its ancestors form a cycle`},
		{"cycle", edit(`"key": "garden.Plant", "ancestors": ["ffi.Object"`, `"key": "garden.Plant", "ancestors": ["garden.Rose"`), `disagree`},
		{"jump", edit(`["ffi.Object", "garden.Plant"]`, `["garden.Plant"]`), `type "garden.Rose": its ancestors disagree with the ancestors of "garden.Plant"`},
		{"offset", edit(`"offset": 24`, `"offset": -99999`), `type "garden.Plant": field "height": offset -99999 is out of range`},
		{"outside", edit(`"offset": 24`, `"offset": 28`), "lie outside the object"},
		{"huge", edit(`"offset": 24`, `"offset": 99999999999`), "is out of range"},
		{"overflow", edit(`"offset": 24`, `"offset": 99999999999999999999`), "cannot unmarshal number"},
		{"size", edit(`"size": 8`, `"size": -8`), "size -8 is out of range"},
		{"total size", edit(`"total_size": 24`, `"total_size": -1`), `type "ffi.Object": total size -1`},
		{"alignment", edit(`"alignment": 8`, `"alignment": 7`), "alignment 7 is not a power of two"},
		{"method twice", edit(`"name": "any"`, `"name": "grow"`), `type "garden.Plant": method "grow": it occurs twice`},
		{"field name", edit(`"name": "height"`, `"name": ""`), `field "": the name is empty`},
		{"attribute", edit(`"__ffi_new__"`, `"__ffi_init__"`), `attribute "__ffi_init__" occurs twice`},
		{"unknown core", edit(`"format": 1`, `"format": 1, "core": "9.1"`), `the items of libtvm_ffi "9.1" are left out, and this tool does not know them; update tvmffi-bind`},
		{"core of nothing", strings.Replace(edit(`"format": 1`, `"format": 1, "core": "0.1.15.post2"`), `"role": "core"`, `"role": "dependency"`, 1), `no library has the role "core"`},
		{"core twice", edit(`"format": 1`, `"format": 1, "core": "0.1.15.post2"`), `type "ffi.Object" occurs twice`},
		{"reported packed", edit(`"source": "global"`, `"source": "global", "reported": true`), "reported is set, but there is no signature"},
	} {
		s, err := Decode([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if !reflect.DeepEqual(s, Schema{}) {
			t.Errorf("%s: a schema beside the error", c.name)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	deep := TypeSchema{Name: "int"}
	for range MaxDepth + 5 {
		deep = TypeSchema{Name: "Optional", Args: []TypeSchema{deep}}
	}
	for name, change := range map[string]func(s *Schema){
		"is not valid UTF-8": func(s *Schema) { s.Functions[2].Name = "\xff" },
		"nest deeper":        func(s *Schema) { s.Functions[1].Signature.Return = deep },
		"has no JSON form":   func(s *Schema) { s.Functions[2].Metadata = map[string]any{"x": nan()} },
		"not int":            func(s *Schema) { s.Functions[2].Metadata = map[string]any{"x": 1} },
		"must hold its signature": func(s *Schema) {
			s.Types[0].Fields[0].Type = TypeSchema{Name: "ffi.Function", Args: []TypeSchema{{Name: "int"}}}
		},
		"is not a function":         func(s *Schema) { s.Types[0].Fields[0].Type = TypeSchema{Name: "int", Func: &Signature{}} },
		"result: the name":          func(s *Schema) { s.Functions[1].Signature.Return.Name = "" },
		"format is 0, expected 1":   func(s *Schema) { s.Format = 0 },
		"needs its library":         func(s *Schema) { s.Functions[0].Library = "" },
		"has 5000 bytes, the limit": func(s *Schema) { s.Functions[0].Name = strings.Repeat("x", 5000) },
	} {
		s := garden()
		change(&s)
		if _, err := Encode(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
	s := garden()
	s.Functions[1].Doc = "caf\xe9"
	if back, err := Decode(mustEncode(t, s)); err != nil || back.Functions[1].Doc != "caf\ufffd" {
		t.Errorf("docs in Latin-1: %q, %v", back.Functions[1].Doc, err)
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func FuzzDecode(f *testing.F) {
	f.Add(mustEncode(f, garden()))
	f.Add([]byte(`{"format":1,"abi":{"major":0,"minor":1,"patch":16},"libraries":[],"functions":[],"types":[]}`))
	f.Add([]byte(`{"format":1,"types":[{"key":"a","ancestors":["b"]},{"key":"b","ancestors":["a"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(s)
		if err != nil {
			t.Fatalf("decoded but not encodable: %v", err)
		}
		back, err := Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if back.Fingerprint() != s.Fingerprint() || len(Diff(s, back)) != 0 {
			t.Fatal("the interface changed on the way")
		}
	})
}
