package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// makeGarden plans what the prefix garden of a schema asks for.
func makeGarden(t *testing.T, s schema.Schema, skip ...string) *Plan {
	t.Helper()
	s.Types = append([]schema.Type{{Key: rootKey}}, s.Types...)
	p, err := Make(s, Config{Package: "garden", ImportPath: "example.com/garden", Prefixes: []string{"garden"}, Split: true, Skip: skip})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// entryOf returns the entry of an item.
func entryOf(t *testing.T, p *Plan, name string) *Entry {
	t.Helper()
	i := slices.IndexFunc(p.Entries, func(e *Entry) bool { return e.Name == name })
	if i < 0 {
		t.Fatalf("no entry for %s", name)
	}
	return p.Entries[i]
}

// TestSkipConstructor leaves out the constructor, and keeps its type.
func TestSkipConstructor(t *testing.T) {
	rose := object("garden.Rose")
	rose.Attributes = []string{initName}
	s := schema.Schema{Types: []schema.Type{rose}}
	const name = "garden.Rose." + initName
	for _, c := range []struct {
		skip string
		want Status
	}{{"", Generated}, {name, Skipped}} {
		var skip []string
		if c.skip != "" {
			skip = append(skip, c.skip)
		}
		p := makeGarden(t, s, skip...)
		if got := entryOf(t, p, name).Status; got != c.want {
			t.Errorf("skip %q: the constructor is %s, want %s", skip, got, c.want)
		}
		if got := p.Packages[0].Objects[0].Statics != nil; got != (c.want == Generated) {
			t.Errorf("skip %q: a constructor was planned: %t", skip, got)
		}
		if got := entryOf(t, p, "garden.Rose").Status; got != Generated {
			t.Errorf("skip %q: the type is %s, want %s", skip, got, Generated)
		}
	}
}

// TestMostParams plans a typed function with as many parameters as the largest frame
// holds, and a packed one for more.
func TestMostParams(t *testing.T) {
	for n, want := range map[int]Status{maxParams: Generated, maxParams + 1: Opaque} {
		params := make([]schema.Param, n)
		for i := range params {
			params[i].Type.Name = "int"
		}
		p := makeGarden(t, schema.Schema{Functions: []schema.Function{{Name: "garden.water", Source: schema.SourceGlobal,
			Signature: &schema.Signature{Params: params, Return: schema.TypeSchema{Name: "None"}}}}})
		e := entryOf(t, p, "garden.water")
		if e.Status != want || want == Opaque && !strings.Contains(e.Reason, "129 parameters, the limit of a typed function is 128") {
			t.Errorf("%d parameters: %s, %q, want %s", n, e.Status, e.Reason, want)
		}
	}
}

// TestConstructorFields leaves out the fields that the constructor does not take, wherever
// they are declared.
func TestConstructorFields(t *testing.T) {
	rose := object("garden.Rose")
	rose.Attributes = []string{initName}
	for _, name := range []string{"first", "hidden", "second"} {
		f := schema.Field{Name: name, Type: schema.TypeSchema{Name: "int"}, Offset: 24}
		if name == "hidden" {
			f.Flags = schema.FlagInitOff
		}
		rose.Fields = append(rose.Fields, f)
	}
	p := makeGarden(t, schema.Schema{Types: []schema.Type{rose}})
	if got, want := p.Packages[0].Objects[0].Statics[0].Sig, "(first: int, second: int)"; got != want {
		t.Errorf("the constructor takes %s, want %s", got, want)
	}
}

// TestTypesWithoutGoType: a function with a part that has no Go type is packed, and the
// reason names the part.
func TestTypesWithoutGoType(t *testing.T) {
	const nine = "int, int, int, int, int, int, int, int, int"
	for text, reason := range map[string]string{
		"(foo) -> None":                                    "foo has no Go type",
		"() -> foo":                                        "foo has no Go type",
		"(() -> foo) -> None":                              "foo has no Go type",
		"((foo) -> None) -> None":                          "foo has no Go type",
		"(Optional<foo>) -> None":                          "foo has no Go type",
		"(Variant<int, foo>) -> None":                      "foo has no Go type",
		"(ffi.Map<ffi.String, foo>) -> None":               "foo has no Go type",
		"(garden.Rose<int>) -> None":                       "garden.Rose<int> is a template",
		"(None) -> None":                                   "parameter 0 is None",
		"(int, (int, None) -> int) -> None":                "parameter 1 is None",
		"(ffi.Array<None>) -> None":                        "holds None",
		"(Tuple<int, None>) -> None":                       "holds None",
		"(Tuple<" + nine + ">) -> None":                    "has 9 parts; tuples in Go have at most 8",
		"(Tuple<" + nine[len("int, "):] + ">) -> None":     "",
		"(ffi.Map<ffi.Bytes, int>) -> None":                "has keys that Go cannot compare",
		"(ffi.Dict<ffi.Bytes, int>) -> None":               "has keys that Go cannot compare",
		"(ffi.Array<ffi.Bytes>) -> None":                   "",
		"(ffi.Map<() -> int, int>) -> None":                "has keys that Go cannot compare",
		"(ffi.Map<Tuple<int, ffi.Bytes>, int>) -> None":    "has keys that Go cannot compare",
		"(ffi.Map<Tuple<int, ffi.String>, int>) -> None":   "",
		"(ffi.Map<ffi.Function, int>) -> None":             "",
		"(ffi.Map<Optional<int>, ffi.Bytes>) -> None":      "",
		"(Variant<None, None>) -> None":                    "parameter 0 is None",
		"(Variant<None, int>, Optional<None>) -> None":     "parameter 1 is None",
		"(Variant<foo.bar, Any>, ObjectRValueRef) -> None": "",
		"(ObjectRValueRef<foo>) -> None":                   "foo has no Go type",
	} {
		sig, err := schema.ParseSignature(text)
		if err != nil {
			t.Fatal(err)
		}
		p := makeGarden(t, schema.Schema{
			Types:     []schema.Type{object("garden.Rose")},
			Functions: []schema.Function{{Name: "garden.water", Source: schema.SourceGlobal, Signature: sig}},
		})
		e := entryOf(t, p, "garden.water")
		if reason == "" && e.Status != Generated || reason != "" && (e.Status != Opaque || !strings.Contains(e.Reason, reason)) {
			t.Errorf("%s: %s, %q, want %q", text, e.Status, e.Reason, reason)
		}
	}
}

// TestAlternatives: two parts of a variant that have one Go type are one alternative.
func TestAlternatives(t *testing.T) {
	for text, want := range map[string]int{
		"int, ffi.String":                                             2,
		"ffi.Tensor, DLTensor*, int":                                  2,
		"(int) -> None, (float) -> None":                              2,
		"(int) -> None, (int) -> int":                                 2,
		"(int) -> int, (int) -> float":                                2,
		"(int) -> None, (int, int) -> None":                           2,
		"(ffi.Tensor) -> None, (DLTensor*) -> None":                   1,
		"() -> ffi.Tensor, () -> DLTensor*, ffi.Tensor":               2,
		"ffi.Function, (int) -> None":                                 2,
		"ffi.Array<ffi.Tensor>, ffi.Array<DLTensor*>, ffi.Array<int>": 2,
		"ffi.Map<int, ffi.Tensor>, ffi.Map<int, DLTensor*>, ffi.Map<ffi.String, ffi.Tensor>": 2,
		"Tuple<int, ffi.Tensor>, Tuple<int, DLTensor*>, Tuple<int, int>, Tuple<int>":         3,
		"garden.Rose, garden.Tulip":                            2,
		"Tuple<garden.Rose>, Tuple<garden.Tulip>":              2,
		"ffi.Array<(int) -> None>, ffi.Array<(float) -> None>": 2,
	} {
		sig, err := schema.ParseSignature("(Variant<" + text + ">) -> None")
		if err != nil {
			t.Fatal(err)
		}
		p := makeGarden(t, schema.Schema{
			Types:     []schema.Type{object("garden.Rose"), object("garden.Tulip")},
			Functions: []schema.Function{{Name: "garden.water", Source: schema.SourceGlobal, Signature: sig}},
		})
		e := entryOf(t, p, "garden.water")
		if e.Status != Generated {
			t.Errorf("%s: %s, %q", text, e.Status, e.Reason)
			continue
		}
		n := 0
		for _, v := range p.Packages[0].Variants {
			n += len(v.Alternatives)
		}
		if n != want {
			t.Errorf("%s: %d alternatives, want %d", text, n, want)
		}
	}
}

// TestOptionalTypes: None is nil in Go, so that a type without nil gets a pointer.
func TestOptionalTypes(t *testing.T) {
	for text, pointer := range map[string]bool{
		"bool": true, "int": true, "float": true, "ffi.String": true, "const char*": true, "DataType": true, "Device": true, "void*": true,
		"Variant<int, ffi.String>": true, "Tuple<int, ffi.String>": true,
		"ffi.Bytes": false, "Any": false, "() -> int": false, "ffi.Object": false, "garden.Rose": false,
	} {
		sig, err := schema.ParseSignature("(Optional<" + text + ">) -> None")
		if err != nil {
			t.Fatal(err)
		}
		p := makeGarden(t, schema.Schema{
			Types:     []schema.Type{object("garden.Rose")},
			Functions: []schema.Function{{Name: "garden.water", Source: schema.SourceGlobal, Signature: sig}},
		})
		if got := p.Packages[0].Funcs[0].Call.Params[0].Type.Elem != nil; got != pointer {
			t.Errorf("Optional<%s> has a pointer: %t, want %t", text, got, pointer)
		}
	}
}
