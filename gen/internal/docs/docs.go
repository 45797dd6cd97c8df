// Package docs adds to the docs of declarations what follows from the others, with links.
package docs

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// The most items that a sentence of a doc names.
const (
	maxNamed  = 4
	maxListed = 12
)

// Write adds to the docs of packages, types and constructors what follows from other
// items.
func Write(packages []*plan.Package) {
	redefined := redefinitions(packages)
	for _, pkg := range packages {
		d := &documenter{pkg: pkg, redefined: redefined, returns: map[*plan.Object][]string{}, takes: map[*plan.Object][]string{}, children: map[*plan.Object][]string{}}
		d.index()
		for _, o := range pkg.Objects {
			d.constructors(o)
			o.Doc.About = append(o.Doc.About, d.typeDoc(o)...)
		}
		for _, f := range pkg.Funcs {
			if f.Makes != nil {
				d.maker(f)
			}
		}
		for _, f := range pkg.AllFuncs() {
			d.nils(f)
			d.redefines(f)
		}
		d.options()
		for _, a := range pkg.Aliases {
			a.Link = d.link(a.Object.Pkg, a.Object.GoName)
			for _, f := range a.Forwards {
				f.Doc = f.To.Doc
				f.Doc.About = []string{"It is " + d.link(a.Object.Pkg, f.To.GoName) + "."}
			}
		}
		pkg.About = d.packageDoc(subject(pkg))
	}
}

// A documenter writes the docs of one package. For each type it knows the links of the functions
// that return or take its objects and of the types derived from it, if they are in the package.
type documenter struct {
	pkg                      *plan.Package
	returns, takes, children map[*plan.Object][]string
	// redefined are the methods of derived types that have the name of a method.
	redefined map[*plan.Func][]*plan.Func
}

func (d *documenter) index() {
	note := func(f *plan.Func, name string) {
		if f.GoName == "" || f.Call == nil {
			return
		}
		if o := f.Result(); o != nil && (f.Owner != o || !f.Method) && f.Makes == nil && !f.Constructor {
			d.returns[o] = append(d.returns[o], d.link(d.pkg, name))
		}
		if f.Constructor && len(f.Owner.Makers) > 0 {
			return // the maker takes the same types
		}
		taken := map[*plan.Object]bool{nil: true}
		for _, param := range f.Call.Params {
			param.Type.Each(func(o *plan.Object) {
				if !taken[o] {
					d.takes[o] = append(d.takes[o], d.link(d.pkg, name))
				}
				taken[o] = true
			})
		}
	}
	for _, f := range d.pkg.Funcs {
		note(f, f.GoName)
	}
	for _, o := range d.pkg.Objects {
		d.children[o.Parent] = append(d.children[o.Parent], d.link(d.pkg, o.GoName))
		for _, f := range o.Statics {
			note(f, f.GoName)
		}
		for _, f := range o.Methods {
			note(f, o.Member(f.GoName))
		}
	}
	for _, found := range []map[*plan.Object][]string{d.returns, d.takes, d.children} {
		for _, links := range found {
			slices.Sort(links)
		}
	}
}

// link returns the doc link of a name in a package. A package that this one does not import has
// its path there.
func (d *documenter) link(of *plan.Package, name string) string {
	if of == d.pkg {
		return "[" + name + "]"
	}
	i := slices.IndexFunc(d.pkg.Imports, func(used plan.Import) bool { return used.Path == of.Path })
	if i < 0 {
		return "[" + of.Path + "." + name + "]"
	}
	return "[" + d.pkg.Imports[i].Name + "." + name + "]"
}

// runtime returns the doc link of a name of package tvmffi.
func (d *documenter) runtime(name string) string {
	return d.link(&plan.Package{Path: plan.Runtime}, name)
}

// rawOf returns the constructor of a type beside the functions that make it, or nil.
func rawOf(o *plan.Object) *plan.Func {
	i := slices.IndexFunc(o.Statics, func(f *plan.Func) bool { return f.Constructor && f.GoName != "" })
	if i < 0 || len(o.Makers) == 0 {
		return nil
	}
	return o.Statics[i]
}

// rawEffect says what such a constructor does.
func rawEffect(f *plan.Func) string {
	if f.Init == nil {
		return "only runs the constructor of the type"
	}
	return "only sets the fields"
}

// makers returns the links of the functions of the library that make objects of a type.
func (d *documenter) makers(o *plan.Object) []string {
	var links []string
	for _, f := range o.Makers {
		if f.GoName != "" {
			links = append(links, d.link(f.Pkg, f.GoName))
		}
	}
	return links
}

// constructors says in the doc of a constructor which function to take in place of it.
func (d *documenter) constructors(o *plan.Object) {
	makers := d.makers(o)
	if len(makers) == 0 {
		return
	}
	for _, f := range o.Statics {
		if !f.Constructor {
			continue
		}
		f.Doc.About = []string{"It " + rawEffect(f) + ". Prefer " + list(makers, "or", len(makers), "") +
			", the constructor of the library: it may check its arguments and compute fields, and they may be in another order."}
	}
}

// maker says in the doc of a function that it is a constructor.
func (d *documenter) maker(f *plan.Func) {
	o := f.Makes
	about := "It is the constructor of the library for " + d.link(o.Pkg, o.GoName)
	if raw := rawOf(o); raw != nil {
		about += "; " + d.link(o.Pkg, raw.GoName) + " " + rawEffect(raw)
	}
	about += "."
	switch {
	case f.Call == nil:
		about += " Use " + d.runtime("As") + " to get one from the result."
	case f.Result() != o:
		about += " Use " + d.runtime("Cast") + " to get one from the result, if it is one."
	}
	f.Doc.About = []string{about}
}

// typeDoc returns what the doc of a type says of its relations: paragraphs with links.
func (d *documenter) typeDoc(o *plan.Object) []string {
	var sentences []string
	say := func(before string, links []string, most int, noun, one, many string) {
		after := many
		if len(links) == 1 {
			after = one
		}
		if len(links) > 0 {
			sentences = append(sentences, before+list(links, "and", most, noun)+after+".")
		}
	}
	makes, statics := d.makers(o), []string{}
	for _, f := range o.Statics {
		switch {
		case f.GoName == "":
		case f.Constructor:
			makes = append(makes, d.link(d.pkg, f.GoName))
		case f.Result() != o:
			statics = append(statics, d.link(d.pkg, f.GoName))
		}
	}
	say("", append(makes, d.returns[o]...), maxNamed, "function", " returns one", " return one")
	say("Static methods: ", statics, maxListed, "function", "", "")
	say("Fields: ", d.fields(o), maxListed, "field", "", "")
	say("", d.takes[o], maxNamed, "function", " takes one", " take one")
	say("In this package, ", d.children[o], maxNamed, "type", " derives from it", " derive from it")
	sentences = append(sentences, "Its methods Release and String come from "+d.runtime("Object")+".")
	about := strings.Join(sentences, " ")
	if len(o.Ancestors()) == 0 {
		return []string{about}
	}
	return []string{d.heritage(o), about}
}

// heritage returns the sentence about the ancestors of a type.
func (d *documenter) heritage(o *plan.Object) string {
	var parents, members []string
	seen := map[string]bool{}
	own := func(of *plan.Object) {
		note := func(name string) {
			if name != "" && !seen[name] && of != o {
				members = append(members, d.link(of.Pkg, of.Member(name)))
			}
			seen[name] = true
		}
		for _, f := range of.Fields {
			note(f.GoName)
		}
		for _, f := range of.Methods {
			note(f.GoName)
		}
	}
	own(o)
	for _, a := range o.Ancestors() {
		parents = append(parents, d.link(a.Pkg, a.GoName))
		own(a)
	}
	text := "It derives from " + list(parents, "and", len(parents), "")
	if len(members) > 0 {
		text += ", and inherits " + list(members, "and", maxListed, "member")
	}
	return text + "."
}

// fields returns the links of the fields of a type.
func (d *documenter) fields(o *plan.Object) []string {
	var links []string
	for _, f := range o.Fields {
		if f.GoName != "" {
			links = append(links, d.link(d.pkg, o.Member(f.GoName)))
		}
	}
	return links
}

// list joins links. If there are more than most, it counts the others by the noun.
func list(links []string, conjunction string, most int, noun string) string {
	if more := len(links) - most; more > 1 {
		links = append(slices.Clone(links[:most]), plan.Count(more, "more "+noun))
	}
	last := len(links) - 1
	if last < 1 {
		return strings.Join(links, "")
	}
	return strings.Join(links[:last], ", ") + " " + conjunction + " " + links[last]
}

// subject says what a package binds: the namespaces of its items, or libraries.
func subject(pkg *plan.Package) string {
	switch all := pkg.Namespaces; len(all) {
	case 0:
		for _, l := range pkg.Sources {
			all = append(all, l.File)
		}
		return cmp.Or(list(all, "and", len(all), ""), "a library")
	case 1:
		return "the namespace " + all[0] + " of TVM-FFI"
	default:
		return "the namespaces " + list(all, "and", maxNamed, "namespace") + " of TVM-FFI"
	}
}

// packageDoc returns the paragraphs of the doc of a package.
func (d *documenter) packageDoc(subject string) []string {
	functions := len(d.pkg.Funcs)
	for _, o := range d.pkg.Objects {
		for _, f := range o.Statics {
			functions += plan.Order(!f.Constructor)
		}
	}
	var has []string
	if n := len(d.pkg.Objects); n > 0 {
		has = append(has, plan.Count(n, "type"))
	}
	if functions > 0 {
		has = append(has, plan.Count(functions, "function"))
	}
	paragraphs := []string{"binds " + subject + "."}
	if len(has) == 0 && len(d.pkg.Aliases) == 0 {
		paragraphs[0] = "binds " + subject + ", in the packages below it."
	}
	if len(has) > 0 {
		about := "It has " + list(has, "and", len(has), "") + "."
		if of := d.result(); of != "" {
			about += " Most of its functions return a " + of + "."
		} else if start := d.start(); len(start) > 0 {
			about = "Start with " + list(start, "or", len(start), "") + ". " + about
		}
		paragraphs = append(paragraphs, about)
	}
	return paragraphs
}

// result returns the link of the type that most functions return, in a package that has more functions
// than types; otherwise "".
func (d *documenter) result() string {
	count := map[*plan.Object]int{}
	functions := 0
	for _, f := range d.pkg.Funcs {
		if f.Makes == nil && f.GoName != "" {
			functions++
			count[f.Result()]++
		}
	}
	for o, n := range count {
		if o != nil && functions > max(2, len(d.pkg.Objects)) && 2*n > functions {
			return d.link(o.Pkg, o.GoName)
		}
	}
	return ""
}

// start returns the links of the constructors to start with: constructors of the types that most
// functions and methods of the package belong to, take or return. A constructor of fields is
// among them only if the library has registered none. One that takes an object follows the
// constructor of that object.
func (d *documenter) start() []string {
	ways := map[*plan.Object]*plan.Func{}
	registered := false
	for _, f := range d.pkg.Funcs {
		if f.Makes != nil && f.GoName != "" {
			ways[f.Makes], registered = f, true
		}
	}
	for _, o := range d.pkg.Objects {
		for _, f := range o.Statics {
			if f.Constructor && f.GoName != "" && len(o.Makers) == 0 && (f.Init == nil || !registered) {
				ways[o] = f
			}
		}
	}
	score := func(o *plan.Object) int { return len(o.Methods) + len(o.Statics) + len(d.returns[o]) + len(d.takes[o]) }
	best := slices.SortedFunc(maps.Keys(ways), func(a, b *plan.Object) int {
		return cmp.Or(score(b)-score(a), cmp.Compare(ways[a].GoName, ways[b].GoName))
	})
	best = best[:min(len(best), maxNamed)]
	slices.SortStableFunc(best, func(a, b *plan.Object) int { return d.stage(ways, a, nil) - d.stage(ways, b, nil) })
	var links []string
	for _, o := range best {
		links = append(links, d.link(d.pkg, ways[o].GoName))
	}
	return links
}

// stage returns how many objects must exist, one after the other, before there can be one of
// a type: those that its constructor takes or, without a constructor, the one that has the
// method.
func (d *documenter) stage(ways map[*plan.Object]*plan.Func, o *plan.Object, above []*plan.Object) int {
	if slices.Contains(above, o) {
		return 0
	}
	above = append(above, o)
	f := ways[o]
	if f == nil {
		for _, owner := range d.pkg.Objects {
			if ways[owner] != nil && slices.ContainsFunc(owner.Methods, func(m *plan.Func) bool { return m.Result() == o }) {
				return 1 + d.stage(ways, owner, above)
			}
		}
		return 0
	}
	most := 0
	if f.Call != nil {
		for _, param := range f.Call.Params {
			param.Type.Each(func(part *plan.Object) {
				if part != nil {
					most = max(most, 1+d.stage(ways, part, above))
				}
			})
		}
	}
	return most
}
