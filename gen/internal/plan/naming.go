package plan

import (
	"cmp"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// rename looks an entry up in the config. Names that derive from an item, such as the
// name of a setter, follow the item.
func (p *planner) rename(e *Entry) (string, bool) {
	if !e.Kind.reported() {
		return "", false
	}
	for _, key := range []string{e.id(), e.Name} {
		if name, ok := p.config.Rename[key]; ok {
			p.used["rename "+key] = true
			return name, true
		}
		if item := p.config.Functions[key]; item.Name != "" {
			return item.Name, true
		}
	}
	return "", false
}

// named returns the Go name that the first names file with one gives an entry, or "". It is a
// wish: if the name is taken, the entry gets another.
func (p *planner) named(e *Entry) string {
	if !e.Kind.reported() {
		return ""
	}
	for _, file := range p.config.Names {
		if name := cmp.Or(file.Items[e.id()].Name, file.Items[e.Name].Name); token.IsExported(name) && token.IsIdentifier(name) {
			return name
		}
	}
	return ""
}

// standardMethods are names with a meaning in the standard library. A member of a
// library must not have one of them.
var standardMethods = []string{"Format", "GobDecode", "GobEncode", "MarshalJSON", "MarshalXML", "ReadByte", "ReadFrom",
	"ReadRune", "Scan", "Seek", "UnmarshalJSON", "UnmarshalXML", "UnreadByte", "UnreadRune", "WriteByte", "WriteTo",
	"MarshalText", "UnmarshalText", "MarshalBinary", "UnmarshalBinary", "GoString", "Error"}

// markers names the marker method of each object type: As and the whole key. So the name
// does not depend on other types, unless two keys convert to one name.
func markers(types []schema.Type) map[string]string {
	names := map[string]string{}
	taken := map[string]bool{}
	for _, key := range slices.Sorted(func(yield func(string) bool) {
		for i := range types {
			if !yield(types[i].Key) {
				return
			}
		}
	}) {
		name := "As" + Camel(key)
		if taken[name] {
			name += "_" + verbatim(key)
		}
		taken[name] = true
		names[key] = name
	}
	return names
}

// nameAll chooses all names. Earlier choices win: types, functions, constructors,
// options, and at last the names that only generated code uses.
func (p *planner) nameAll() {
	members := newScope(universe)
	members.add("a method of the runtime", "Release", "String", "TVMFFIObject", "TVMFFIType")
	members.add("a standard method", standardMethods...)
	for _, key := range slices.Sorted(maps.Keys(p.markers)) {
		members.add("the marker of "+key, p.markers[key])
	}
	all := p.sortedPackages()
	for _, pkg := range all {
		p.openScope(pkg)
		p.nameTypes(pkg)
	}
	for _, pkg := range all {
		p.nameFunctions(pkg)
		p.nameVariants(pkg)
	}
	for _, pkg := range all {
		pkg.nameForwards()
	}
	for _, t := range p.bound {
		p.nameMembers(t.object, members)
	}
	for _, pkg := range all {
		pkg.nameHelpers()
	}
	for _, pkg := range all {
		pkg.nameAllParams()
	}
}

func (p *planner) sortedPackages() []*Package {
	var all []*Package
	for _, dir := range slices.Sorted(maps.Keys(p.dirs)) {
		all = append(all, p.dirs[dir])
	}
	return all
}

// openScope makes the scope of a package, with the names of the consumer and the
// imports.
func (p *planner) openScope(pkg *Package) {
	pkg.scope = newScope(universe)
	for _, name := range slices.Sorted(maps.Keys(pkg.user)) {
		if !strings.Contains(name, ".") {
			pkg.scope.add("the consumer's own files", name)
		}
	}
	pkg.scope.add("the function that loads the library", "Load")
	pkg.Load = !pkg.user["Load"]
	pkg.scope.add("the function that loads and checks the library", "LoadChecked")
	pkg.LoadChecked = !pkg.user["LoadChecked"]
	locals := newScope(pkg.scope)
	locals.add("a local", bodyNames...)
	imports := []Import{{Path: Runtime, Name: "tvmffi"}, {Path: Bindrt, Name: "bindrt"}, {Path: Big, Name: "big"}}
	clauses := map[string]string{Runtime: "tvmffi", Bindrt: "bindrt", Big: "big"}
	for _, used := range pkg.uses() {
		imports = append(imports, Import{Path: used.Path, Name: segment(used.Name)})
		clauses[used.Path] = p.config.PackageNames[used.Path]
		if p.dirs[used.Dir] == used {
			clauses[used.Path] = used.Name
		}
	}
	for i := range imports {
		name := imports[i].Name
		long := strings.ReplaceAll(path.Base(path.Dir(imports[i].Path)), "-", "") + name
		imports[i].Name = locals.free("an import", name, segment(long), name+"pkg")
		imports[i].Alias = imports[i].Name != clauses[imports[i].Path] || imports[i].Name != path.Base(imports[i].Path)
		pkg.scope.add("an import", imports[i].Name)
	}
	pkg.Imports = imports
}

// nameTypes names the types of a package, and the aliases.
func (p *planner) nameTypes(pkg *Package) {
	var types, refs []claim
	for _, o := range pkg.objects {
		types = append(types, claim{entry: o.entry, want: o.want,
			assign:   func(name string) { o.GoName = name },
			declared: func() { o.UserType = true }})
	}
	for _, a := range pkg.aliases {
		shadow := *a.entry
		want := a.GoName
		types = append(types, claim{entry: &shadow, want: want,
			assign:   func(name string) { a.GoName = name },
			declared: func() { a.GoName = "" }})
	}
	p.settle(pkg, pkg.scope, types)
	for _, o := range pkg.objects {
		if o.GoName == "" {
			o.GoName, _ = p.rename(o.entry)
			o.GoName = cmp.Or(o.GoName, o.want)
		}
		refs = append(refs, p.refClaim(o.entry, o.GoName, func(name string) { o.Ref = name }, func() { o.Ref, o.UserRef = o.GoName+"Ref", true }))
	}
	for _, a := range pkg.aliases {
		if a.GoName != "" {
			refs = append(refs, p.refClaim(a.entry, a.GoName, func(name string) { a.Ref = name }, func() {}))
		}
	}
	p.settle(pkg, pkg.scope, refs)
}

// refClaim returns the claim of a Ref interface. It is not an item of the registry, so
// the report does not show it.
func (p *planner) refClaim(e *Entry, goName string, assign func(string), declared func()) claim {
	return claim{entry: &Entry{Kind: kindRef, Name: e.Name, local: e.local}, want: goName + "Ref", assign: assign, declared: declared}
}

// nameFunctions names the functions of a package, static methods and
// constructors included, then the options.
func (p *planner) nameFunctions(pkg *Package) {
	var functions, constructors, optionTypes, options []claim
	add := func(to *[]claim, f *Func, want string, spare ...string) {
		*to = append(*to, claim{entry: f.entry, want: want, spare: append(f.spare(want), spare...),
			assign:   func(name string) { f.GoName = name },
			declared: func() { f.GoName = "" }})
	}
	for _, f := range pkg.funcs {
		if f.Makes != nil && f.Makes.Pkg == pkg {
			f.want = "New" + f.Makes.GoName
		}
		add(&functions, f, f.want)
	}
	for _, o := range pkg.objects {
		for _, f := range o.Statics {
			switch {
			case f.Constructor && len(o.Makers) > 0:
				add(&constructors, f, "New"+o.GoName+f.raw())
			case f.Constructor:
				add(&constructors, f, "New"+o.GoName, "New"+o.GoName+f.raw())
			default:
				full := o.GoName + Camel(f.Name)
				add(&functions, f, join(o.GoName, Camel(f.Name)), full)
				c := &functions[len(functions)-1]
				c.short = c.want != full
			}
		}
	}
	p.settle(pkg, pkg.scope, functions)
	p.settle(pkg, pkg.scope, constructors)
	for _, o := range pkg.objects {
		for _, f := range o.Statics {
			if f.GoName == "" || f.Init == nil || len(f.Init.Options) == 0 {
				continue
			}
			optionTypes = append(optionTypes, claim{entry: &Entry{Kind: kindOptionType, Name: o.Key, local: lastPart(o.Key)},
				want:     o.GoName + "Option",
				assign:   func(name string) { f.Init.OptionType = name },
				declared: func() { f.Init.OptionType = o.GoName + "Option" }})
			for _, option := range f.Init.Options {
				options = append(options, claim{entry: &Entry{Kind: kindOption, Name: o.Key + "." + option.Name, local: option.Name},
					want:     o.GoName + Camel(option.Name),
					assign:   func(name string) { option.GoName = name },
					declared: func() { option.GoName = "" }})
			}
		}
	}
	p.settle(pkg, pkg.scope, optionTypes)
	p.settle(pkg, pkg.scope, options)
}

// nameMembers names getters, methods and setters of a type. Parents come before
// children, so that a child does not hide an unrelated member.
func (p *planner) nameMembers(o *Object, members *scope) {
	outer := members
	if o.Parent != nil && o.Parent.scope != nil {
		outer = o.Parent.scope
	}
	o.scope = newScope(outer)
	var getters, methods, setters []claim
	for _, f := range o.Fields {
		getters = append(getters, claim{entry: f.entry, want: Camel(f.Name), owner: o.GoName + ".",
			assign:   func(name string) { f.GoName = name },
			declared: func() {}})
	}
	for _, f := range o.Methods {
		methods = append(methods, claim{entry: f.entry, want: Camel(f.Name), spare: f.spare(Camel(f.Name)), owner: o.GoName + ".",
			assign:   func(name string) { f.GoName = name },
			declared: func() {}})
	}
	p.settle(o.Pkg, o.scope, getters)
	p.settle(o.Pkg, o.scope, methods)
	for _, f := range o.Fields {
		if f.Value.node != nil {
			setters = append(setters, claim{entry: &Entry{Kind: kindSetter, Name: f.entry.Name, local: f.Name},
				want: "Set" + cmp.Or(f.GoName, Camel(f.Name)), owner: o.GoName + ".",
				assign:   func(name string) { f.Setter = name },
				declared: func() {}})
		}
	}
	p.settle(o.Pkg, o.scope, setters)
}
