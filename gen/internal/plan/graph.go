package plan

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// graph is the import graph of the output before cycles are broken: directories and
// their imports.
type graph struct{ edges map[string]map[string]bool }

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

// homes returns the directory for the types of each directory. In a cycle it is the
// directory above all its members, if that is a member, and otherwise a new directory
// beside them, named after the first.
func (g *graph) homes() map[string]string {
	homes := map[string]string{}
	for _, component := range g.components() {
		home := component[0]
		if len(component) > 1 {
			home = g.home(component)
		}
		for _, dir := range component {
			homes[dir] = home
		}
	}
	return homes
}

func (g *graph) home(component []string) string {
	above := commonDir(component)
	if slices.Contains(component, above) {
		return above
	}
	first := strings.TrimPrefix(component[0], above)
	home := path.Join(above, strings.ReplaceAll(first, "/", "")+"types")
	for g.edges[home] != nil {
		home += "x"
	}
	return home
}

// commonDir returns the deepest directory that contains all of the sorted dirs.
func commonDir(dirs []string) string {
	first, last := strings.Split(dirs[0], "/"), strings.Split(dirs[len(dirs)-1], "/")
	n := 0
	for n < len(first) && n < len(last) && first[n] == last[n] {
		n++
	}
	return path.Join(first[:n]...)
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
