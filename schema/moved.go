package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// moves maps the names of items to those that they have in another namespace.
type moves struct {
	types, functions map[string]string
}

// cutName splits a name at its last dot.
func cutName(name string) (namespace, short string) {
	at := strings.LastIndexByte(name, '.')
	return name[:max(at, 0)], name[at+1:]
}

// findMoves returns what moved, by the rules of [Diff].
func findMoves(old, new Schema) moves {
	short := func(key string) string { _, short := cutName(key); return short }
	before, after := names(old.typesByKey()), names(new.typesByKey())
	m := moves{types: paired(removed(before, after), removed(after, before), short, short)}
	for m.drop(old, new) {
	}
	m.findFunctions(globals(old.rename(m)), globals(new))
	return m
}

// findFunctions adds the functions that moved. Their signatures have the new names of types.
func (m *moves) findFunctions(before, after map[string]*Signature) {
	id := func(functions map[string]*Signature) func(string) string {
		return func(name string) string {
			_, short := cutName(name)
			return short + " " + signatureText(functions[name])
		}
	}
	m.functions = paired(removed(names(before), names(after)), removed(names(after), names(before)), id(before), id(after))
	certain := map[[2]string]bool{}
	for from, to := range m.types {
		certain[namespaces(from, to)] = true
	}
	for from, to := range m.functions {
		if before[from] != nil {
			certain[namespaces(from, to)] = true
		}
	}
	maps.DeleteFunc(m.functions, func(from, to string) bool { return !certain[namespaces(from, to)] })
}

// namespaces returns the namespaces of an item before and after.
func namespaces(from, to string) [2]string {
	a, _ := cutName(from)
	b, _ := cutName(to)
	return [2]string{a, b}
}

// drop removes the types whose interfaces differ. It reports whether there were any: then others
// may differ, too.
func (m moves) drop(old, new Schema) bool {
	differs := map[string]bool{}
	for _, c := range compareAll(old.rename(m), new) {
		switch c.Kind {
		case "function":
			continue // it may have the name of its type
		case "field", "method":
			c.Item, _ = cutName(c.Item)
		}
		differs[c.Item] = true
	}
	before := len(m.types)
	maps.DeleteFunc(m.types, func(_, to string) bool { return differs[to] })
	return len(m.types) < before
}

func names[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

// globals returns the signatures of the global functions.
func globals(s Schema) map[string]*Signature {
	m := map[string]*Signature{}
	for _, f := range s.Functions {
		if f.Source != SourceModule {
			m[f.Name] = f.Signature
		}
	}
	return m
}

// removed lists the names that only the first list has.
func removed(from, in []string) []string {
	has := map[string]bool{}
	for _, name := range in {
		has[name] = true
	}
	return slices.DeleteFunc(from, func(name string) bool { return has[name] })
}

// paired maps names to those with the same identity, if it is unique on both sides.
func paired(from, to []string, idFrom, idTo func(string) string) map[string]string {
	unique := func(names []string, id func(string) string) map[string]string {
		m := map[string]string{}
		for _, name := range names {
			if _, twice := m[id(name)]; twice {
				m[id(name)] = ""
			} else {
				m[id(name)] = name
			}
		}
		return m
	}
	out := map[string]string{}
	targets := unique(to, idTo)
	for id, name := range unique(from, idFrom) {
		if name != "" && targets[id] != "" {
			out[name] = targets[id]
		}
	}
	return out
}

// rename returns a copy of s in which the items have the names of m.
func (s Schema) rename(m moves) Schema {
	to := func(names map[string]string, name string) string { return cmp.Or(names[name], name) }
	name := func(t TypeSchema) string { return to(m.types, t.Name) }
	s.Functions, s.Types = slices.Clone(s.Functions), slices.Clone(s.Types)
	for i := range s.Functions {
		f := &s.Functions[i]
		if f.Signature = f.Signature.Renamed(name); f.Source != SourceModule {
			f.Name = to(m.functions, f.Name)
		}
	}
	for i := range s.Types {
		t := &s.Types[i]
		t.Key, t.Ancestors, t.Fields, t.Methods = to(m.types, t.Key), slices.Clone(t.Ancestors), slices.Clone(t.Fields), slices.Clone(t.Methods)
		for k, key := range t.Ancestors {
			t.Ancestors[k] = to(m.types, key)
		}
		for k := range t.Fields {
			t.Fields[k].Type = t.Fields[k].Type.Renamed(name)
		}
		for k := range t.Methods {
			t.Methods[k].Signature = t.Methods[k].Signature.Renamed(name)
		}
	}
	return s
}

// changes returns a change for each pair of namespaces between which something moved.
func (m moves) changes() []Change {
	groups := map[[2]string]*Change{}
	for _, x := range []struct {
		kind string
		all  map[string]string
	}{{"function", m.functions}, {"type", m.types}} {
		for _, from := range slices.Sorted(maps.Keys(x.all)) {
			pair := namespaces(from, x.all[from])
			g := groups[pair]
			if g == nil {
				all := join(pair[0], "*")
				g = &Change{Breaking: true, Action: Moved, Kind: "namespace", Item: all, Old: all, New: join(pair[1], "*")}
				groups[pair] = g
			}
			_, short := cutName(from)
			g.Items = append(g.Items, x.kind+" "+short)
		}
	}
	var out []Change
	for _, g := range groups {
		out = append(out, *g)
	}
	return out
}

func join(namespace, name string) string { return strings.TrimPrefix(namespace+"."+name, ".") }

// fold replaces what m explains among changes: moves, and items that changed only in the names of
// types. remaining is what differs apart from the names.
func (m moves) fold(changes, remaining []Change) []Change {
	id := func(c Change) string { return strings.Join([]string{c.Kind, c.Item, string(c.Action), c.Aspect}, " ") }
	other := map[string]bool{}
	for _, c := range remaining {
		other[id(c)] = true
	}
	out := m.changes()
	named := Change{Breaking: true, Action: Changed, Kind: "name"}
	for _, c := range changes {
		if other[id(c)] {
			out = append(out, c)
		} else if c.Action == Changed {
			named.Items = append(named.Items, c.Kind+" "+c.Item)
		}
	}
	if len(named.Items) > 0 {
		slices.Sort(named.Items)
		out = append(out, named)
	}
	return out
}

// listed counts the items of c and shows some.
func (c Change) listed() string {
	counts := map[string]int{}
	var short []string
	for _, item := range c.Items {
		kind, name, _ := strings.Cut(item, " ")
		counts[kind]++
		if !slices.Contains(short, name) {
			short = append(short, name)
		}
	}
	var size []string
	for _, kind := range []string{"function", "type", "field", "method", "constructor"} {
		if n := counts[kind]; n == 1 {
			size = append(size, "1 "+kind)
		} else if n > 1 {
			size = append(size, fmt.Sprintf("%d %ss", n, kind))
		}
	}
	const shown = 4
	text := strings.Join(short[:min(len(short), shown)], ", ")
	if len(short) > shown {
		text += ", ..."
	}
	return fmt.Sprintf("(%s): %s", strings.Join(size, ", "), text)
}
