package plan

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

func TestList(t *testing.T) {
	cases := []struct {
		links string
		most  int
		want  string
	}{
		{"", 4, ""},
		{"[A]", 4, "[A]"},
		{"[A] [B]", 4, "[A] and [B]"},
		{"[A] [B] [C]", 2, "[A], [B] and [C]"}, // no shorter with a number
		{"[A] [B] [C] [D]", 2, "[A], [B] and 2 more types"},
	}
	for _, c := range cases {
		if got := list(strings.Fields(c.links), "and", c.most, "type"); got != c.want {
			t.Errorf("list(%s, %d) = %q, want %q", c.links, c.most, got, c.want)
		}
	}
}

// TestInheritedMembers has three generations, and a member that the last one declares again.
func TestInheritedMembers(t *testing.T) {
	plant, rose, briar := object("garden.Plant", "grow", "water"), object("garden.Rose", "prune"), object("garden.wild.Briar", "grow")
	rose.Ancestors = append(rose.Ancestors, plant.Key)
	briar.Ancestors = append(rose.Ancestors, rose.Key)
	p, err := Make(schema.Schema{Types: []schema.Type{{Key: rootKey}, plant, rose, briar}},
		Config{Package: "garden", ImportPath: "example.com/garden", Prefixes: []string{"garden"}, Split: true})
	if err != nil {
		t.Fatal(err)
	}
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
