package docs

import (
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// nils says which parameters of a function may be nil, and whether the result may be: the Go type of an
// object is the same with and without Optional.
func (d *documenter) nils(f *plan.Func) {
	if f.Call == nil || f.Init != nil {
		return
	}
	params := f.Call.Params
	if f.Call.Options != nil {
		params = params[:f.Call.Options.First]
	}
	var names []string
	for _, p := range params {
		if p.Optional {
			names = append(names, p.Name)
		}
	}
	var sentences []string
	switch all := list(names, "and", len(names), ""); len(names) {
	case 0:
	case 1:
		sentences = append(sentences, "The argument "+all+" may be nil.")
	default:
		sentences = append(sentences, "The arguments "+all+" may be nil.")
	}
	if f.Call.Result != nil && f.Call.Result.Optional {
		sentences = append(sentences, "The result may be nil.")
	}
	if len(sentences) > 0 {
		f.Doc.About = append([]string{strings.Join(sentences, " ")}, f.Doc.About...)
	}
}

// redefinitions returns, for each method, the methods of derived types that have its name.
func redefinitions(packages []*plan.Package) map[*plan.Func][]*plan.Func {
	found := map[*plan.Func][]*plan.Func{}
	for _, pkg := range packages {
		for _, o := range pkg.Objects {
			for _, f := range o.Methods {
				for _, a := range o.Ancestors() {
					for _, above := range a.Methods {
						if above.Name == f.Name && above.GoName != "" && f.GoName != "" {
							found[above] = append(found[above], f)
						}
					}
				}
			}
		}
	}
	return found
}

// redefines says in the doc of a method that derived types have their own, which it does not call.
func (d *documenter) redefines(f *plan.Func) {
	var links []string
	for _, own := range d.redefined[f] {
		links = append(links, d.link(own.Pkg, own.Path()))
	}
	if len(links) > 0 {
		f.Doc.About = append(f.Doc.About, "It runs the method of "+f.Owner.GoName+" for every object. For an object of a derived type, which "+
			d.runtime("Cast")+" finds out, call "+list(links, "or", maxNamed, "method")+".")
	}
}
