package gen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// TestNamesOfMore applies two names files of a whole library to bindings of a part of it.
func TestNamesOfMore(t *testing.T) {
	s := bedSchema()
	c := NewConfig("garden", "example.com/app/garden")
	c.Prefixes, c.Split = []string{"garden.bed"}, new(bool)
	c.Names = []hints.File{
		{Namespaces: map[string]string{"ant": "ants", "garden": "all", "garden.bed": "beds"}, Items: map[string]hints.Item{"ant.bite": {Doc: "bites"}}},
		{Items: map[string]hints.Item{"ant.bite": {Doc: "bites"}, "ant.walk": {Doc: "walks"}}},
	}
	files, report, err := Generate(s, c)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		all.Write(f.Content)
	}
	if text := all.String(); !strings.Contains(text, "// beds") || strings.Contains(text, "// ants") || strings.Contains(text, "// all") {
		t.Errorf("the package has the docs of a namespace that it does not bind:\n%s", text)
	}
	if want := []string{"ant.bite", "ant.walk"}; !slices.Equal(report.Unused, want) {
		t.Errorf("unused items %q, want %q", report.Unused, want)
	}
}

// TestNamesOfRoot has a doc for the root of a library whose names share no namespace.
func TestNamesOfRoot(t *testing.T) {
	s := bedSchema()
	for _, name := range []string{"ant.bite", "bite"} {
		f := s.Functions[0]
		f.Name = name
		s.Functions = append(s.Functions, f)
	}
	c := NewConfig("garden", "example.com/app/garden")
	c.Names = []hints.File{{Namespaces: map[string]string{"": "everything", "ant": "ants"}}}
	files, _, err := Generate(s, c)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"library_gen.go": "// everything", "ant/library_gen.go": "// ants"} {
		i := slices.IndexFunc(files, func(f File) bool { return f.Path == name })
		if i < 0 || !strings.Contains(string(files[i].Content), want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
}

// TestNamesOfItems gives Go names in names files: the first counts, and a name that is taken gets
// a suffix.
func TestNamesOfItems(t *testing.T) {
	s := bedSchema()
	dig := s.Functions[0]
	dig.Name = "garden.bed.dig"
	s.Functions = append(s.Functions, dig)
	c := NewConfig("garden", "example.com/app/garden")
	c.Names = []hints.File{
		{Items: map[string]hints.Item{"garden.bed.water": {Name: "Sprinkle"}, "garden.bed.dig": {Name: "Load"}}},
		{Items: map[string]hints.Item{"garden.bed.water": {Name: "Drown"}}},
	}
	_, report, err := Generate(s, c)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range report.Entries {
		got[e.Name] = e.GoName
	}
	if got["garden.bed.water"] != "Sprinkle" || got["garden.bed.dig"] != "LoadFunc" {
		t.Errorf("names %v", got)
	}
}

// TestAccepts_deep has types each of which accepts the next twice. Without a limit a parameter
// of the first would have 2^40 alternatives.
func TestAccepts_deep(t *testing.T) {
	const depth = 40
	s := bedSchema()
	s.Types = []schema.Type{{Key: "ffi.Object"}}
	key := func(i int) schema.TypeSchema { return schema.TypeSchema{Name: fmt.Sprintf("garden.bed.T%d", i)} }
	for i := range depth {
		next := key(i + 1)
		s.Types = append(s.Types, schema.Type{
			Key: key(i).Name, Ancestors: []string{"ffi.Object"}, Library: "libgarden.so",
			Accepts: &schema.TypeSchema{Name: "Variant", Args: []schema.TypeSchema{key(i), next, next}},
		})
	}
	s.Types = append(s.Types, schema.Type{Key: key(depth).Name, Ancestors: []string{"ffi.Object"}, Library: "libgarden.so"})
	s.Functions[0].Signature.Params[0].Type = key(0)
	c := NewConfig("garden", "example.com/app/garden")
	files, _, err := Generate(s, c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(files, func(f File) bool { return strings.Contains(string(f.Content), "AsT40()") }) {
		t.Error("the parameter does not take the last type")
	}
}

// bedSchema is a library with a function in a namespace.
func bedSchema() schema.Schema {
	number := schema.TypeSchema{Name: "int"}
	return schema.Schema{
		Format: schema.FormatVersion, ABI: schema.Version{Minor: 1, Patch: 16},
		Libraries: []schema.Library{{File: "libgarden.so", Role: schema.RoleBound}},
		Functions: []schema.Function{{
			Name: "garden.bed.water", Source: schema.SourceGlobal, Library: "libgarden.so",
			Signature: &schema.Signature{Params: []schema.Param{{Type: number}}, Return: number},
		}},
	}
}
