package plan

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// graphOf makes a graph of lines such as "a 2 b c": a has two items and imports b and c.
func graphOf(lines ...string) *graph {
	g := newGraph()
	dir := func(s string) string { return strings.TrimPrefix(s, ".") }
	for _, line := range lines {
		parts := strings.Fields(line)
		n, _ := strconv.Atoi(parts[1])
		for range n {
			g.add(dir(parts[0]), nil)
		}
		for _, to := range parts[2:] {
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
		{"no cycle", graphOf("a 1 b", "b 2 c"), map[string]string{"a": "a", "b": "b", "c": "c"}},
		{"itself", graphOf("a 1 a"), map[string]string{"a": "a"}},
		{"the larger", graphOf("a 1 b", "b 2 a"), map[string]string{"a": "b", "b": "b"}},
		{"the first of two", graphOf("b 1 a", "a 1 b"), map[string]string{"a": "a", "b": "a"}},
		{"the upper of two", graphOf("a/b 1 c", "c 1 a/b"), map[string]string{"a/b": "c", "c": "c"}},
		{"larger than the root", graphOf(". 1 a", "a 2 ."), map[string]string{"": "", "a": ""}},
		{"two cycles", graphOf("a 1 b", "b 1 a c", "c 1 d", "d 2 c"), map[string]string{"a": "a", "b": "a", "c": "d", "d": "d"}},
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
		lines = append(lines, string(rune('a'+i/26))+string(rune('a'+i%26))+" 1 "+string(rune('a'+(i+1)%200/26))+string(rune('a'+(i+1)%200%26)))
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
	if want := []string{"Rose.Grow", "Rose.Grow2", "Rose.Grow3"}; !slices.Equal(names, want) {
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
