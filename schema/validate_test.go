package schema

import (
	"slices"
	"strings"
	"testing"
)

func TestSetAside(t *testing.T) {
	s := Schema{
		Format:    FormatVersion,
		Libraries: []Library{{File: "liba.so", Role: RoleBound}},
		Functions: []Function{
			{Name: "a.good", Source: SourceGlobal, Library: "liba.so"},
			{Name: "a.\xff", Source: SourceGlobal, Library: "liba.so"},
			{Name: "a.flawed", Source: SourceGlobal, Library: "liba.so", Signature: &Signature{Return: TypeSchema{Name: "\xff"}}},
		},
		Types: []Type{
			{Key: "a.Child", Ancestors: []string{"ffi.Object", "a.Bad"}, Library: "liba.so"},
			{Key: "a.Bad", Ancestors: []string{"ffi.Object"}, Library: "liba.so", TotalSize: 32, Fields: []Field{{Name: "f", Type: TypeSchema{Name: "int"}, Offset: 30, Size: 8, Alignment: 8}}},
			{Key: "ffi.Object"},
			{Key: "a.Good", Ancestors: []string{"ffi.Object"}, Library: "liba.so", Methods: []Method{{Name: "m", Signature: &Signature{}}, {Name: "m", Signature: &Signature{}}}},
		},
	}
	if s.Validate() == nil {
		t.Fatal("the schema is valid to begin with")
	}
	s.SetAside()
	s.Sort()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if f := s.Functions[0]; f.Name != "a.flawed" || f.Signature != nil || !strings.Contains(f.Flaw, "UTF-8") {
		t.Errorf("function %+v, want a packed one with a flaw", f)
	}
	good := s.Types[slices.IndexFunc(s.Types, func(t Type) bool { return t.Key == "a.Good" })]
	if m := good.Methods; len(m) != 1 {
		t.Errorf("%d methods, want only the first of two without a signature", len(m))
	}
	if m := good.Methods[0]; m.Signature != nil || !strings.Contains(m.Flaw, "the name of a type is empty") {
		t.Errorf("method %+v, want a packed one with a flaw", m)
	}
	if len(s.Functions) != 2 || len(s.Types) != 2 || len(s.Flaws) != 3 {
		t.Fatalf("%d functions, %d types, flaws %q", len(s.Functions), len(s.Types), s.Flaws)
	}
	for i, want := range []string{`function a.\xff UTF-8`, "type a.Bad outside", "type a.Child not in the schema"} {
		f := s.Flaws[i]
		for _, part := range strings.SplitN(want, " ", 3) {
			if !strings.Contains(f.Kind+" "+f.Name+" "+f.Reason, part) {
				t.Errorf("flaw %d is %q, want %q in it", i, f, part)
			}
		}
	}
	data, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data)
	if err != nil || len(back.Flaws) != 3 {
		t.Fatalf("flaws after a round trip: %q, %v", back.Flaws, err)
	}
}

// TestValidate_libraries changes one thing of a good library at a time.
func TestValidate_libraries(t *testing.T) {
	long := strings.Repeat("x", 4097)
	good := Library{File: "liba.so", Role: RoleBound, SHA256: strings.Repeat("0f", 32), Package: "a", PackageVersion: "1.0", PathInPackage: "a/liba.so"}
	for _, c := range []struct {
		change func(*Library)
		want   string
	}{
		{func(*Library) {}, ""},
		{func(l *Library) { l.SHA256, l.Package, l.PackageVersion, l.PathInPackage = "", "", "", "" }, ""},
		{func(l *Library) { l.File = strings.Repeat("x", 4096) }, ""},
		{func(l *Library) { l.File = "" }, "the file is empty"},
		{func(l *Library) { l.File = long }, "the limit is"},
		{func(l *Library) { l.File = "lib\xff.so" }, "the file: "},
		{func(l *Library) { l.File = "a/liba.so" }, "base name"},
		{func(l *Library) { l.File = `a\liba.so` }, "base name"},
		{func(l *Library) { l.File = "." }, "base name"},
		{func(l *Library) { l.File = ".." }, "base name"},
		{func(l *Library) { l.Role = "" }, `unknown role ""`},
		{func(l *Library) { l.SHA256 = strings.Repeat("0F", 32) }, "sha256"},
		{func(l *Library) { l.SHA256 = l.SHA256[1:] }, "sha256"},
		{func(l *Library) { l.SHA256 += "0" }, "sha256"},
		{func(l *Library) { l.Package = long }, "limit"},
		{func(l *Library) { l.PackageVersion = long }, "limit"},
		{func(l *Library) { l.PathInPackage = long }, "limit"},
		{func(l *Library) { l.Package = "a\xff" }, "UTF-8"},
		{func(l *Library) { l.PackageVersion = "1\xff" }, "UTF-8"},
		{func(l *Library) { l.PathInPackage = "a\xff" }, "UTF-8"},
		{func(l *Library) { l.PathInPackage = "/a/liba.so" }, "must be relative"},
		{func(l *Library) { l.PathInPackage = `a\liba.so` }, "must be relative"},
		{func(l *Library) { l.PathInPackage = "c:a/liba.so" }, "must be relative"},
		{func(l *Library) { l.PathInPackage = "a/../liba.so" }, "must be relative"},
	} {
		l := good
		c.change(&l)
		s := Schema{Format: FormatVersion, Libraries: []Library{l}, Types: []Type{{Key: "ffi.Object"}}}
		err := s.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+.200q: got %v, want %q", l, err, c.want)
		}
	}
}

// TestValidate_items changes one thing of a good schema at a time, to each side of the
// limits. The limits are numbers here, because a file that one version accepts is good for the next.
func TestValidate_items(t *testing.T) {
	integer := TypeSchema{Name: "int"}
	good := func() Schema {
		return Schema{
			Format:    FormatVersion,
			Libraries: []Library{{File: "liba.so", Role: RoleBound}, {File: "libb.so", Role: RoleBound}},
			Functions: []Function{
				{Name: "a.f", Source: SourceGlobal, Library: "liba.so", Signature: &Signature{Params: []Param{{Type: integer}}, Return: integer}},
				{Name: "a.f", Source: SourceModule, Library: "liba.so"},
				{Name: "a.f", Source: SourceModule, Library: "libb.so"},
			},
			Types: []Type{
				{Key: "ffi.Object"},
				{Key: "a.A", Ancestors: []string{"ffi.Object"}, Library: "liba.so", TotalSize: 48, Attributes: []string{"x", "y"},
					Fields:  []Field{{Name: "f", Type: integer, Offset: 24, Size: 8, Alignment: 8}, {Name: "g", Type: integer, Offset: 40, Size: 8, Alignment: 8}},
					Methods: []Method{{Name: "m", Signature: &Signature{Return: integer}}, {Name: "n"}}},
				{Key: "a.B", Ancestors: []string{"ffi.Object", "a.A"}, Library: "libb.so"},
			},
			Flaws: []Flaw{{Kind: "function", Name: "a.bad", Library: "liba.so", Reason: "none"}},
		}
	}
	deep := func(n int) (t TypeSchema) {
		t = integer
		for range n {
			t = TypeSchema{Name: "Optional", Args: []TypeSchema{t}}
		}
		return t
	}
	chain := func(n int) []Type {
		var types []Type
		var keys []string
		for i := range n {
			key := "a.T" + strings.Repeat("x", i)
			types = append(types, Type{Key: key, Ancestors: slices.Clone(keys)})
			keys = append(keys, key)
		}
		return types
	}
	for i, c := range []struct {
		change func(*Schema)
		want   string
	}{
		{func(*Schema) {}, ""},
		{func(s *Schema) { s.Format++ }, "format is "},
		{func(s *Schema) { s.ABI.Major = -1 }, "not plausible"},
		{func(s *Schema) { s.ABI.Minor = 1<<20 + 1 }, "not plausible"},
		{func(s *Schema) { s.ABI.Patch = 1 << 20 }, ""},
		{func(s *Schema) { s.Libraries[1].File = "liba.so" }, `library "liba.so" occurs twice`},
		{func(s *Schema) { s.Libraries[1].Needs = []string{"liba.so"} }, ""},
		{func(s *Schema) { s.Libraries[0].Needs = []string{"liba.so"} }, `library "liba.so" needs "liba.so", which is not in the list before it`},

		{func(s *Schema) { s.Functions[0].Name = "" }, `function "": the name is empty`},
		{func(s *Schema) { s.Functions[0].Source = "other" }, "unknown source"},
		{func(s *Schema) { s.Functions[0].Library = "" }, ""},
		{func(s *Schema) { s.Functions[1].Library = "" }, "needs its library"},
		{func(s *Schema) { s.Functions[0].Library = "libc.so" }, "not in the list of libraries"},
		{func(s *Schema) { s.Functions[0].Reported = true }, ""},
		{func(s *Schema) { s.Functions[1].Reported = true }, "there is no signature"},
		{func(s *Schema) { s.Functions[2].Library = "liba.so" }, `function "a.f" occurs twice`},
		{func(s *Schema) { s.Functions[1].Source = SourceGlobal }, `function "a.f" occurs twice`},
		{func(s *Schema) { s.Functions[0].Signature.Params[0].Name = "\xff" }, "parameter 0: the text is not valid UTF-8"},
		{func(s *Schema) { s.Functions[0].Signature.Params[0].Note = "\xff" }, "parameter 0: the text is not valid UTF-8"},
		{func(s *Schema) { s.Functions[0].Signature.Params[0].Type.Name = "" }, "parameter 0: the name of a type is empty"},
		{func(s *Schema) { s.Functions[0].Signature.Return.Name = "" }, "result: the name of a type is empty"},
		{func(s *Schema) {
			s.Functions[0].Signature.Params = slices.Repeat([]Param{{Type: integer}}, 1<<16)
		}, ""},
		{func(s *Schema) {
			s.Functions[0].Signature.Params = slices.Repeat([]Param{{Type: integer}}, 1<<16+1)
		}, "parameters, the limit is"},
		{func(s *Schema) { s.Functions[0].Signature.Return = deep(MaxDepth - 1) }, ""},
		{func(s *Schema) { s.Functions[0].Signature.Return = deep(MaxDepth) }, "nest deeper"},
		{func(s *Schema) {
			s.Functions[0].Signature.Return = TypeSchema{Name: nameFunction, Args: []TypeSchema{integer}}
		}, "must hold its signature in func"},
		{func(s *Schema) { s.Functions[0].Signature.Return.Func = &Signature{Return: integer} }, "is not a function"},
		{func(s *Schema) {
			s.Functions[0].Signature.Return = TypeSchema{Name: nameFunction, Func: &Signature{Return: TypeSchema{}}}
		}, "result: the name of a type is empty"},
		{func(s *Schema) { s.Functions[0].Signature.Return.Args = []TypeSchema{integer} }, "takes no type arguments"},
		{func(s *Schema) {
			s.Functions[0].Signature.Return = TypeSchema{Name: "Optional", Args: []TypeSchema{{}}}
		}, "the name of a type is empty"},

		{func(s *Schema) { s.Types[2].Key = "a.A" }, `type "a.A" occurs twice`},
		{func(s *Schema) { s.Types[2].Key = "" }, "the key is empty"},
		{func(s *Schema) { s.Types[2].Library = "libc.so" }, "not in the list of libraries"},
		{func(s *Schema) { s.Types[2].TotalSize = -1 }, "total size -1"},
		{func(s *Schema) { s.Types[2].TotalSize = 1 << 30 }, ""},
		{func(s *Schema) { s.Types[2].TotalSize = 1<<30 + 1 }, "out of range"},
		{func(s *Schema) { s.Types[2].Attributes = make([]string, 1<<16+1) }, "more than"},
		{func(s *Schema) { s.Types[2].Fields = make([]Field, 1<<16+1) }, "more than"},
		{func(s *Schema) { s.Types[2].Methods = make([]Method, 1<<16+1) }, "more than"},
		{func(s *Schema) { s.Types[1].Attributes[0] = "" }, "the name of an attribute is empty"},
		{func(s *Schema) { s.Types[1].Attributes[0] = "y" }, `attribute "y" occurs twice`},
		{func(s *Schema) { s.Types[1].Methods[0].Name = "" }, `method "": the name is empty`},
		{func(s *Schema) { s.Types[1].Methods[0].Name = "n" }, `method "n": it occurs twice`},
		{func(s *Schema) { s.Types[1].Methods[0].Signature.Return.Name = "" }, `method "m": signature: result`},
		{func(s *Schema) { s.Types[1].Methods[0].Metadata = map[string]any{"": func() {}} }, `method "m": `},
		{func(s *Schema) { s.Types[1].Fields[0].Metadata = map[string]any{"": func() {}} }, `field "f": `},
		{func(s *Schema) { s.Functions[0].Metadata = map[string]any{"": func() {}} }, `function "a.f": `},
		{func(s *Schema) { s.Types[1].Fields[0].Name = "" }, `field "": the name is empty`},
		{func(s *Schema) { s.Types[1].Fields[0].Name = "g" }, `field "g": it occurs twice`},
		{func(s *Schema) { s.Types[1].Fields[0].Type.Name = "" }, `field "f": the name of a type is empty`},
		{func(s *Schema) { s.Types[1].Fields[0].Offset = -1 << 16 }, ""},
		{func(s *Schema) { s.Types[1].Fields[0].Offset = -1<<16 - 1 }, "out of range"},
		{func(s *Schema) { s.Types[1].TotalSize, s.Types[1].Fields[0].Offset = 0, 1<<30 }, ""},
		{func(s *Schema) { s.Types[1].TotalSize, s.Types[1].Fields[0].Offset = 0, 1<<30+1 }, "out of range"},
		{func(s *Schema) { s.Types[1].Fields[0].Size = -1 }, "size -1 is out of range"},
		{func(s *Schema) { s.Types[1].TotalSize, s.Types[1].Fields[0].Size = 0, 1<<30 }, ""},
		{func(s *Schema) { s.Types[1].TotalSize, s.Types[1].Fields[0].Size = 0, 1<<30+1 }, "out of range"},
		{func(s *Schema) { s.Types[1].Fields[1].Offset = 41 }, "lie outside the object"},
		{func(s *Schema) { s.Types[1].Fields[0].Alignment = 0 }, ""},
		{func(s *Schema) { s.Types[1].Fields[0].Alignment = -8 }, "not a power of two"},
		{func(s *Schema) { s.Types[1].Fields[0].Alignment = 12 }, "not a power of two"},
		{func(s *Schema) { s.Types[1].Fields[0].Alignment = 1 << 16 }, ""},
		{func(s *Schema) { s.Types[1].Fields[0].Alignment = 1 << 17 }, "not a power of two"},
		{func(s *Schema) { s.Types[2].Ancestors = []string{"ffi.Object", "a.B"} }, `form a cycle at "a.B"`},
		{func(s *Schema) { s.Types[2].Ancestors = []string{"ffi.Object", "ffi.Object"} }, `form a cycle at "ffi.Object"`},
		{func(s *Schema) { s.Types[2].Ancestors[1] = "a.C" }, `"a.C" is not in the schema`},
		{func(s *Schema) { s.Types[2].Ancestors = []string{"a.A"} }, "disagree with the ancestors of"},
		{func(s *Schema) { s.Types = chain(129) }, ""},
		{func(s *Schema) { s.Types = chain(130) }, "ancestors, the limit is"},

		{func(s *Schema) { s.Flaws[0].Kind = "\xff" }, `flaw "a.bad": the text is not valid UTF-8`},
		{func(s *Schema) { s.Flaws[0].Name = "\xff" }, "the text is not valid UTF-8"},
		{func(s *Schema) { s.Flaws[0].Library = "\xff" }, "the text is not valid UTF-8"},
		{func(s *Schema) { s.Flaws[0].Reason = "\xff" }, "the text is not valid UTF-8"},
		{func(s *Schema) { s.Flaws = make([]Flaw, 1<<20) }, ""},
		{func(s *Schema) { s.Flaws = make([]Flaw, 1<<20+1) }, "flaws; the limit is"},
		{func(s *Schema) { s.Functions = make([]Function, 1<<20+1) }, "the limit is"},
		{func(s *Schema) { s.Types = make([]Type, 1<<20+1) }, "the limit is"},
	} {
		s := good()
		c.change(&s)
		err := s.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("change %d: got %.300v, want %q", i, err, c.want)
		}
	}
}
