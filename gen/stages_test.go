package gen

import (
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/place"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// planGarden plans what the prefix garden of a schema asks for.
func planGarden(t *testing.T, s schema.Schema, skip ...string) *place.Places {
	t.Helper()
	s.Types = append([]schema.Type{{Key: plan.RootKey}}, s.Types...)
	p, err := stages(s, plan.Config{Package: "garden", ImportPath: "example.com/garden", Prefixes: []string{"garden"}, Split: true, Skip: skip})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// entryOf returns the entry of an item.
func entryOf(t *testing.T, p *place.Places, name string) *plan.Entry {
	t.Helper()
	i := slices.IndexFunc(p.Entries, func(e *plan.Entry) bool { return e.Name == name })
	if i < 0 {
		t.Fatalf("no entry for %s", name)
	}
	return p.Entries[i]
}

// TestSkipConstructor leaves out the constructor, and keeps its type.
func TestSkipConstructor(t *testing.T) {
	rose := object("garden.Rose")
	rose.Attributes = []string{plan.InitName}
	s := schema.Schema{Types: []schema.Type{rose}}
	const name = "garden.Rose." + plan.InitName
	for _, c := range []struct {
		skip string
		want Status
	}{{"", Generated}, {name, Skipped}} {
		var skip []string
		if c.skip != "" {
			skip = append(skip, c.skip)
		}
		p := planGarden(t, s, skip...)
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
	for n, want := range map[int]Status{128: Generated, 129: Opaque} {
		params := make([]schema.Param, n)
		for i := range params {
			params[i].Type.Name = "int"
		}
		p := planGarden(t, schema.Schema{Functions: []schema.Function{{Name: "garden.water", Source: schema.SourceGlobal,
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
	rose.Attributes = []string{plan.InitName}
	for _, name := range []string{"first", "hidden", "second"} {
		f := schema.Field{Name: name, Type: schema.TypeSchema{Name: "int"}, Offset: 24}
		if name == "hidden" {
			f.Flags = schema.FlagInitOff
		}
		rose.Fields = append(rose.Fields, f)
	}
	p := planGarden(t, schema.Schema{Types: []schema.Type{rose}})
	if got, want := p.Packages[0].Objects[0].Statics[0].Sig, "(first: int, second: int)"; got != want {
		t.Errorf("the constructor takes %s, want %s", got, want)
	}
}

// object returns an object type with methods of one parameter, two and so on.
func object(key string, methods ...string) schema.Type {
	t := schema.Type{Key: key, Ancestors: []string{plan.RootKey}}
	for i, name := range methods {
		params := make([]schema.Param, i+1)
		params[0].Type.Name = key
		for k := 1; k <= i; k++ {
			params[k].Type.Name = "int"
		}
		t.Methods = append(t.Methods, schema.Method{Name: name, Signature: &schema.Signature{Params: params, Return: schema.TypeSchema{Name: "None"}}})
	}
	return t
}

// TestOverloads plans a schema that Validate would refuse: the registry does not
// keep a library from registering a method name twice.
func TestOverloads(t *testing.T) {
	p := planGarden(t, schema.Schema{Types: []schema.Type{object("garden.Rose", "grow", "grow", "grow")}})
	var names []string
	for _, e := range p.Entries {
		if e.Kind == KindMethod {
			names = append(names, e.GoName)
		}
	}
	if want := []string{"Rose.Grow", "Rose.Grow2", "Rose.Grow3"}; !slices.Equal(names, want) {
		t.Errorf("got the methods %q, want %q", names, want)
	}
}

// TestInheritedMembers has three generations, and a member that the last one declares again.
func TestInheritedMembers(t *testing.T) {
	plant, rose, briar := object("garden.Plant", "grow", "water"), object("garden.Rose", "prune"), object("garden.wild.Briar", "grow")
	rose.Ancestors = append(rose.Ancestors, plant.Key)
	briar.Ancestors = append(rose.Ancestors, rose.Key)
	p := planGarden(t, schema.Schema{Types: []schema.Type{plant, rose, briar}})
	about := map[string]string{}
	for _, pkg := range p.Packages {
		for _, o := range pkg.Objects {
			about[o.GoName] = strings.Join(o.Doc.About, " ")
		}
	}
	const root = "Release and String are those of [tvmffi.Object]."
	for name, want := range map[string]string{
		"Plant": "In this package, [Rose] derives from it. " + root,
		"Rose":  "It derives from [Plant], and inherits [Plant.Grow] and [Plant.Water]. " + root,
		"Briar": "It derives from [garden.Rose] and [garden.Plant], and inherits [garden.Rose.Prune] and [garden.Plant.Water]. " + root,
	} {
		if about[name] != want {
			t.Errorf("the doc of %s is %q, want %q", name, about[name], want)
		}
	}
}
