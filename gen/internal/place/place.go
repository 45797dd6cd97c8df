// Package place chooses the Go package of each item: by its namespace, unless packages would import
// each other.
package place

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/classify"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// A location is where a registry name is before cycles are broken: a namespace of
// the registry, its directory, and the name inside it.
type location struct{ namespace, dir, local string }

// Places are the packages of the output, and where the items go.
type Places struct {
	*classify.Items
	Packages []*plan.Package         // sorted by Dir
	Funcs    []*plan.Func            // of Items.Functions, in their order
	Objects  map[string]*plan.Object // of Items.Types and of other packages, by type key
	Markers  map[string]string       // the marker methods of all types of the schema, by type key
	Root     string                  // namespace of the root package

	dirs      map[string]*plan.Package
	local     map[*plan.Entry]string // the names of types and functions inside their packages
	libraries []schema.Library       // to load
	sources   []schema.Library       // that the items come from
}

// New chooses the package of each item: first by namespace, then by moving the types
// of each import cycle into one package.
func New(items *classify.Items) *Places {
	p := &Places{Items: items, Objects: map[string]*plan.Object{}, Markers: markers(items.Keys), dirs: map[string]*plan.Package{}}
	p.others()
	p.Root = p.findRoot()
	p.findLibraries()
	p.pkg("")
	bound := map[string]bool{}
	for _, t := range p.Types {
		bound[t.Schema.Key] = true
	}
	g := newGraph()
	for _, t := range p.Types {
		g.add(p.locate(t.Schema.Key).dir, p.mentioned(bound, p.typeRefs(t)))
	}
	called := map[string]bool{} // directories with functions
	for _, f := range p.Functions {
		dir := p.locate(f.Schema.Name).dir
		g.add(dir, p.mentioned(bound, classify.SignatureRefs(f.Signature)))
		called[dir] = true
	}
	homes := g.homes()
	p.nameLocally(homes)
	for _, t := range p.Types {
		at := p.locate(t.Schema.Key)
		p.settleType(t, at, homes[at.dir], called[at.dir] || p.mapped(at.namespace) != "")
	}
	for _, f := range p.Functions {
		p.settleFunction(f)
	}
	p.findParents()
	p.finishPackages()
	return p
}

// others makes the objects that other packages own.
func (p *Places) others() {
	for key, target := range plan.Owned(p.Config) {
		from, name := plan.CutExternal(target)
		name = cmp.Or(name, plan.Camel(plan.LastPart(key)))
		pkg := &plan.Package{Path: from, Name: cmp.Or(p.Config.PackageNames[from], path.Base(from))}
		p.Objects[key] = &plan.Object{Key: key, GoName: name, Ref: name + "Ref", Marker: cmp.Or(p.Markers[key], "As"+plan.Camel(key)), External: true, Pkg: pkg}
	}
}

// markers names the marker method of each object type: As and the whole key. So the name
// does not depend on other types, unless two keys convert to one name.
func markers(types map[string]*schema.Type) map[string]string {
	names := map[string]string{}
	taken := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(types)) {
		name := "As" + plan.Camel(key)
		if taken[name] {
			name += "_" + plan.Verbatim(key)
		}
		taken[name] = true
		names[key] = name
	}
	return names
}

// findParents finds the nearest ancestor of each object.
func (p *Places) findParents() {
	for _, o := range p.Objects {
		if t := p.Keys[o.Key]; t != nil {
			o.Parent = p.Nearest(t.Ancestors)
		}
	}
	for _, t := range p.Types {
		parent := p.Objects[t.Schema.Key].Parent
		for _, key := range slices.Backward(t.Schema.Ancestors) {
			if parent != nil && parent.Key == key || key == plan.RootKey {
				break
			}
			p.Weaken(key, parent)
		}
	}
}

// Object returns the object of a key, or nil.
func (p *Places) Object(key string) *plan.Object {
	o := p.Objects[key]
	if o != nil && o.External {
		p.Used["external "+key] = true
	}
	return o
}

// Nearest returns the object of the last key that has one, or nil.
func (p *Places) Nearest(keys []string) *plan.Object {
	for _, key := range slices.Backward(keys) {
		if o := p.Object(key); o != nil {
			return o
		}
	}
	return nil
}

// Weaken reports that signatures have an ancestor in place of a type, because the type is
// neither bound nor owned by a package that the config names. An entry exists if the
// config skips the type.
func (p *Places) Weaken(key string, ancestor *plan.Object) {
	if slices.ContainsFunc(p.Entries, func(e *plan.Entry) bool { return e.Kind == plan.KindType && e.Name == key }) {
		return
	}
	instead := "tvmffi.ObjectRef"
	if ancestor != nil {
		instead = ancestor.Key
	}
	p.Entries = append(p.Entries, &plan.Entry{Kind: plan.KindType, Name: key, Status: plan.Weakened,
		Reason: "its namespace is not bound, so " + instead + " stands in its place"})
}

// settleType puts a type into its package. If its namespace has another package, that
// one gets an alias. A namespace of a cycle that has only types has no package.
func (p *Places) settleType(t *classify.Type, at location, home string, own bool) {
	key := t.Schema.Key
	o := &plan.Object{Key: key, Marker: p.Markers[key], Pkg: p.pkg(home), Entry: t.Entry, Want: plan.Camel(p.local[t.Entry])}
	p.Objects[key] = o
	o.Pkg.Objects = append(o.Pkg.Objects, o)
	if home == at.dir {
		return
	}
	t.Entry.Note = "the type is part of an import cycle of namespaces: it lives in package " + plan.Display(home)
	if !own {
		t.Entry.Note += "; its namespace has no functions and no package"
		return
	}
	pkg := p.pkg(at.dir)
	pkg.Aliases = append(pkg.Aliases, &plan.Alias{Object: o, Want: plan.Camel(at.local)})
	t.Entry.Note += " and has an alias in package " + plan.Display(at.dir) + "; add methods where it lives"
}

// settleFunction puts a function into its package.
func (p *Places) settleFunction(f *classify.Function) {
	at := p.locate(f.Schema.Name)
	fn := &plan.Func{Name: f.Schema.Name, Entry: f.Entry, Pkg: p.pkg(at.dir), Library: f.Schema.Library, Local: at.local, Want: plan.Camel(p.local[f.Entry])}
	fn.Pkg.Funcs = append(fn.Pkg.Funcs, fn)
	p.Funcs = append(p.Funcs, fn)
}

// An item is a type or a function, and its namespace and local name.
type item struct {
	entry    *plan.Entry
	location // dir is the home of a type
	native   bool
	typ      *schema.Type
	makes    *schema.Signature
}

// nameLocally finds the name of each item inside its package. That is the name in its
// namespace. In a package of several namespaces the last part of the namespace precedes
// the name if an item of another namespace has that name. A type and the function that
// makes it share a name.
func (p *Places) nameLocally(homes map[string]string) {
	p.local = map[*plan.Entry]string{}
	var items []item
	add := func(e *plan.Entry, name string, t *schema.Type, s *schema.Signature) {
		at := p.locate(name)
		if t != nil {
			at.dir = homes[at.dir]
		}
		items = append(items, item{e, at, p.defaultDir(at.namespace) == at.dir, t, s})
	}
	for _, t := range p.Types {
		add(t.Entry, t.Schema.Key, t.Schema, nil)
	}
	for _, f := range p.Functions {
		add(f.Entry, f.Schema.Name, nil, f.Signature)
	}
	slices.SortStableFunc(items, func(a, b item) int { return plan.Order(b.native) - plan.Order(a.native) })
	holders := map[[2]string][]item{}
	for _, it := range items {
		spot := [2]string{it.dir, plan.Camel(it.local)}
		p.local[it.entry] = it.local
		if slices.ContainsFunc(holders[spot], it.clashes) {
			p.local[it.entry] = plan.LastPart(it.namespace) + "." + it.local
			if p.locate(it.entry.Name).dir == it.dir { // otherwise the entry has a note
				it.entry.Renamed = "another namespace of package " + plan.Display(it.dir) + " has the name " + spot[1]
			}
			continue
		}
		holders[spot] = append(holders[spot], it)
	}
}

// clashes reports whether a package has no good names for two items with one local name.
func (it item) clashes(other item) bool {
	if it.namespace == other.namespace {
		return false
	}
	if it.typ == nil {
		it, other = other, it
	}
	if it.typ == nil || other.typ != nil {
		return true
	}
	return !mayMake(other.makes, it.typ)
}

// mayMake reports whether a function makes objects of a type, as far as its signature
// says.
func mayMake(s *schema.Signature, t *schema.Type) bool {
	if s == nil {
		return true
	}
	result := s.Return.Normalized()
	if result.Name == "Optional" && len(result.Args) == 1 {
		result = result.Args[0]
	}
	return result.Name == t.Key || slices.Contains(t.Ancestors, result.Name)
}

// relative returns a registry name without the root namespace.
func (p *Places) relative(name string) string {
	if p.Root != "" {
		return strings.TrimPrefix(name, p.Root+".")
	}
	return name
}

// locate returns the place of a registry name by its namespace alone.
func (p *Places) locate(name string) location {
	ns, local := p.Cut(name)
	if key := p.mapped(ns); key != "" {
		rest := strings.TrimPrefix(strings.TrimPrefix(ns, key), ".")
		dir := p.Config.Packages[key]
		if dir == "." {
			dir = ""
		}
		if !p.Config.Splits() {
			return location{ns, dir, strings.TrimPrefix(name, key+".")}
		}
		return location{ns, path.Join(dir, plan.Folders(rest)), local}
	}
	if !p.Config.Splits() {
		return location{p.Root, "", p.relative(name)}
	}
	return location{ns, p.defaultDir(ns), local}
}

// mapped returns the longest key of Config.Packages that is the namespace or above it, or "".
func (p *Places) mapped(ns string) string {
	for ; ns != ""; ns = plan.Namespace(ns) {
		if _, ok := p.Config.Packages[ns]; ok {
			return ns
		}
	}
	return ""
}

// defaultDir returns the directory of a namespace that the config does not mention.
func (p *Places) defaultDir(ns string) string {
	if ns == p.Root || !p.Config.Splits() {
		return ""
	}
	return plan.Folders(p.relative(ns))
}
