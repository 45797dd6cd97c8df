package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// graphOf makes a graph of lines such as "a b c": a imports b and c.
func graphOf(lines ...string) *graph {
	g := &graph{edges: map[string]map[string]bool{}}
	dir := func(s string) string { return strings.TrimPrefix(s, ".") }
	for _, line := range lines {
		parts := strings.Fields(line)
		g.node(dir(parts[0]))
		for _, to := range parts[1:] {
			g.edge(dir(parts[0]), dir(to))
		}
	}
	return g
}

func TestHomes(t *testing.T) {
	cases := []struct {
		what  string
		graph *graph
		want  map[string]string
	}{
		{"no cycle", graphOf("a b", "b c"), map[string]string{"a": "a", "b": "b", "c": "c"}},
		{"itself", graphOf("a a"), map[string]string{"a": "a"}},
		{"two", graphOf("a b", "b a"), map[string]string{"a": "atypes", "b": "atypes"}},
		{"with what is above", graphOf("a a/b", "a/b a"), map[string]string{"a": "a", "a/b": "a"}},
		{"with the root", graphOf(". a/b", "a/b ."), map[string]string{"": "", "a/b": ""}},
		{"below one", graphOf("a/b a/c", "a/c a/b"), map[string]string{"a/b": "a/btypes", "a/c": "a/btypes"}},
		{"deep", graphOf("a/b/x c", "c a/b/x"), map[string]string{"a/b/x": "abxtypes", "c": "abxtypes"}},
		{"the new name is taken", graphOf("a b", "b a", "atypes a"), map[string]string{"a": "atypesx", "b": "atypesx", "atypes": "atypes"}},
		{"two cycles", graphOf("a b", "b a c", "c d", "d c"), map[string]string{"a": "atypes", "b": "atypes", "c": "ctypes", "d": "ctypes"}},
	}
	for _, c := range cases {
		got := c.graph.homes()
		for dir, want := range c.want {
			if got[dir] != want {
				t.Errorf("%s: the types of %q live in %q, want %q", c.what, dir, got[dir], want)
			}
		}
	}
}

func TestComponentsOfALongCycle(t *testing.T) {
	var lines []string
	for i := range 200 {
		lines = append(lines, string(rune('a'+i/26))+string(rune('a'+i%26))+" "+string(rune('a'+(i+1)%200/26))+string(rune('a'+(i+1)%200%26)))
	}
	if found := graphOf(lines...).components(); len(found) != 1 || len(found[0]) != 200 {
		t.Errorf("found %d components, want one of 200", len(found))
	}
}

func object(key string, methods ...string) schema.Type {
	t := schema.Type{Key: key, Ancestors: []string{rootKey}}
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
	s := schema.Schema{Types: []schema.Type{{Key: rootKey}, object("garden.Rose", "grow", "grow", "grow")}}
	p, err := Make(s, Config{Package: "garden", ImportPath: "example.com/garden", Prefixes: []string{"garden"}, Split: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range p.Entries {
		if e.Kind == KindMethod {
			names = append(names, e.GoName)
		}
	}
	if want := []string{"Rose.Grow", "Rose.Grow_grow_2", "Rose.Grow_grow_3"}; !slices.Equal(names, want) {
		t.Errorf("got the methods %q, want %q", names, want)
	}
}

func TestMarkersOfKeysThatConvertToOneName(t *testing.T) {
	names := markers([]schema.Type{object("a.b_c"), object("a.b.c"), object("a.d")})
	if names["a.b.c"] != "AsABC" || names["a.b_c"] != "AsABC_a_x2eb_c" || names["a.d"] != "AsAD" {
		t.Errorf("got %q", names)
	}
}

func TestFrames(t *testing.T) {
	for units, want := range map[int]string{0: "Call1", 1: "Call1", 5: "Call6", 9: "Call12", 32: "Call32", 33: "CallN"} {
		if got := frame(units); got != want {
			t.Errorf("frame(%d) = %s, want %s", units, got, want)
		}
	}
}
