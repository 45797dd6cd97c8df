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
			{Key: "a.Good", Ancestors: []string{"ffi.Object"}, Library: "liba.so", Methods: []Method{{Name: "m", Signature: &Signature{}}}},
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
	long := strings.Repeat("x", maxNameLen+1)
	good := Library{File: "liba.so", Role: RoleBound, SHA256: strings.Repeat("0f", 32), Package: "a", PackageVersion: "1.0", PathInPackage: "a/liba.so"}
	for _, c := range []struct {
		change func(*Library)
		want   string
	}{
		{func(*Library) {}, ""},
		{func(l *Library) { l.SHA256, l.Package, l.PackageVersion, l.PathInPackage = "", "", "", "" }, ""},
		{func(l *Library) { l.File = strings.Repeat("x", maxNameLen) }, ""},
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
