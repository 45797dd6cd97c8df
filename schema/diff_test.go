package schema

import (
	"strings"
	"testing"
)

// edits are changes to garden with the lines that Diff must give for them.
var edits = []struct {
	name   string
	change func(s *Schema)
	want   string
}{
	{"function removed", func(s *Schema) { s.Functions = s.Functions[:2] }, "breaking: function garden.packed removed: it was packed"},
	{"function added", func(s *Schema) {
		s.Functions = append(s.Functions, Function{Name: "garden.new", Source: SourceGlobal, Signature: &Signature{Return: TypeSchema{Name: "int"}}})
	}, "additive: function garden.new added: () -> int"},
	{"signature", func(s *Schema) { s.Functions[1].Signature.Params[1].Type.Name = "int" },
		"breaking: function garden.water changed: signature (garden.Plant, int) -> None, was (garden.Plant, float) -> None"},
	{"typed now", func(s *Schema) { s.Functions[2].Signature = &Signature{Return: TypeSchema{Name: "int"}} },
		"breaking: function garden.packed changed: signature () -> int, was packed"},
	{"type removed", func(s *Schema) { s.Types = s.Types[1:] }, "breaking: type garden.Rose removed"},
	{"type added", func(s *Schema) { s.Types = append(s.Types, Type{Key: "garden.Bed", Ancestors: []string{"ffi.Object"}}) }, "additive: type garden.Bed added"},
	{"parent", func(s *Schema) {
		s.Types[0].Ancestors = []string{"ffi.Object"}
		s.Types[0].Attributes = s.Types[0].Attributes[:1]
	},
		"breaking: constructor garden.Rose removed: it was (height: float, petals: int = default)\nbreaking: type garden.Rose changed: parent ffi.Object, was garden.Plant"},
	{"field removed", func(s *Schema) { s.Types[0].Fields = nil },
		"breaking: constructor garden.Rose changed: parameters (height: float), was (height: float, petals: int = default)\nbreaking: field garden.Rose.petals removed: it was int"},
	{"option added", func(s *Schema) {
		s.Types[0].Fields = append(s.Types[0].Fields, Field{Name: "color", Type: TypeSchema{Name: "ffi.String"}, Flags: FlagHasDefault | FlagKwOnly})
	}, "additive: constructor garden.Rose changed: parameters (height: float, petals: int = default, color: ffi.String = default), was (height: float, petals: int = default)\nadditive: field garden.Rose.color added: ffi.String"},
	{"required added", func(s *Schema) {
		s.Types[0].Fields = append(s.Types[0].Fields, Field{Name: "color", Type: TypeSchema{Name: "ffi.String"}, Flags: FlagKwOnly})
	}, "breaking: constructor garden.Rose changed: parameters (height: float, color: ffi.String, petals: int = default), was (height: float, petals: int = default)\nadditive: field garden.Rose.color added: ffi.String"},
	{"field type", func(s *Schema) { s.Types[1].Fields[0].Type.Name = "int"; s.Types[0].Attributes = nil },
		"breaking: field garden.Plant.height changed: type int, was float\nbreaking: constructor garden.Rose removed: it was (height: float, petals: int = default)"},
	{"now read-only", func(s *Schema) { s.Types[1].Fields[0].Flags = 0 }, "breaking: field garden.Plant.height changed: writable false, was true"},
	{"now writable", func(s *Schema) { s.Types[0].Fields[0].Flags |= FlagWritable }, "additive: field garden.Rose.petals changed: writable true, was false"},
	{"method removed", func(s *Schema) { s.Types[1].Methods = s.Types[1].Methods[:1] }, "breaking: method garden.Plant.any removed: it was packed"},
	{"method added", func(s *Schema) { s.Types[0].Methods = []Method{{Name: "prune"}} }, "additive: method garden.Rose.prune added: packed"},
	{"method static", func(s *Schema) { s.Types[1].Methods[1].Flags = 0 }, "breaking: method garden.Plant.any changed: static false, was true"},
	{"method signature", func(s *Schema) { s.Types[1].Methods[0].Signature = nil }, "breaking: method garden.Plant.grow changed: signature packed, was (garden.Plant, float) -> None"},
}

func lines(changes []Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, c.String())
	}
	return strings.Join(out, "\n")
}

func TestDiff(t *testing.T) {
	base := garden().Fingerprint()
	for _, e := range edits {
		s := garden()
		e.change(&s)
		if got := lines(Diff(garden(), s)); got != e.want {
			t.Errorf("%s:\ngot  %s\nwant %s", e.name, got, e.want)
		}
		if s.Fingerprint() == base {
			t.Errorf("%s: the fingerprint did not change", e.name)
		}
	}
}

func TestDiffIgnoresTheRest(t *testing.T) {
	s := garden()
	s.Sort()
	s.ABI.Patch++
	s.Libraries[0].SHA256, s.Libraries[1].PackageVersion = "", "2"
	s.Functions[0].Doc, s.Functions[1].Metadata = "other", nil
	for i := range s.Types {
		s.Types[i].Doc, s.Types[i].TotalSize = "doc", 4096
		for k := range s.Types[i].Fields {
			s.Types[i].Fields[k].Offset += 8
		}
	}
	s.Functions[1].Signature.Params[0].Name = "plant"
	for i, f := range s.Functions {
		if f.Source == SourceModule {
			s.Functions[i].Library = "libgarden.dylib" // the same library elsewhere
		}
	}
	if got := Diff(garden(), s); len(got) != 0 {
		t.Errorf("changes: %s", lines(got))
	}
	if s.Fingerprint() != garden().Fingerprint() {
		t.Error("the fingerprint depends on more than the interface")
	}
	if got := len(garden().Fingerprint()); got != 64 {
		t.Errorf("the fingerprint has %d digits", got)
	}
}

func TestLibraryFingerprint(t *testing.T) {
	s := garden()
	mine := s.LibraryFingerprint("libgarden.so")
	s.Functions = append(s.Functions, Function{Name: "ffi.New", Source: SourceGlobal, Library: "libtvm_ffi.so"})
	if s.LibraryFingerprint("libgarden.so") != mine {
		t.Error("a function of another library changed the fingerprint")
	}
	if s.LibraryFingerprint("libtvm_ffi.so") == garden().LibraryFingerprint("libtvm_ffi.so") {
		t.Error("the new function is not in the fingerprint of its library")
	}
	// A library has types between and behind the types of others.
	of := func(types ...Type) string {
		return Schema{Functions: []Function{{Name: "b.f", Library: "libb.so"}, {Name: "a.f", Library: "liba.so"}}, Types: types}.LibraryFingerprint("liba.so")
	}
	other, first, last := Type{Key: "b.T", Library: "libb.so"}, Type{Key: "a.S", Library: "liba.so"}, Type{Key: "a.T", Library: "liba.so"}
	if of(first, last) != of(other, first, other, last, other) {
		t.Error("types of another library changed the fingerprint")
	}
	if of(other, first) == of(other) || of(first, other, last) == of(first, other) {
		t.Error("a type behind the types of another library is not in the fingerprint")
	}
	if (Schema{}).LibraryFingerprint("liba.so") == of() {
		t.Error("a function behind a function of another library is not in the fingerprint")
	}
}

// From 0.1.14 to 0.1.15 the real library gained a function and renamed none:
// the other format of its metadata must not show up as changes.
func TestDiffOfReleases(t *testing.T) {
	changes := Diff(realSchema(t, oldRelease), realSchema(t, newRelease))
	found := false
	for _, c := range changes {
		t.Log(c)
		found = found || c.Item == "ffi.ListReserve" && !c.Breaking && c.Action == Added
	}
	if !found {
		t.Error("ffi.ListReserve is not reported as added")
	}
	if len(changes) > 20 {
		t.Errorf("%d changes, expected a few", len(changes))
	}
}

// TestDiff_order: required parameters in another order break callers, options do not.
func TestDiff_order(t *testing.T) {
	of := func(fields ...Field) Schema {
		return Schema{Types: []Type{{Key: "ffi.Object"}, {Key: "a.T", Ancestors: []string{"ffi.Object"}, Attributes: []string{initName}, Fields: fields}}}
	}
	field := func(name string, flags Flags) Field {
		return Field{Name: name, Type: TypeSchema{Name: "int"}, Flags: flags}
	}
	a, b := field("a", 0), field("b", 0)
	if got, want := lines(Diff(of(a, b), of(b, a))), "breaking: constructor a.T changed: parameters (b: int, a: int), was (a: int, b: int)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	a, b = field("a", FlagHasDefault), field("b", FlagHasDefault)
	if got := lines(Diff(of(a, b), of(b, a))); got != "" {
		t.Errorf("options in another order: %s", got)
	}
}

// TestDiffOfOverloads compares each overload with the one of its parameters.
func TestDiffOfOverloads(t *testing.T) {
	of := func(overloads ...string) Schema {
		typ := Type{Key: "over.Box", Ancestors: []string{"ffi.Object"}}
		for _, text := range overloads {
			sig, err := ParseSignature(text)
			if err != nil {
				t.Fatal(err)
			}
			typ.Methods = append(typ.Methods, Method{Name: "at", Signature: sig})
		}
		return Schema{Types: []Type{{Key: "ffi.Object"}, typ}}
	}
	const number, text, pair = "(over.Box, int) -> int", "(over.Box, ffi.String) -> int", "(over.Box, int, int) -> int"
	for _, c := range []struct {
		old, new Schema
		want     string
	}{
		{of(number, text), of(text, number), ""},
		{of(number, text), of(number, "(over.Box, ffi.String) -> None"), "breaking: method over.Box.at changed: signature (over.Box, ffi.String) -> None, was (over.Box, ffi.String) -> int"},
		{of(number, text), of(number, pair), "breaking: method over.Box.at changed: signature (over.Box, int, int) -> int, was (over.Box, ffi.String) -> int"},
		{of(number), of(pair, text, number), "additive: method over.Box.at added: (over.Box, ffi.String) -> int\nadditive: method over.Box.at added: (over.Box, int, int) -> int"},
		{of(number, text), of(number), "breaking: method over.Box.at removed: it was (over.Box, ffi.String) -> int"},
	} {
		if got := lines(Diff(c.old, c.new)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if (c.old.Fingerprint() == c.new.Fingerprint()) != (c.want == "") {
			t.Errorf("the fingerprints are not those of: %s", c.want)
		}
	}
}

// TestDiffOfRenamedLibrary compares the exports of a library under two file names.
func TestDiffOfRenamedLibrary(t *testing.T) {
	of := func(exports ...[2]string) (s Schema) {
		for _, e := range exports {
			s.Functions = append(s.Functions, Function{Name: e[1], Source: SourceModule, Library: e[0]})
		}
		return s
	}
	type export = [2]string
	for _, c := range []struct {
		old, new Schema
		want     string
	}{
		{of(export{"libshop.so", "add"}, export{"libshop.so", "join"}), of(export{"libshop2.so", "add"}, export{"libshop2.so", "split"}),
			"breaking: function join removed: it was packed\nadditive: function split added: packed"},
		{of(export{"libshop.so", "add"}, export{"libbed.so", "add"}), of(export{"libshop2.so", "add"}, export{"libbed.so", "add"}), ""},
		{of(export{"libshop.so", "add"}, export{"libbed.so", "add"}), of(export{"libshop2.so", "add"}, export{"libbed2.so", "add"}), // which is which?
			"breaking: function add removed: it was packed\nbreaking: function add removed: it was packed\nadditive: function add added: packed\nadditive: function add added: packed"},
	} {
		if got := lines(Diff(c.old, c.new)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestDiffOfWidths: a kernel that takes ints of another width breaks its callers.
func TestDiffOfWidths(t *testing.T) {
	of := func(note string) Schema {
		s := garden()
		s.Functions[0].Signature.Params = append(s.Functions[0].Signature.Params, Param{Name: "n", Type: TypeSchema{Name: "int"}, Note: note})
		return s
	}
	const want = "breaking: function scale changed: signature (DLTensor*, () -> None, uint8) -> None, was (DLTensor*, () -> None, int32) -> None"
	if got := lines(Diff(of("int32"), of("uint8"))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := lines(Diff(of("int64"), of(""))); got != "" {
		t.Errorf("int64 is int: %s", got)
	}
}
