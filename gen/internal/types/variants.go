package types

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// variantType returns the Go type of a variant in a package. Each distinct variant has one.
func (p *Types) variantType(pkg *plan.Package, n *node) *plan.Variant {
	v := pkg.Variants[n.text]
	if v == nil {
		v = &plan.Variant{Pkg: pkg, Text: n.text}
		pkg.Variants[n.text] = v
		for _, part := range n.parts {
			p.alternative(v, part)
		}
	}
	return v
}

// alternative adds a part, unless another part has the same Go type: Go could not
// distinguish them.
func (p *Types) alternative(v *plan.Variant, part *node) {
	a := plan.Alternative{Argument: p.goType(v.Pkg, part, argument), Outcome: p.goType(v.Pkg, part, outcome)}
	for _, other := range v.Alternatives {
		if other.Outcome.Same(a.Outcome) {
			return
		}
	}
	v.Alternatives = append(v.Alternatives, a)
	p.parts[v] = append(p.parts[v], part)
}

// maxVariantWord is the largest number of letters for an alternative in a name.
const maxVariantWord = 24

// Words returns the words for the alternatives of a variant in names: their types, or the kinds
// of long types.
func (p *Types) Words(v *plan.Variant) []string {
	words := make([]string, len(v.Alternatives))
	for i, part := range p.parts[v] {
		if words[i] = part.word(); len(words[i]) > maxVariantWord && part.kind != crossing.KindClass {
			words[i] = crossing.Rows[part.kind].Name
		}
	}
	return words
}

// word returns the name of a node inside other names: IntArray, StringIntMap, IntTuple2.
func (n *node) word() string {
	switch n.kind {
	case crossing.KindClass:
		return n.object.GoName
	case crossing.KindInt:
		return plan.Camel(cmp.Or(n.width, "int"))
	case crossing.KindOptional:
		return "Optional" + n.parts[0].word()
	case crossing.KindVariant:
		return n.joined("Or")
	}
	if n.onlyAny() {
		return crossing.Rows[n.kind].Name
	}
	if n.kind == crossing.KindTuple && len(n.parts) > 1 && !slices.ContainsFunc(n.parts, func(part *node) bool { return part.text != n.parts[0].text }) {
		return n.parts[0].word() + crossing.Rows[crossing.KindTuple].Name + strconv.Itoa(len(n.parts))
	}
	return n.joined("") + crossing.Rows[n.kind].Name
}

func (n *node) joined(separator string) string {
	words := make([]string, len(n.parts))
	for i, part := range n.parts {
		words[i] = part.word()
	}
	return strings.Join(words, separator)
}

func (n *node) onlyAny() bool {
	for _, part := range n.parts {
		if part.kind != crossing.KindAny {
			return false
		}
	}
	return true
}
