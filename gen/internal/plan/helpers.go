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
		for _, f := range a.Forwards {
			f.To.each(note)
		}
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
	t.walk(func(t GoType) {
		do(t.Object)
		do(t.Ref)
	})
}

// walk calls do for the type and every type in it.
func (t GoType) walk(do func(GoType)) {
	do(t)
	for _, a := range t.Args {
		a.walk(do)
	}
	for _, part := range []*GoType{t.Elem, t.Slice} {
		if part != nil {
			part.walk(do)
		}
	}
	if t.Variant != nil {
		for _, a := range t.Variant.Alternatives {
			a.Argument.walk(do)
			a.Outcome.walk(do)
		}
	}
	if t.Func != nil {
		for _, param := range t.Func.Params {
			param.walk(do)
		}
		if t.Func.Result != nil {
			t.Func.Result.walk(do)
		}
	}
}

// nameHelpers names the unexported declarations of a package.
func (pkg *Package) nameHelpers() {
	const who = "a helper"
	pkg.nameSets()
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
	for _, o := range pkg.described() {
		name := "type" + Camel(o.Pkg.Name) + o.GoName
		pkg.foreign[o] = pkg.scope.free(who, name, name+"_"+verbatim(o.Key))
		pkg.Foreign = append(pkg.Foreign, Foreign{pkg.foreign[o], o})
	}
	if len(pkg.variants) > 0 {
		pkg.VariantBase = pkg.scope.free(who, "variantBase")
	}
}

// described lists the types of other packages that fields and results have, sorted by
// key.
func (pkg *Package) described() []*Object {
	found := map[string]*Object{}
	note := func(o *Object) {
		if o != nil && o.Pkg != pkg {
			found[o.Key] = o
		}
	}
	funcs := slices.Clone(pkg.funcs)
	for _, o := range pkg.objects {
		for _, f := range o.Fields {
			if f.GoName != "" {
				note(f.Object)
			}
		}
		funcs = append(append(funcs, o.Methods...), o.Statics...)
	}
	for _, f := range funcs {
		if f.GoName == "" || f.Call == nil {
			continue
		}
		for r := f.Call.Result; r != nil; r = r.Bound.result() {
			note(r.Object)
		}
	}
	var all []*Object
	for _, key := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[key])
	}
	return all
}

func (c *Call) result() *Result {
	if c == nil {
		return nil
	}
	return c.Result
}

// TypeName returns the name of the descriptor of an object type in this package: a
// variable or, for the type of another package, a func.
func (pkg *Package) TypeName(o *Object) (name string, foreign bool) {
	if o.Pkg == pkg {
		return o.Var, false
	}
	return pkg.foreign[o], true
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

// base returns the alias under which a parent is embedded in this package.
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

// nameAllParams names the parameters of all functions of a package, after all other
// names.
func (pkg *Package) nameAllParams() {
	for _, f := range pkg.funcs {
		pkg.nameParams(f)
	}
	for _, o := range pkg.objects {
		for _, f := range slices.Concat(o.Methods, o.Statics) {
			pkg.nameParams(f)
		}
	}
	for _, a := range pkg.aliases {
		for _, f := range a.Forwards {
			if f.Call != nil {
				f.Call.nameParams(pkg.scope)
			}
		}
	}
}

// nameParams names the parameters of a function. They may have the name of a package, or of a
// helper, that the body does not mention.
func (pkg *Package) nameParams(f *Func) {
	if f.Call == nil {
		return
	}
	mentioned := newScope(reserved)
	mentioned.add("a variable of the body", f.Var)
	paths := map[string]bool{Runtime: true, Bindrt: true}
	f.Call.mentions(func(t GoType) {
		paths[t.Path] = true
		for _, o := range []*Object{t.Object, t.Ref} {
			if o != nil {
				name, _ := pkg.TypeName(o)
				paths[o.Pkg.Path] = true
				mentioned.add("a variable of the body", name)
			}
		}
	})
	for _, used := range pkg.Imports {
		if paths[used.Path] {
			mentioned.add("an import", used.Name)
		}
	}
	f.Call.nameParams(mentioned)
	f.Doc.Params = map[string]string{}
	for _, param := range f.Call.Params {
		f.Doc.Params[param.given] = param.Name
	}
}

// mentions calls do for every type that the body may mention: those of results and callbacks.
func (c *Call) mentions(do func(GoType)) {
	for _, param := range c.Params {
		if param.Type.Func != nil {
			param.Type.walk(do)
		}
	}
	if c.Result != nil {
		c.Result.Type.walk(do)
		if c.Result.Bound != nil {
			c.Result.Bound.mentions(do)
		}
	}
}
