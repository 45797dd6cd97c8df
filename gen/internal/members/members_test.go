package members

import (
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/place"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/gen/internal/types"
	"github.com/tvmffi-go/tvmffi/schema"
)

// planGarden plans the members of what the prefix garden of a schema asks for.
func planGarden(t *testing.T, s schema.Schema, skip ...string) *place.Places {
	t.Helper()
	s.Types = append([]schema.Type{{Key: plan.RootKey}}, s.Types...)
	items, err := classify.Select(s, config.Config{Package: "garden", ImportPath: "example.com/garden", Choices: config.Choices{Prefixes: []string{"garden"}, Skip: skip}})
	if err != nil {
		t.Fatal(err)
	}
	p := types.New(place.New(items))
	Describe(p)
	return p.Places
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
	rose := schema.Type{Key: "garden.Rose", Ancestors: []string{plan.RootKey}}
	rose.Attributes = []string{plan.InitName}
	s := schema.Schema{Types: []schema.Type{rose}}
	const name = "garden.Rose." + plan.InitName
	for _, c := range []struct {
		skip string
		want plan.Status
	}{{"", plan.Generated}, {name, plan.Skipped}} {
		var skip []string
		if c.skip != "" {
			skip = append(skip, c.skip)
		}
		p := planGarden(t, s, skip...)
		if got := entryOf(t, p, name).Status; got != c.want {
			t.Errorf("skip %q: the constructor is %s, want %s", skip, got, c.want)
		}
		if got := p.Packages[0].Objects[0].Statics != nil; got != (c.want == plan.Generated) {
			t.Errorf("skip %q: a constructor was planned: %t", skip, got)
		}
		if got := entryOf(t, p, "garden.Rose").Status; got != plan.Generated {
			t.Errorf("skip %q: the type is %s, want %s", skip, got, plan.Generated)
		}
	}
}

// TestMostParams plans a typed function with as many parameters as the largest frame
// holds, and a packed one for more.
func TestMostParams(t *testing.T) {
	for n, want := range map[int]plan.Status{128: plan.Generated, 129: plan.Opaque} {
		params := make([]schema.Param, n)
		for i := range params {
			params[i].Type.Name = "int"
		}
		p := planGarden(t, schema.Schema{Functions: []schema.Function{{Name: "garden.water", Source: schema.SourceGlobal,
			Signature: &schema.Signature{Params: params, Return: schema.TypeSchema{Name: "None"}}}}})
		e := entryOf(t, p, "garden.water")
		if e.Status != want || want == plan.Opaque && !strings.Contains(e.Reason, "129 parameters, the limit of a typed function is 128") {
			t.Errorf("%d parameters: %s, %q, want %s", n, e.Status, e.Reason, want)
		}
	}
}

// TestConstructorFields leaves out the fields that the constructor does not take, wherever
// they are declared.
func TestConstructorFields(t *testing.T) {
	rose := schema.Type{Key: "garden.Rose", Ancestors: []string{plan.RootKey}}
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
