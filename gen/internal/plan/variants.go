package plan

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Variant is a Go type for a Variant of the schema.
type Variant struct {
	GoName       string
	Pkg          *Package
	Text         string // as the registry has it
	Alternatives []Alternative

	node *node
}

// An Alternative is one of the types that a variant may hold.
type Alternative struct {
	Of, As   string // names of the constructor function and of the accessor
	Argument GoType
	Outcome  GoType

	node *node
}

// variant returns the Go type of a variant in a package. Each distinct variant has one.
func (pkg *Package) variant(n *node) *Variant {
	v := pkg.variants[n.text]
	if v == nil {
		v = &Variant{Pkg: pkg, Text: n.text, node: n}
		pkg.variants[n.text] = v
		for _, part := range n.parts {
			pkg.alternative(v, part)
		}
	}
	return v
}

// alternative adds a part, unless another part has the same Go type: Go could not
// distinguish them.
func (pkg *Package) alternative(v *Variant, part *node) {
	a := Alternative{Argument: pkg.goType(part, Argument), Outcome: pkg.goType(part, Outcome), node: part}
	for _, other := range v.Alternatives {
		if other.Outcome.Same(a.Outcome) {
			return
		}
	}
	v.Alternatives = append(v.Alternatives, a)
}

// The limits of the names of variants.
const (
	maxVariantWords = 3  // alternatives that a name lists
	maxVariantName  = 40 // letters of a name
	maxVariantWord  = 24 // letters of an alternative
)

// nameVariants names the variants of a package after their alternatives. A name that would be
// long says OrMore after the first of them.
func (p *planner) nameVariants(pkg *Package) {
	for _, text := range slices.Sorted(maps.Keys(pkg.variants)) {
		v := pkg.variants[text]
		words := v.words()
		name := shortName(words)
		sum := sha256.Sum256([]byte(text))
		v.GoName = pkg.scope.free("a variant", name, name+"Variant", fmt.Sprintf("%s%X", name, sum[:2]))
		methods := newScope(universe)
		for i := range v.Alternatives {
			a := &v.Alternatives[i]
			a.Of = pkg.scope.free("a variant", v.GoName+"Of"+words[i])
			a.As = methods.free("an accessor", "As"+words[i])
		}
	}
}

// words returns the words for the alternatives: their types, or the kinds of long types.
func (v *Variant) words() []string {
	words := make([]string, len(v.Alternatives))
	for i, a := range v.Alternatives {
		if words[i] = a.node.word(); len(words[i]) > maxVariantWord && a.node.kind != kindObject {
			words[i] = kindNames[a.node.kind]
		}
	}
	return words
}

// shortName joins the words of a variant.
func shortName(words []string) string {
	name := strings.Join(words, "Or")
	if len(words) <= maxVariantWords && len(name) <= maxVariantName {
		return name
	}
	const more = "OrMore"
	name = words[0]
	if len(words) > 1 && len(name+"Or"+words[1]+more) <= maxVariantName {
		name += "Or" + words[1]
	}
	return name + more
}

// Same reports whether two types are identical.
func (t GoType) Same(u GoType) bool {
	if t.Name != u.Name || t.Path != u.Path || t.Object != u.Object || t.Ref != u.Ref || t.Variant != u.Variant || len(t.Args) != len(u.Args) {
		return false
	}
	for i := range t.Args {
		if !t.Args[i].Same(u.Args[i]) {
			return false
		}
	}
	if (t.Func == nil) != (u.Func == nil) || t.Func != nil && !t.Func.same(u.Func) {
		return false
	}
	return samePart(t.Elem, u.Elem) && samePart(t.Slice, u.Slice)
}

func (f *FuncType) same(g *FuncType) bool {
	if len(f.Params) != len(g.Params) {
		return false
	}
	for i := range f.Params {
		if !f.Params[i].Same(g.Params[i]) {
			return false
		}
	}
	return samePart(f.Result, g.Result)
}

func samePart(t, u *GoType) bool {
	return t == nil && u == nil || t != nil && u != nil && t.Same(*u)
}
