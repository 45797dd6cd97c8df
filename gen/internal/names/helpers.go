package names

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// uses lists the other packages that the code of pkg mentions.
func uses(pkg *plan.Package) []*plan.Package {
	found := map[string]*plan.Package{}
	note := func(o *plan.Object) {
		if o != nil && o.Pkg != pkg {
			found[o.Pkg.Path] = o.Pkg
		}
	}
	for _, o := range pkg.Objects {
		for _, a := range o.Ancestors() {
			note(a)
		}
		for _, f := range o.Fields {
			f.Type.Each(note)
			if f.Value != nil {
				f.Value.Type.Each(note)
			}
		}
	}
	for _, f := range pkg.AllFuncs() {
		f.Each(note)
	}
	for _, a := range pkg.Aliases {
		note(a.Object)
		for _, f := range a.Forwards {
			f.To.Each(note)
		}
	}
	var all []*plan.Package
	for _, path := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[path])
	}
	return all
}

// nameHelpers names the unexported declarations of a package.
func (n *namer) nameHelpers(pkg *plan.Package) {
	const who = "a helper"
	s := n.scopes[pkg]
	nameSets(pkg, s)
	for _, o := range pkg.Objects {
		o.Var = s.free(who, "type"+o.GoName)
		o.Base = base(pkg, o.Parent, s)
		for _, f := range o.Fields {
			f.Var = s.free(who, "field"+o.GoName+plan.Camel(f.Name), "field"+o.GoName+"_"+plan.Verbatim(f.Name))
		}
		for _, f := range o.Methods {
			name := cmp.Or(f.GoName, plan.Camel(f.Name))
			f.Var = s.free(who, "method"+o.GoName+name, "method"+o.GoName+"_"+name)
		}
		for _, f := range o.Statics {
			nameFuncVar(f, s)
		}
	}
	for _, f := range pkg.Funcs {
		nameFuncVar(f, s)
	}
	for _, o := range described(pkg) {
		name := "type" + plan.Camel(o.Pkg.Name) + o.GoName
		pkg.Foreign = append(pkg.Foreign, plan.Foreign{Name: s.free(who, name, name+"_"+plan.Verbatim(o.Key)), Object: o})
	}
	if len(pkg.Variants) > 0 {
		pkg.VariantBase = s.free(who, "variantBase")
	}
}

// described lists the types of other packages that fields and results have, sorted by
// key.
func described(pkg *plan.Package) []*plan.Object {
	found := map[string]*plan.Object{}
	note := func(o *plan.Object) {
		if o != nil && o.Pkg != pkg {
			found[o.Key] = o
		}
	}
	for _, o := range pkg.Objects {
		for _, f := range o.Fields {
			note(f.Object)
		}
	}
	for _, f := range pkg.AllFuncs() {
		for c := f.Call; f.GoName != "" && c != nil && c.Result != nil; c = c.Result.Bound {
			note(c.Result.Object)
		}
	}
	var all []*plan.Object
	for _, key := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[key])
	}
	return all
}

func nameFuncVar(f *plan.Func, s *scope) {
	switch {
	case f.GoName == "":
	case f.Constructor:
		f.Var = s.free("a helper", plan.LowerFirst(f.GoName))
	default:
		f.Var = s.free("a helper", "fn"+f.GoName)
	}
}

// base returns the alias under which a parent is embedded in a package.
func base(pkg *plan.Package, parent *plan.Object, s *scope) string {
	if i := slices.IndexFunc(pkg.Bases, func(b plan.Base) bool { return b.Parent == parent }); i >= 0 {
		return pkg.Bases[i].Name
	}
	names := []string{"objectBase"}
	if parent != nil {
		name := plan.LowerFirst(parent.GoName) + "Base"
		names = []string{name, name + "_" + plan.Verbatim(parent.Key)}
	}
	b := plan.Base{Name: s.free("a helper", names...), Parent: parent}
	pkg.Bases = append(pkg.Bases, b)
	return b.Name
}

// nameSets names the variables of the sets: library, and others after the file.
func nameSets(pkg *plan.Package, s *scope) {
	for i, set := range pkg.Sets {
		name := "library"
		if i > 0 {
			stem, _, _ := strings.Cut(set.Owner, ".")
			name += plan.Camel(strings.TrimPrefix(stem, "lib"))
		}
		set.Name = s.free("a helper", name)
	}
}
