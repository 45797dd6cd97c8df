package gen

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// preview returns the report of what c asks for, with the names of an earlier run.
func preview(t *testing.T, s schema.Schema, c Config, before *GoNames) Report {
	t.Helper()
	c.Before = before
	r, err := Preview(s, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkKept generates names for an old schema and then for a new one: what both have keeps its names,
// and a third run changes nothing.
func checkKept(t *testing.T, old, new schema.Schema, c Config) Report {
	t.Helper()
	before := preview(t, old, c, nil).Names
	r := preview(t, new, c, &before)
	if again := preview(t, new, c, &r.Names); !cmp.Equal(again.Names, r.Names) || len(again.Meanings) > 0 {
		t.Errorf("another run changes names: %s", cmp.Diff(r.Names, again.Names))
	}
	for dir, names := range before.Packages {
		now := slices.Collect(maps.Values(r.Names.Packages[dir]))
		for name, item := range names {
			if is := r.Names.Packages[dir][name]; is != item && slices.Contains(now, item) {
				t.Errorf("%s %s stood for %q, and now it stands for %q", dir, name, item, is)
			}
		}
	}
	return r
}

// thing makes schemas of a library. Functions take and return an int.
type thing struct {
	functions []string
	types     []schema.Type
}

func (th thing) schema() schema.Schema {
	number := schema.TypeSchema{Name: "int"}
	s := schema.Schema{Format: schema.FormatVersion, Libraries: []schema.Library{{File: "libtvm_ffi.so", Role: schema.RoleCore}, {File: "libcoll.so", Role: schema.RoleBound}}}
	s.Types = []schema.Type{{Key: "ffi.Object", Library: "libtvm_ffi.so"}}
	for _, name := range th.functions {
		s.Functions = append(s.Functions, schema.Function{Name: name, Source: schema.SourceGlobal, Library: "libcoll.so",
			Signature: &schema.Signature{Params: []schema.Param{{Type: number}}, Return: number}})
	}
	for _, t := range th.types {
		t.Library = "libcoll.so"
		if len(t.Ancestors) == 0 {
			t.Ancestors = []string{"ffi.Object"}
		}
		s.Types = append(s.Types, t)
	}
	return s
}

// member makes a type with writable fields, and methods that take a type each: "grow(int)".
func member(key string, fields []string, methods ...[2]string) schema.Type {
	t := schema.Type{Key: key}
	for i, name := range fields {
		t.Fields = append(t.Fields, schema.Field{Name: name, Type: schema.TypeSchema{Name: "int"}, Offset: 24 + 8*i, Size: 8, Alignment: 8, Flags: schema.FlagWritable})
	}
	for _, m := range methods {
		t.Methods = append(t.Methods, schema.Method{Name: m[0], Signature: &schema.Signature{
			Params: []schema.Param{{Type: schema.TypeSchema{Name: key}}, {Type: schema.TypeSchema{Name: m[1]}}}, Return: schema.TypeSchema{Name: "None"}}})
	}
	return t
}

func child(t schema.Type, parent string) schema.Type {
	t.Ancestors = []string{"ffi.Object", parent}
	return t
}

// keptCases are libraries and their next versions, whose new items would take names of old ones.
var keptCases = map[string][2]thing{
	"functions":           {{functions: []string{"coll.a_b", "coll.z"}}, {functions: []string{"coll.a_b", "coll.aB", "coll.AB", "coll.z"}}},
	"a type after a func": {{functions: []string{"coll.counted"}}, {functions: []string{"coll.counted"}, types: []schema.Type{member("coll.Counted", nil)}}},
	"a Ref":               {{types: []schema.Type{member("coll.Rose", nil)}}, {types: []schema.Type{member("coll.Rose", nil), member("coll.RoseRef", nil)}}},
	"types":               {{types: []schema.Type{member("coll.persona", nil)}}, {types: []schema.Type{member("coll.persona", nil), member("coll.Persona", nil)}}},
	"fields": {{types: []schema.Type{member("coll.R", []string{"foo_bar", "name", "len", "set_x"})}},
		{types: []schema.Type{member("coll.R", []string{"x", "foo_bar", "fooBar", "Name", "name", "len", "Len", "set_x", "SetLen"})}}},
	"methods": {{types: []schema.Type{member("coll.R", nil, [2]string{"get_all", "int"})}},
		{types: []schema.Type{member("coll.R", []string{"getAll"}, [2]string{"GetAll", "int"}, [2]string{"get_all", "int"})}}},
	"an overload before": {{types: []schema.Type{member("coll.R", nil, [2]string{"at", "int"})}},
		{types: []schema.Type{member("coll.R", nil, [2]string{"at", "float"}, [2]string{"at", "ffi.String"}, [2]string{"at", "int"})}}},
	"an overload between": {{types: []schema.Type{member("coll.R", nil, [2]string{"at", "float"}, [2]string{"at", "int"})}},
		{types: []schema.Type{member("coll.R", nil, [2]string{"at", "float"}, [2]string{"at", "ffi.String"}, [2]string{"at", "int"})}}},
	"a parent's field": {{types: []schema.Type{member("coll.P", nil), child(member("coll.R", []string{"foo_bar"}), "coll.P")}},
		{types: []schema.Type{member("coll.P", []string{"fooBar"}), child(member("coll.R", []string{"foo_bar"}), "coll.P")}}},
	"the root":   {{functions: []string{"coll.soil.f"}}, {functions: []string{"coll.soil.f", "coll.f"}}},
	"two spaces": {{functions: []string{"coll.soil_a.f", "coll.g"}}, {functions: []string{"coll.soil_a.f", "coll.g", "coll.soila.f", "coll.Soila.F"}}},
}

// TestNamesAreKept adds items that would take the names of others.
func TestNamesAreKept(t *testing.T) {
	for name, c := range keptCases {
		t.Run(name, func(t *testing.T) {
			old, new := c[0].schema(), c[1].schema()
			config := NewConfig("coll", "example.com/coll")
			if r := checkKept(t, old, new, config); len(r.Meanings) > 0 {
				t.Errorf("names changed their meaning: %+v", r.Meanings)
			}
			before := preview(t, old, config, nil).Names
			for dir, names := range before.Packages {
				for name, item := range names {
					if is := preview(t, new, config, &before).Names.Packages[dir][name]; is != item {
						t.Errorf("%s stood for %q, and now it stands for %q", name, item, is)
					}
				}
			}
		})
	}
}

// TestNamesOfRealLibrariesAreKept takes items away from real schemas and gives them back.
func TestNamesOfRealLibrariesAreKept(t *testing.T) {
	for name, s := range realSchemas(t) {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(len(s.Functions))))
			old := s
			old.Functions = slices.DeleteFunc(slices.Clone(s.Functions), func(schema.Function) bool { return r.IntN(3) == 0 })
			old.Types = slices.Clone(s.Types)
			for i := range old.Types {
				typ := &old.Types[i]
				typ.Methods = slices.DeleteFunc(slices.Clone(typ.Methods), func(schema.Method) bool { return r.IntN(3) == 0 })
				typ.Fields = slices.DeleteFunc(slices.Clone(typ.Fields), func(schema.Field) bool { return r.IntN(3) == 0 })
			}
			if r := checkKept(t, old, s, everything(s)); len(r.Meanings) > 0 {
				t.Errorf("names changed their meaning: %+v", r.Meanings)
			}
			checkKept(t, s, old, everything(s))
		})
	}
}

// TestChangedMeanings has names that must stand for other items: the old item is gone, or the
// configuration gives its name away.
func TestChangedMeanings(t *testing.T) {
	old := thing{functions: []string{"coll.a_b", "coll.z"}}.schema()
	config := NewConfig("coll", "example.com/coll")
	before := preview(t, old, config, nil).Names
	meaning := Meaning{Package: ".", GoName: "AB", Was: "function:coll.a_b", Now: "function:coll.aB"}
	gone := meaning
	gone.Gone = true
	renamed := config
	renamed.Rename = map[string]string{"coll.aB": "AB"}
	for _, c := range []struct {
		functions []string
		config    Config
		want      Meaning
	}{{[]string{"coll.aB", "coll.z"}, config, gone}, {[]string{"coll.a_b", "coll.aB", "coll.z"}, renamed, meaning}} {
		got := preview(t, thing{functions: c.functions}.schema(), c.config, &before).Meanings
		if !slices.Equal(got, []Meaning{c.want}) {
			t.Errorf("%q: %+v, want %+v", c.functions, got, c.want)
		}
	}
}

// TestKeptExports gives the file of a library another name, and adds one that exports the same.
func TestKeptExports(t *testing.T) {
	exports := func(files ...string) schema.Schema {
		s := thing{}.schema()
		s.Libraries = s.Libraries[:1]
		for _, file := range files {
			s.Libraries = append(s.Libraries, schema.Library{File: file, Role: schema.RoleBound})
			s.Functions = append(s.Functions, schema.Function{Name: "add", Source: schema.SourceModule, Library: file})
		}
		return s
	}
	config := NewConfig("coll", "example.com/coll")
	before := preview(t, exports("libshop.so"), config, nil).Names
	for _, c := range []struct {
		files []string
		want  string
	}{{[]string{"libshop2.so"}, "export:add of shop2"}, {[]string{"libalpha.so", "libshop.so"}, "export:add of shop"}} {
		r := preview(t, exports(c.files...), config, &before)
		if got := r.Names.Packages["."]["Add"]; got != c.want || len(r.Meanings) > 0 {
			t.Errorf("%q: Add is %q, want %q; changed: %+v", c.files, got, c.want, r.Meanings)
		}
	}
}

// TestKeptOptions has an option whose name a new function would take, and another type of the option that
// would become the more frequent one.
func TestKeptOptions(t *testing.T) {
	pour := func(name, typ string) schema.Function {
		return schema.Function{Name: name, Source: schema.SourceGlobal, Library: "libcoll.so", Signature: &schema.Signature{
			Params: []schema.Param{{Name: "litres", Type: schema.TypeSchema{Name: typ}}}, Return: schema.TypeSchema{Name: "None"}}}
	}
	old, new := thing{}.schema(), thing{functions: []string{"coll.litres", "coll.water_option"}}.schema()
	old.Functions = []schema.Function{pour("coll.water", "int"), pour("coll.soak", "int"), pour("coll.drip", "bool")}
	new.Functions = append(new.Functions, append(slices.Clone(old.Functions), pour("coll.rain", "bool"), pour("coll.dew", "bool"))...)
	config := NewConfig("coll", "example.com/coll")
	config.Functions = map[string]hints.Item{}
	for _, f := range new.Functions {
		if f.Signature.Params[0].Name != "" {
			config.Functions[f.Name] = hints.Item{Default: map[string]hints.Constant{"litres": {Value: map[string]any{"int": int64(1), "bool": true}[f.Signature.Params[0].Type.Name]}}}
		}
	}
	oldConfig := config
	oldConfig.Functions = maps.Clone(config.Functions)
	delete(oldConfig.Functions, "coll.rain")
	delete(oldConfig.Functions, "coll.dew")
	before := preview(t, old, oldConfig, nil).Names
	r := preview(t, new, config, &before)
	for name, item := range before.Packages["."] {
		if got := r.Names.Packages["."][name]; got != item {
			t.Errorf("%s stood for %q, and now it stands for %q", name, item, got)
		}
	}
	if before.Packages["."]["Litres"] != "option:Litres" || before.Packages["."]["WaterOption"] == "" {
		t.Errorf("the names are %q", before.Packages)
	}
}

// TestKeptAndRenamed takes a name out of the configuration: the item loses it.
func TestKeptAndRenamed(t *testing.T) {
	s := thing{functions: []string{"coll.a_b", "coll.z"}, types: []schema.Type{member("coll.R", nil, [2]string{"at", "int"}, [2]string{"at", "bool"})}}.schema()
	config := NewConfig("coll", "example.com/coll")
	renamed := config
	renamed.Rename = map[string]string{"coll.a_b": "Z", "coll.R.at": "Find"}
	before := preview(t, s, renamed, nil).Names
	s.Types[1].Methods = slices.Insert(s.Types[1].Methods, 0, member("coll.R", nil, [2]string{"at", "float"}).Methods[0])
	again := preview(t, s, renamed, &before)
	for name, want := range map[string]string{"Z": "function:coll.a_b", "ZLower": "function:coll.z",
		"R.Find": "method:coll.R.at(int)", "R.Find2": "method:coll.R.at(bool)", "R.Find3": "method:coll.R.at(float)"} {
		if got, _, _ := strings.Cut(again.Names.Packages["."][name], ", "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	after := preview(t, s, config, &before)
	for name, want := range map[string]string{"AB": "function:coll.a_b", "R.At": "method:coll.R.at(float)"} {
		if got := after.Names.Packages["."][name]; got != want {
			t.Errorf("without the names of the configuration, %s is %q, want %q", name, got, want)
		}
	}
}
