package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Action says what happened to an item between two schemas.
type Action string

// The actions of changes.
const (
	Added   Action = "added"
	Removed Action = "removed"
	Changed Action = "changed"
	Moved   Action = "moved" // to another namespace
)

// Change is one difference between the interfaces of two schemas.
type Change struct {
	// Breaking says that code generated from the old schema, or a caller of it,
	// no longer works or compiles. The other changes are additive.
	Breaking bool   `json:"breaking"`
	Action   Action `json:"action"`
	// Kind is function, type, field, method or constructor. It is namespace for what moved, and
	// name for what changed only because it names types that moved. A tool that compares the names
	// of bindings, which Diff does not, says Go name.
	Kind string `json:"kind"`
	// Item is the name: of a function, of a type, or "type.member". It is "arith.*" for what
	// moved from the namespace arith.
	Item string `json:"item"`
	// Aspect says what changed: signature, parent, type, writable, static, parameters, meaning.
	// It is empty for what was added, removed or moved.
	Aspect string `json:"aspect,omitempty"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	// Items lists what moved, or names what moved, each with its kind: "function Simplify".
	Items []string `json:"items,omitempty"`
}

// String returns one line, such as
// "breaking: function garden.water changed: signature (int) -> None, was () -> None".
func (c Change) String() string {
	var b strings.Builder
	b.WriteString([2]string{"additive", "breaking"}[b2i(c.Breaking)])
	switch c.Kind {
	case "namespace":
		return fmt.Sprintf("%s: moved %s -> %s %s", &b, c.Old, c.New, c.listed())
	case "name":
		return fmt.Sprintf("%s: changed only by types that moved %s", &b, c.listed())
	}
	fmt.Fprintf(&b, ": %s %s %s", c.Kind, c.Item, c.Action)
	switch c.Action {
	case Changed:
		fmt.Fprintf(&b, ": %s %s, was %s", c.Aspect, c.New, c.Old)
	case Added:
		if c.New != "" {
			fmt.Fprintf(&b, ": %s", c.New)
		}
	case Removed:
		if c.Old != "" {
			fmt.Fprintf(&b, ": it was %s", c.Old)
		}
	}
	return b.String()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Diff compares the interfaces of two schemas. Docs, metadata, layout and files
// are not compared. Breaking changes come first, with what moved before the rest. Then the
// order is by item.
//
// Functions and types that moved from one namespace to another are one change. An item moved if it
// has the same name after the last dot, and the same signature or, for a type, the same parent,
// fields, methods and constructor. These may name other types that moved. Diff does not guess: if
// several items fit, or only functions without a signature would have moved between the two
// namespaces, it reports what was removed and what was added.
func Diff(old, new Schema) []Change {
	changes := compareAll(old, new)
	if m := findMoves(old, new); len(m.types)+len(m.functions) > 0 {
		changes = m.fold(changes, compareAll(old.rename(m), new))
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(b2i(b.Breaking)-b2i(a.Breaking), b2i(b.Action == Moved)-b2i(a.Action == Moved), cmp.Compare(a.Item, b.Item), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Action, b.Action), cmp.Compare(a.Aspect, b.Aspect), cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New))
	})
	return changes
}

// compareAll compares item by item.
func compareAll(old, new Schema) []Change {
	var d differ
	d.functions(old, new)
	d.types(old, new)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(c Change) { d.changes = append(d.changes, c) }

// compare reports items that only one side has, and calls both for the items that both have.
func compare[K comparable, V any](d *differ, kind string, old, new map[K]V, name func(V) string, text func(V) string, both func(a, b V)) {
	for k, a := range old {
		if b, ok := new[k]; ok {
			both(a, b)
		} else {
			d.add(Change{Breaking: true, Action: Removed, Kind: kind, Item: name(a), Old: text(a)})
		}
	}
	for k, b := range new {
		if _, ok := old[k]; !ok {
			d.add(Change{Action: Added, Kind: kind, Item: name(b), New: text(b)})
		}
	}
}

// changed reports a breaking change if the texts differ.
func (d *differ) changed(kind, item, aspect, old, new string) {
	if old != new {
		d.add(Change{Breaking: true, Action: Changed, Kind: kind, Item: item, Aspect: aspect, Old: old, New: new})
	}
}

func signatureText(s *Signature) string {
	if s == nil {
		return "packed"
	}
	return s.String()
}

func (d *differ) functions(old, new Schema) {
	from, to := renamedLibrary(old, new)
	index := func(s Schema) map[[3]string]Function {
		m := make(map[[3]string]Function, len(s.Functions))
		for _, f := range s.Functions {
			stem := f.ModuleStem()
			if stem == from {
				stem = to
			}
			m[[3]string{string(f.Source), stem, f.Name}] = f
		}
		return m
	}
	compare(d, "function", index(old), index(new),
		func(f Function) string { return f.Name },
		func(f Function) string { return signatureText(f.Noted()) },
		func(a, b Function) {
			d.changed("function", a.Name, "signature", signatureText(a.Noted()), signatureText(b.Noted()))
		})
}

// renamedLibrary returns the name of the only library with exports that new lacks, and of the only
// one that old lacks: they are one library under two file names. Both are empty if there is no such pair.
func renamedLibrary(old, new Schema) (from, to string) {
	exporting := func(s Schema) []string {
		var stems []string
		for _, f := range s.Functions {
			if stem := f.ModuleStem(); stem != "" && !slices.Contains(stems, stem) {
				stems = append(stems, stem)
			}
		}
		return stems
	}
	before, after := exporting(old), exporting(new)
	gone, added := removed(slices.Clone(before), after), removed(after, before)
	if len(gone) != 1 || len(added) != 1 {
		return "", ""
	}
	return gone[0], added[0]
}

func (d *differ) types(old, new Schema) {
	oldTypes, newTypes := old.typesByKey(), new.typesByKey()
	compare(d, "type", oldTypes, newTypes,
		func(t *Type) string { return t.Key },
		func(*Type) string { return "" },
		func(a, b *Type) {
			d.changed("type", a.Key, "parent", parentText(a), parentText(b))
			d.fields(a, b)
			d.methods(a, b)
			d.constructors(a.Key, autoInit(a, oldTypes), autoInit(b, newTypes))
		})
}

func parentText(t *Type) string {
	if len(t.Ancestors) == 0 {
		return "none"
	}
	return t.Ancestors[len(t.Ancestors)-1]
}

func (d *differ) fields(a, b *Type) {
	index := func(t *Type) map[string]Field {
		m := make(map[string]Field, len(t.Fields))
		for _, f := range t.Fields {
			m[f.Name] = f
		}
		return m
	}
	compare(d, "field", index(a), index(b),
		func(f Field) string { return a.Key + "." + f.Name },
		func(f Field) string { return f.Type.String() },
		func(x, y Field) {
			item := a.Key + "." + x.Name
			d.changed("field", item, "type", x.Type.String(), y.Type.String())
			before, after := x.Flags&FlagWritable != 0, y.Flags&FlagWritable != 0
			if before != after {
				d.add(Change{Breaking: before, Action: Changed, Kind: "field", Item: item, Aspect: "writable",
					Old: fmt.Sprint(before), New: fmt.Sprint(after)})
			}
		})
}

func (d *differ) methods(a, b *Type) {
	before, after := overloads(a.Methods, b.Methods), overloads(b.Methods, a.Methods)
	static := func(m Method) string { return fmt.Sprint(m.Flags&FlagIsStaticMethod != 0) }
	compare(d, "method", before, after,
		func(m Method) string { return a.Key + "." + m.Name },
		func(m Method) string { return signatureText(m.Signature) },
		func(x, y Method) {
			item := a.Key + "." + x.Name
			d.changed("method", item, "signature", signatureText(x.Signature), signatureText(y.Signature))
			d.changed("method", item, "static", static(x), static(y))
		})
}

// overloads returns methods by name and parameters. Of the methods of one name, the only one
// whose parameters others lack has none in its key: it is the one that changed.
func overloads(methods, others []Method) map[[2]string]Method {
	m := make(map[[2]string]Method, len(methods))
	changed := map[string][]Method{}
	for _, f := range methods {
		if slices.ContainsFunc(others, func(o Method) bool { return o.Name == f.Name && o.Params() == f.Params() }) {
			m[[2]string{f.Name, f.Params()}] = f
		} else {
			changed[f.Name] = append(changed[f.Name], f)
		}
	}
	for name, all := range changed {
		for _, f := range all {
			params := f.Params()
			if len(all) == 1 {
				params = "changed"
			}
			m[[2]string{name, params}] = f
		}
	}
	return m
}

// constructors compares automatic constructors. A new option is additive,
// because options are given by name.
func (d *differ) constructors(key string, old, new []initParam) {
	switch {
	case old == nil && new == nil:
	case old == nil:
		d.add(Change{Action: Added, Kind: "constructor", Item: key, New: initText(new)})
	case new == nil:
		d.add(Change{Breaking: true, Action: Removed, Kind: "constructor", Item: key, Old: initText(old)})
	case initText(old) != initText(new):
		breaking := false
		added := slices.DeleteFunc(slices.Clone(new), func(p initParam) bool { return slices.Contains(old, p) })
		for _, p := range added {
			breaking = breaking || !p.optional
		}
		for _, p := range old {
			breaking = breaking || !slices.Contains(new, p)
		}
		required := func(params []initParam) []initParam {
			return slices.DeleteFunc(slices.Clone(params), func(p initParam) bool { return p.optional })
		}
		breaking = breaking || !slices.Equal(required(old), required(new))
		if !breaking && len(added) == 0 {
			return // options in another order
		}
		d.add(Change{Breaking: breaking, Action: Changed, Kind: "constructor", Item: key, Aspect: "parameters",
			Old: initText(old), New: initText(new)})
	}
}
