package gen

import (
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/gen/internal/place"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// planGarden plans what the prefix garden of a schema asks for.
func planGarden(t *testing.T, s schema.Schema) *place.Places {
	t.Helper()
	s.Types = append([]schema.Type{{Key: plan.RootKey}}, s.Types...)
	p, err := stages(s, config.Config{Package: "garden", ImportPath: "example.com/garden", Choices: config.Choices{Prefixes: []string{"garden"}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
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

// TestOverloads names methods of one name by their order.
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
	const root = "Its methods Release and String come from [tvmffi.Object]."
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
