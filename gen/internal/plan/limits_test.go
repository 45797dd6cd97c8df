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
		if got := p.Packages[0].objects[0].Statics != nil; got != (c.want == Generated) {
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
