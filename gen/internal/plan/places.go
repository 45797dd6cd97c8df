package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// A place is the location of a registry name before cycles are broken: a namespace of
// the registry, its directory, and the name inside it.
type place struct{ namespace, dir, local string }

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
	g := newGraph()
	for _, t := range p.bound {
		g.add(p.locate(t.schema.Key).dir, p.dirsOf(p.typeRefs(t.schema)))
	}
	called := map[string]bool{} // directories with functions
	for _, f := range p.functions {
		dir := p.locate(f.schema.Name).dir
		g.add(dir, p.dirsOf(p.known(signatureRefs(p.refined[f.schema].signature))))
		called[dir] = true
	}
	homes := g.homes()
	p.nameLocally(homes)
	for _, t := range p.bound {
		at := p.locate(t.schema.Key)
		p.settleType(t, at, homes[at.dir], called[at.dir] || p.chosen(at.namespace))
	}
	for _, o := range p.objects {
		if t := p.types[o.Key]; t != nil {
			o.Parent = p.nearest(t.Ancestors)
		}
	}
	for _, t := range p.bound {
		for _, key := range slices.Backward(t.schema.Ancestors) {
			if o := t.object.Parent; o != nil && o.Key == key || key == rootKey {
				break
			}
			p.weaken(key, t.object.Parent)
		}
	}
}

// dirsOf returns the directory of each registry name.
func (p *planner) dirsOf(names []string) []string {
	dirs := make([]string, len(names))
	for i, name := range names {
		dirs[i] = p.locate(name).dir
	}
	return dirs
}

// settleType puts a type into its package. If its namespace has another package, that
// one gets an alias. A namespace of a cycle that has only types has no package.
func (p *planner) settleType(t *boundType, at place, home string, own bool) {
	o := &Object{Key: t.schema.Key, Marker: p.markers[t.schema.Key], Pkg: p.pkg(home), schema: t.schema, entry: t.entry, want: Camel(p.localNames[t.entry])}
	t.object, p.objects[o.Key] = o, o
	o.Pkg.objects = append(o.Pkg.objects, o)
	o.Pkg.owners[t.schema.Library] = true
	if home == at.dir {
		return
	}
	t.entry.Note = "the type is part of an import cycle of namespaces: it lives in package " + display(home)
	if !own {
		t.entry.Note += "; its namespace has no functions and no package"
		return
	}
	pkg := p.pkg(at.dir)
	pkg.owners[t.schema.Library] = true
	pkg.aliases = append(pkg.aliases, &Alias{Object: o, GoName: Camel(at.local), entry: t.entry})
	t.entry.Note += " and has an alias in package " + display(at.dir) + "; add methods where it lives"
}

// An item is a type or a function, and its namespace and local name.
type item struct {
	entry  *Entry
	place  // dir is the home of a type
	native bool
	typ    *schema.Type
	makes  *schema.Signature
}

// nameLocally finds the name of each item inside its package. That is the name in its
// namespace. In a package of several namespaces the last part of the namespace precedes
// the name if an item of another namespace has that name. A type and the function that
// makes it share a name.
func (p *planner) nameLocally(homes map[string]string) {
	p.localNames = map[*Entry]string{}
	var items []item
	add := func(e *Entry, name string, t *schema.Type, s *schema.Signature) {
		at := p.locate(name)
		if t != nil {
			at.dir = homes[at.dir]
		}
		items = append(items, item{e, at, p.defaultDir(at.namespace) == at.dir, t, s})
	}
	for _, t := range p.bound {
		add(t.entry, t.schema.Key, t.schema, nil)
	}
	for _, f := range p.functions {
		add(f.entry, f.schema.Name, nil, p.refined[f.schema].signature)
	}
	slices.SortStableFunc(items, func(a, b item) int { return order(b.native) - order(a.native) })
	holders := map[[2]string][]item{}
	for _, it := range items {
		spot := [2]string{it.dir, Camel(it.local)}
		p.localNames[it.entry] = it.local
		if slices.ContainsFunc(holders[spot], it.clashes) {
			p.localNames[it.entry] = lastPart(it.namespace) + "." + it.local
			if p.locate(it.entry.Name).dir == it.dir { // otherwise the entry has a note
				it.entry.Renamed = "another namespace of package " + display(it.dir) + " has the name " + spot[1]
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
func (p *planner) relative(name string) string {
	if p.root != "" {
		return strings.TrimPrefix(name, p.root+".")
	}
	return name
}

// locate returns the place of a registry name by its namespace alone.
func (p *planner) locate(name string) place {
	ns, local := p.cut(name)
	if key := p.mapped(ns); key != "" {
		rest := strings.TrimPrefix(strings.TrimPrefix(ns, key), ".")
		dir := p.config.Packages[key]
		if dir == "." {
			dir = ""
		}
		if !p.config.Split {
			return place{ns, dir, strings.TrimPrefix(name, key+".")}
		}
		return place{ns, path.Join(dir, Folders(rest)), local}
	}
	if !p.config.Split {
		return place{p.root, "", p.relative(name)}
	}
	return place{ns, p.defaultDir(ns), local}
}

// mapped returns the longest key of Config.Packages that is the namespace or above it.
func (p *planner) mapped(ns string) string {
	for ; ns != ""; ns = namespace(ns) {
		if _, ok := p.config.Packages[ns]; ok {
			return ns
		}
	}
	return ""
}

// chosen reports whether the config names a package for the namespace.
func (p *planner) chosen(ns string) bool { return p.mapped(ns) != "" }

// defaultDir returns the directory of a namespace that the config does not mention.
func (p *planner) defaultDir(ns string) string {
	if ns == p.root || !p.config.Split {
		return ""
	}
	return Folders(p.relative(ns))
}

// Folders returns the path of a namespace relative to its root.
func Folders(ns string) string {
	if ns == "" {
		return ""
	}
	parts := strings.Split(ns, ".")
	for i := range parts {
		parts[i] = segment(parts[i])
	}
	return path.Join(parts...)
}

// IsFolder reports whether a path may be the folder of a package: "." or words that are
// good names of packages.
func IsFolder(dir string) bool {
	if dir == "." {
		return true
	}
	return dir != "" && Folders(strings.ReplaceAll(dir, "/", ".")) == dir && path.Clean(dir) == dir && !strings.Contains(dir, ".")
}
