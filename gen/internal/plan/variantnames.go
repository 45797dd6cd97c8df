package plan

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The limits of the names of variants.
const (
	maxVariantWords = 3  // alternatives that a name lists
	maxVariantName  = 40 // letters of a name
)

// nameVariants names the variants of a package after their alternatives. A name that would be
// long says OrMore after the first of them.
func (n *namer) nameVariants(pkg *Package) {
	for _, text := range slices.Sorted(maps.Keys(pkg.Variants)) {
		v := pkg.Variants[text]
		words := n.Words(v)
		name := shortName(words)
		sum := sha256.Sum256([]byte(text))
		v.GoName = n.scopes[pkg].free("a variant", name, name+"Variant", fmt.Sprintf("%s%X", name, sum[:2]))
		methods := newScope(universe)
		for i := range v.Alternatives {
			a := &v.Alternatives[i]
			a.Of = n.scopes[pkg].free("a variant", v.GoName+"Of"+words[i])
			a.As = methods.free("an accessor", "As"+words[i])
		}
	}
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
