package plan

import (
	"cmp"
	"maps"
	"slices"
)

// uses lists the other packages that the code of pkg mentions.
func (pkg *Package) uses() []*Package {
	found := map[string]*Package{}
	note := func(o *Object) {
		if o != nil && o.Pkg != pkg {
			found[o.Pkg.Path] = o.Pkg
		}
	}
	for _, o := range pkg.objects {
		for _, a := range o.Ancestors() {
			note(a)
		}
		for _, f := range o.Fields {
			f.Type.each(note)
			f.Value.Type.each(note)
		}
		for _, f := range slices.Concat(o.Methods, o.Statics) {
			f.each(note)
		}
	}
	for _, f := range pkg.funcs {
		f.each(note)
	}
	for _, a := range pkg.aliases {
		note(a.Object)
	}
	var all []*Package
	for _, path := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[path])
	}
	return all
}

// each calls do for every object type that the function mentions.
func (f *Func) each(do func(*Object)) {
	f.Call.each(do)
	if f.Init != nil {
		for _, o := range f.Init.Options {
			o.Value.Type.each(do)
		}
	}
}

func (c *Call) each(do func(*Object)) {
	if c == nil {
		return
	}
	for _, param := range c.Params {
		param.Type.each(do)
	}
	if c.Result != nil {
		c.Result.Type.each(do)
		c.Result.Bound.each(do)
	}
}

func (t GoType) each(do func(*Object)) {
	do(t.Object)
	do(t.Ref)
	for _, a := range t.Args {
		a.each(do)
	}
	for _, part := range []*GoType{t.Elem, t.Slice} {
		if part != nil {
			part.each(do)
		}
	}
	if t.Variant != nil {
		for _, a := range t.Variant.Alternatives {
			a.Argument.each(do)
			a.Outcome.each(do)
		}
	}
	if t.Func != nil {
		for _, param := range t.Func.Params {
			param.each(do)
		}
		if t.Func.Result != nil {
			t.Func.Result.each(do)
		}
	}
}

// nameHelpers names the unexported declarations of a package.
func (pkg *Package) nameHelpers() {
	const who = "a helper"
	pkg.Library = pkg.scope.free(who, "library")
	for _, o := range pkg.objects {
		o.Var = pkg.scope.free(who, "type"+o.GoName)
		o.Base = pkg.base(o.Parent)
		for _, f := range o.Fields {
			f.Var = pkg.scope.free(who, "field"+o.GoName+Camel(f.Name), "field"+o.GoName+"_"+verbatim(f.Name))
		}
		for _, f := range o.Methods {
			name := cmp.Or(f.GoName, Camel(f.Name))
			f.Var = pkg.scope.free(who, "method"+o.GoName+name, "method"+o.GoName+"_"+name)
		}
		for _, f := range o.Statics {
			pkg.nameFuncVar(f)
		}
	}
	for _, f := range pkg.funcs {
		pkg.nameFuncVar(f)
	}
	if len(pkg.variants) > 0 {
		pkg.VariantBase = pkg.scope.free(who, "variantBase")
	}
}

func (pkg *Package) nameFuncVar(f *Func) {
	switch {
	case f.GoName == "":
	case f.Constructor:
		f.Var = pkg.scope.free("a helper", lowerFirst(f.GoName))
	default:
		f.Var = pkg.scope.free("a helper", "fn"+f.GoName)
	}
}

// base is the alias under which a parent is embedded in this package.
func (pkg *Package) base(parent *Object) string {
	if name := pkg.bases[parent]; name != "" {
		return name
	}
	name := "objectBase"
	if parent != nil {
		name = lowerFirst(parent.GoName) + "Base"
		name = pkg.scope.free("a helper", name, name+"_"+verbatim(parent.Key))
	} else {
		name = pkg.scope.free("a helper", name)
	}
	pkg.bases[parent] = name
	pkg.Bases = append(pkg.Bases, Base{Name: name, Parent: parent})
	return name
}

// nameAllParams names the parameters of everything in a package, when all other
// names are known.
func (pkg *Package) nameAllParams() {
	for _, f := range pkg.funcs {
		f.nameParams(pkg.scope)
	}
	for _, o := range pkg.objects {
		for _, f := range slices.Concat(o.Methods, o.Statics) {
			f.nameParams(pkg.scope)
		}
	}
}

func (f *Func) nameParams(s *scope) {
	if f.Call == nil {
		return
	}
	var locals []string
	if f.Method {
		locals = append(locals, "x")
	}
	if f.Init != nil {
		locals = append(locals, "o", "options")
	}
	f.Call.nameParams(s, locals...)
}
