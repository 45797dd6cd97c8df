package face

import (
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/source"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// part is a package of a library: the package itself, or one that it includes.
type part struct {
	*builder
	functions []string // the symbols that the library has of it
}

// parts returns the builders of p and of the packages that it includes, which fill one library.
func (b *builder) parts() []part {
	all := []part{{builder: b}}
	seen := map[string]bool{b.pkg.Path: true}
	var include func(p *source.Package)
	include = func(p *source.Package) {
		for _, in := range p.Included {
			if seen[in.Path] {
				continue
			}
			seen[in.Path] = true
			other := *b
			other.pkg, other.prefix = in.Source, in.Prefix
			all = append(all, part{&other, in.Functions})
			include(in.Source)
		}
	}
	include(b.pkg)
	return all
}

// has reports whether the library has the symbol of a function of the part. Directives that
// are newer than the generated file of an included package have none.
func (p part) has(name string) bool {
	return p.pkg.Path == p.lib.Path || slices.Contains(p.functions, name)
}

// addKernels adds the functions of a package of kernels.
func (b *builder) addKernels() {
	for _, k := range b.pkg.Kernels {
		f := &Function{Name: k.Name, GoName: k.Name, Doc: k.Doc, Fails: true, Symbol: k.Name, Global: k.Global}
		list, _, _ := strings.Cut(strings.TrimPrefix(k.Signature, "("), ")")
		for i, text := range strings.Split(list, ", ") {
			if i < len(k.Params) {
				f.Params = append(f.Params, Param{Name: k.Params[i], Type: kernelType(text)})
			}
		}
		b.lib.Functions = append(b.lib.Functions, f)
	}
}

// kernelType describes the type of a parameter of a kernel, in the form of tvmffi.Signature.
func kernelType(text string) *Type {
	if rest, ok := strings.CutPrefix(text, "Optional<"); ok {
		t := kernelType(strings.TrimSuffix(rest, ">"))
		if t.Kind == crossing.KindOptional {
			return t // a pointer or a stream, which may be None
		}
		return optional(t)
	}
	if t, ok := kernelTypes[text]; ok {
		return &t
	}
	return &Type{Kind: crossing.KindAny}
}

var kernelTypes = map[string]Type{
	"DLTensor*": {Kind: crossing.KindTensor}, "Tensor": {Kind: crossing.KindTensor}, "float": {Kind: crossing.KindFloat, Bits: 64}, "int": {Kind: crossing.KindInt, Bits: 64},
	"bool": {Kind: crossing.KindBool}, "void*": {Kind: crossing.KindOptional, Elems: []*Type{{Kind: crossing.KindPointer}}},
}
