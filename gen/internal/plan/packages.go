package plan

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// A place is the location of a registry name before cycles are broken: a namespace of
// the registry, its directory, and the name inside it.
type place struct{ namespace, dir, local string }

// findLibraries lists the libraries of the bound items, and the libraries that must be
// loaded for them. libtvm_ffi itself is always loaded.
func (p *planner) findLibraries() {
	owners := map[string]bool{}
	for _, t := range p.bound {
		owners[t.schema.Library] = true
	}
	for _, f := range p.functions {
		owners[f.schema.Library] = true
	}
	for _, l := range p.schema.Libraries {
		owns := owners[l.File] || owners[""] && l.Role == schema.RoleBound
		if owns {
			p.sources = append(p.sources, l)
		}
		if l.Role == schema.RoleDependency || owns && l.Role != schema.RoleCore {
			p.libraries = append(p.libraries, l)
		}
	}
	if !slices.ContainsFunc(p.libraries, func(l schema.Library) bool { return l.Role == schema.RoleBound || owners[l.File] }) {
		p.libraries = nil
	}
}

// place chooses the package of each item: first by namespace, then by moving the types
// of each import cycle into one package.
func (p *planner) place() {
	p.root = p.findRoot()
	p.findLibraries()
	p.dirs[""] = p.newPackage("")
	p.boundKeys = map[string]bool{}
	for _, t := range p.bound {
		p.boundKeys[t.schema.Key] = true
	}
	g := graph{edges: map[string]map[string]bool{}}
	for _, t := range p.bound {
		at := p.locate(t.schema.Key)
		g.node(at.dir)
		for _, key := range p.typeRefs(t.schema) {
			g.edge(at.dir, p.locate(key).dir)
		}
	}
	for _, f := range p.functions {
		at := p.locate(f.schema.Name)
		g.node(at.dir)
		for _, key := range p.known(signatureRefs(p.refined[f.schema].signature)) {
			g.edge(at.dir, p.locate(key).dir)
		}
	}
	homes := g.homes()
	for _, t := range p.bound {
		p.settleType(t, homes)
	}
	for _, o := range p.objects {
		if t := p.types[o.Key]; t != nil {
			o.Parent = p.nearest(t.Ancestors)
		}
	}
}

// settleType puts a type into its package. If its namespace has another package, that
// one gets an alias.
func (p *planner) settleType(t *boundType, homes map[string]string) {
	at := p.locate(t.schema.Key)
	home := homes[at.dir]
	o := &Object{Key: t.schema.Key, Marker: p.markers[t.schema.Key], Pkg: p.pkg(home), schema: t.schema, entry: t.entry, want: Camel(at.local)}
	t.object, p.objects[o.Key] = o, o
	o.Pkg.objects = append(o.Pkg.objects, o)
	o.Pkg.owners[t.schema.Library] = true
	if home == at.dir {
		return
	}
	above := home
	if _, member := homes[home]; !member {
		above = parentDir(home)
	}
	parts := strings.Split(p.relative(t.schema.Key), ".")
	o.want = Camel(strings.Join(parts[depth(above):], "."))
	pkg := p.pkg(at.dir)
	pkg.owners[t.schema.Library] = true
	pkg.aliases = append(pkg.aliases, &Alias{Object: o, GoName: Camel(at.local), entry: t.entry})
	t.entry.Note = "the type is part of an import cycle of namespaces: it lives in package " + display(home) +
		" and has an alias in package " + display(at.dir) + "; add methods where it lives"
}

// parentDir returns the directory above dir, "" for the root.
func parentDir(dir string) string { return dir[:max(0, strings.LastIndexByte(dir, '/'))] }

// depth returns the number of directories between dir and the root.
func depth(dir string) int {
	if dir == "" {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// findRoot returns the namespace that becomes the root package.
func (p *planner) findRoot() string {
	if p.config.Root != "" {
		return p.config.Root
	}
	if len(p.config.Prefixes) == 1 && len(p.config.Libraries) == 0 {
		return p.config.Prefixes[0]
	}
	var common []string
	first := true
	narrow := func(name string) {
		ns, _ := p.cut(name)
		parts := strings.Split(ns, ".")
		if ns == "" {
			parts = nil
		}
		if first {
			common, first = parts, false
			return
		}
		n := 0
		for n < len(common) && n < len(parts) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	for _, t := range p.bound {
		narrow(t.schema.Key)
	}
	for _, f := range p.functions {
		if f.schema.Source == schema.SourceGlobal {
			narrow(f.schema.Name)
		}
	}
	return strings.Join(common, ".")
}

// cut divides a registry name into namespace and name. A type key is not a namespace:
// items registered below it belong to the package of the type.
func (p *planner) cut(name string) (ns, local string) {
	ns = namespace(name)
	for i := 0; i < len(ns); i++ {
		if ns[i] == '.' && p.types[ns[:i]] != nil {
			ns = namespace(ns[:i])
			break
		}
	}
	if p.types[ns] != nil {
		ns = namespace(ns)
	}
	for i, part := range strings.Split(ns, ".") {
		if !plainPart(part) {
			ns = strings.Join(strings.Split(ns, ".")[:i], ".")
			break
		}
	}
	if ns == "" {
		return "", name
	}
	return ns, name[len(ns)+1:]
}

// plainPart reports whether a part of a namespace may become a folder. A part with other
// characters would make an odd one, so it belongs to the local name.
func plainPart(part string) bool {
	return part != "" && strings.Trim(strings.ToLower(part), "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// relative returns a registry name without the root namespace.
func (p *planner) relative(name string) string {
	if p.root != "" {
		return strings.TrimPrefix(name, p.root+".")
	}
	return name
}

func (p *planner) relativeNamespace(ns string) string {
	if ns == p.root {
		return ""
	}
	return p.relative(ns)
}

// locate returns the place of a registry name by its namespace alone.
func (p *planner) locate(name string) place {
	if !p.config.Split {
		return place{namespace: p.root, local: p.relative(name)}
	}
	ns, local := p.cut(name)
	at := place{namespace: ns, local: local}
	if rel := p.relativeNamespace(ns); rel != "" {
		var dirs []string
		for _, part := range strings.Split(rel, ".") {
			dirs = append(dirs, segment(part))
		}
		at.dir = path.Join(dirs...)
	}
	return at
}

// pkg returns the package of a directory.
func (p *planner) pkg(dir string) *Package {
	if p.dirs[dir] == nil {
		p.dirs[dir] = p.newPackage(dir)
	}
	return p.dirs[dir]
}

func (p *planner) newPackage(dir string) *Package {
	pkg := &Package{
		Dir: dir, Name: path.Base(dir), Path: path.Join(p.config.ImportPath, dir), Tool: p.config.ToolVersion,
		user: map[string]bool{}, variants: map[string]*Variant{}, bases: map[*Object]string{}, foreign: map[*Object]string{},
		owners: map[string]bool{},
	}
	if dir == "" {
		pkg.Name = p.config.Package
	}
	pkg.Libraries = p.libraries
	for _, name := range p.config.UserNames[display(dir)] {
		pkg.user[name] = true
	}
	return pkg
}

// packages returns the packages with files, sorted by directory.
func (p *planner) packages() []*Package {
	var all []*Package
	for _, pkg := range p.dirs {
		if len(pkg.Files) > 0 {
			pkg.Sources = p.sourcesOf(pkg)
			all = append(all, pkg)
		}
	}
	slices.SortFunc(all, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return all
}

// sourcesOf lists the libraries that own items of the package. It lists all libraries if
// an owner is unknown, and for a package without items.
func (p *planner) sourcesOf(pkg *Package) []schema.Library {
	if pkg.owners[""] || len(pkg.owners) == 0 {
		return p.sources
	}
	return slices.DeleteFunc(slices.Clone(p.sources), func(l schema.Library) bool { return !pkg.owners[l.File] })
}

// display returns a directory below the output root in the form for messages.
func display(dir string) string { return cmp.Or(dir, ".") }

// typeRefs lists the known types that the code of t mentions. That includes the fields
// of its ancestors, because constructors take them.
func (p *planner) typeRefs(t *schema.Type) []string {
	refs := slices.Clone(t.Ancestors)
	for _, f := range t.AllFields(p.types) {
		refs = exprRefs(refs, f.Type)
	}
	for i := range t.Methods {
		refs = append(refs, signatureRefs(p.methodSignature(&t.Methods[i]))...)
	}
	return p.known(refs)
}

// known replaces each name by the key of the bound type that represents it, and drops
// the others.
func (p *planner) known(names []string) []string {
	var keys []string
	for _, name := range names {
		t := p.types[name]
		if t == nil || runtimeKeys[name] {
			continue
		}
		chain := append(slices.Clone(t.Ancestors), name)
		for _, key := range slices.Backward(chain) {
			if p.boundKeys[key] {
				keys = append(keys, key)
				break
			}
		}
	}
	return keys
}

func signatureRefs(s *schema.Signature) []string {
	if s == nil {
		return nil
	}
	refs := exprRefs(nil, s.Return)
	for _, param := range s.Params {
		refs = exprRefs(refs, param.Type)
	}
	return refs
}

func exprRefs(refs []string, e schema.TypeSchema) []string {
	refs = append(refs, e.Name)
	for _, a := range e.Args {
		refs = exprRefs(refs, a)
	}
	return append(refs, signatureRefs(e.Func)...)
}
