package place

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
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

func TestMarkersOfKeysThatConvertToOneName(t *testing.T) {
	names := markers(map[string]*schema.Type{"a.b_c": nil, "a.b.c": nil, "a.d": nil})
	if names["a.b.c"] != "AsABC" || names["a.b_c"] != "AsABC_a_x2eb_c" || names["a.d"] != "AsAD" {
		t.Errorf("got %q", names)
	}
}

// TestClosure: libraries that need each other are loaded with the one that is asked for. libtvm_ffi is always loaded.
func TestClosure(t *testing.T) {
	p := &Places{Items: &classify.Items{Schema: schema.Schema{Libraries: []schema.Library{
		{File: "ffi", Role: schema.RoleBound}, {File: "a", Role: schema.RoleBound, Needs: []string{"ffi", "b"}},
		{File: "b", Role: schema.RoleBound, Needs: []string{"a"}}, {File: "c", Role: schema.RoleBound, Needs: []string{"c"}},
	}}}}
	for owner, want := range map[string]string{"ffi": "ffi ", "a": "a b ", "b": "a b ", "c": "c "} {
		got := ""
		for _, l := range p.closure(owner) {
			got += l.File + " "
		}
		if got != want {
			t.Errorf("for %s: %q, want %q", owner, got, want)
		}
	}
}
