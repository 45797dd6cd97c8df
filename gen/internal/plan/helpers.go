package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// uses lists the other packages that the code of pkg mentions.
func uses(pkg *Package) []*Package {
	found := map[string]*Package{}
	note := func(o *Object) {
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
	var all []*Package
	for _, path := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[path])
	}
	return all
}

// nameHelpers names the unexported declarations of a package.
func (n *namer) nameHelpers(pkg *Package) {
	const who = "a helper"
	s := n.scopes[pkg]
	nameSets(pkg, s)
	for _, o := range pkg.Objects {
		o.Var = s.free(who, "type"+o.GoName)
		o.Base = base(pkg, o.Parent, s)
		for _, f := range o.Fields {
			f.Var = s.free(who, "field"+o.GoName+Camel(f.Name), "field"+o.GoName+"_"+verbatim(f.Name))
		}
		for _, f := range o.Methods {
			name := cmp.Or(f.GoName, Camel(f.Name))
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
		name := "type" + Camel(o.Pkg.Name) + o.GoName
		pkg.Foreign = append(pkg.Foreign, Foreign{s.free(who, name, name+"_"+verbatim(o.Key)), o})
	}
	if len(pkg.Variants) > 0 {
		pkg.VariantBase = s.free(who, "variantBase")
	}
}

// described lists the types of other packages that fields and results have, sorted by
// key.
func described(pkg *Package) []*Object {
	found := map[string]*Object{}
	note := func(o *Object) {
		if o != nil && o.Pkg != pkg {
			found[o.Key] = o
		}
	}
	for _, o := range pkg.Objects {
		for _, f := range o.Fields {
			if f.GoName != "" {
				note(f.Object)
			}
		}
	}
	for _, f := range pkg.AllFuncs() {
		for c := f.Call; f.GoName != "" && c != nil && c.Result != nil; c = c.Result.Bound {
			note(c.Result.Object)
		}
	}
	var all []*Object
	for _, key := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[key])
	}
	return all
}

func nameFuncVar(f *Func, s *scope) {
	switch {
	case f.GoName == "":
	case f.Constructor:
		f.Var = s.free("a helper", lowerFirst(f.GoName))
	default:
		f.Var = s.free("a helper", "fn"+f.GoName)
	}
}

// base returns the alias under which a parent is embedded in a package.
func base(pkg *Package, parent *Object, s *scope) string {
	if i := slices.IndexFunc(pkg.Bases, func(b Base) bool { return b.Parent == parent }); i >= 0 {
		return pkg.Bases[i].Name
	}
	names := []string{"objectBase"}
	if parent != nil {
		name := lowerFirst(parent.GoName) + "Base"
		names = []string{name, name + "_" + verbatim(parent.Key)}
	}
	b := Base{Name: s.free("a helper", names...), Parent: parent}
	pkg.Bases = append(pkg.Bases, b)
	return b.Name
}

// nameSets names the variables of the sets: library, and others after the file.
func nameSets(pkg *Package, s *scope) {
	for i, set := range pkg.Sets {
		name := "library"
		if i > 0 {
			stem, _, _ := strings.Cut(set.Owner, ".")
			name += Camel(strings.TrimPrefix(stem, "lib"))
		}
		set.Name = s.free("a helper", name)
	}
}
