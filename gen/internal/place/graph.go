package place

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// graph is the import graph of the output before cycles are broken: directories, what
// is in them, and their imports.
type graph struct {
	edges map[string]map[string]bool
	items map[string]int // types and functions
}

func newGraph() *graph { return &graph{map[string]map[string]bool{}, map[string]int{}} }

// add counts an item of a directory that mentions types of other directories.
func (g *graph) add(dir string, imports []string) {
	g.node(dir)
	g.items[dir]++
	for _, to := range imports {
		g.edge(dir, to)
	}
}

func (g *graph) node(dir string) {
	if g.edges[dir] == nil {
		g.edges[dir] = map[string]bool{}
	}
}

func (g *graph) edge(from, to string) {
	g.node(from)
	g.node(to)
	g.edges[from][to] = true
}

// homes returns the directory for the types of each directory. In a cycle it is the root
// or, if the root is not a member, the directory with the most items. If two have as many,
// it is the upper one, or the first.
func (g *graph) homes() map[string]string {
	homes := map[string]string{}
	for _, component := range g.components() {
		home := slices.MinFunc(component, func(a, b string) int {
			return cmp.Or(plan.Order(b == "")-plan.Order(a == ""), cmp.Compare(g.items[b], g.items[a]), cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b))
		})
		for _, dir := range component {
			homes[dir] = home
		}
	}
	return homes
}

// depth returns the number of directories between dir and the root.
func depth(dir string) int {
	if dir == "" {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// components returns the strongly connected components, each sorted, by
// Tarjan's algorithm.
func (g *graph) components() [][]string {
	t := tarjan{graph: g, index: map[string]int{}, low: map[string]int{}, onStack: map[string]bool{}}
	for _, dir := range slices.Sorted(maps.Keys(g.edges)) {
		if t.index[dir] == 0 {
			t.visit(dir)
		}
	}
	return t.found
}

type tarjan struct {
	graph      *graph
	index, low map[string]int // index starts at 1
	stack      []string
	onStack    map[string]bool
	found      [][]string
}

func (t *tarjan) visit(v string) {
	t.index[v] = len(t.index) + 1
	t.low[v] = t.index[v]
	t.stack = append(t.stack, v)
	t.onStack[v] = true
	for _, w := range slices.Sorted(maps.Keys(t.graph.edges[v])) {
		if t.index[w] == 0 {
			t.visit(w)
			t.low[v] = min(t.low[v], t.low[w])
		} else if t.onStack[w] {
			t.low[v] = min(t.low[v], t.index[w])
		}
	}
	if t.low[v] != t.index[v] {
		return
	}
	at := slices.Index(t.stack, v)
	component := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, w := range component {
		delete(t.onStack, w)
	}
	slices.Sort(component)
	t.found = append(t.found, component)
}
