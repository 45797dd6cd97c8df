package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// A LibrarySet is a bindrt.Library variable: the files that some items of a package need.
type LibrarySet struct {
	Name  string
	Files []schema.Library // in the order in which they are loaded
	Owner string           // the library that needs the others, "" if no item of the package is from there
}

// findLibraries lists the libraries of the bound items. libtvm_ffi itself is always
// loaded.
func (p *planner) findLibraries() {
	owners := map[string]bool{}
	for _, t := range p.bound {
		owners[t.schema.Library] = true
	}
	for _, f := range p.functions {
		owners[f.schema.Library] = true
	}
	needed := map[string]bool{}
	for _, l := range p.schema.Libraries {
		if owners[l.File] || owners[""] && l.Role == schema.RoleBound {
			p.sources = append(p.sources, l)
			for _, l := range p.closure(l.File) {
				needed[l.File] = true
			}
		}
	}
	for _, l := range p.schema.Libraries {
		if needed[l.File] {
			p.libraries = append(p.libraries, l)
		}
	}
}

// closure lists the libraries that must be loaded for an item of a library, which is the
// last. An item of an unknown library needs all.
func (p *planner) closure(owner string) []schema.Library {
	if owner == "" {
		return p.libraries
	}
	needed := map[string]bool{}
	var visit func(file string)
	visit = func(file string) {
		i := slices.IndexFunc(p.schema.Libraries, func(l schema.Library) bool { return l.File == file })
		if i < 0 || needed[file] || file != owner && p.core(i) || p.schema.Libraries[i].Role == schema.RoleCore {
			return
		}
		needed[file] = true
		if l := p.schema.Libraries[i]; len(l.Needs) > 0 {
			for _, other := range l.Needs {
				visit(other)
			}
		} else if l.Role == schema.RoleBound {
			for _, other := range p.schema.Libraries[:i] {
				visit(other.File)
			}
		}
	}
	visit(owner)
	if first := p.schema.Libraries[0]; first.Role == schema.RoleDependency {
		needed[first.File] = true // a libtvm_ffi that the configuration names
	}
	for _, l := range p.schema.Libraries {
		if l.Role == schema.RoleDependency && !p.linked(l.File) {
			visit(l.File)
		}
	}
	return slices.DeleteFunc(slices.Clone(p.schema.Libraries), func(l schema.Library) bool { return !needed[l.File] })
}

// core reports whether a library of the schema is a libtvm_ffi that need not be listed: it
// is always loaded. One that is listed as a dependency has to be of that version. It is the
// first even if it is bound.
func (p *planner) core(i int) bool {
	return i == 0 && p.schema.Libraries[0].Role != schema.RoleDependency && slices.ContainsFunc(p.schema.Libraries, func(l schema.Library) bool {
		return slices.Contains(l.Needs, p.schema.Libraries[0].File)
	})
}

// linked reports whether a library of the schema says that it needs the file. A dependency
// of which none says so may be needed by all.
func (p *planner) linked(file string) bool {
	return slices.ContainsFunc(p.schema.Libraries, func(l schema.Library) bool { return slices.Contains(l.Needs, file) })
}

// librarySets makes the sets of a package: one for each library that owns functions and
// types of it, the smallest first. The first is what Load loads; in the root package that
// is everything. What libtvm_ffi owns needs nothing, so it uses the first, too.
func (p *planner) librarySets(pkg *Package) {
	var owners []string
	for _, o := range pkg.objects {
		owners = append(owners, o.schema.Library)
	}
	for _, f := range pkg.funcs {
		owners = append(owners, f.library)
	}
	if pkg.Dir == "" || len(owners) == 0 {
		pkg.Sets = []*LibrarySet{{Files: p.libraries}}
	}
	slices.Sort(owners)
	var sets []*LibrarySet
	for _, owner := range slices.Compact(owners) {
		sets = append(sets, &LibrarySet{Files: p.closure(owner), Owner: owner})
	}
	slices.SortStableFunc(sets, func(a, b *LibrarySet) int {
		return cmp.Or(order(len(b.Files) > 0)-order(len(a.Files) > 0), cmp.Compare(len(a.Files), len(b.Files)))
	})
	pkg.setOf = map[string]*LibrarySet{}
	for _, set := range sets {
		i := slices.IndexFunc(pkg.Sets, func(other *LibrarySet) bool {
			return len(set.Files) == 0 || sameFiles(set.Files, other.Files)
		})
		if i < 0 {
			pkg.Sets = append(pkg.Sets, set)
			i = len(pkg.Sets) - 1
		}
		pkg.Sets[i].Owner = cmp.Or(pkg.Sets[i].Owner, set.Owner)
		pkg.setOf[set.Owner] = pkg.Sets[i]
	}
}

func sameFiles(a, b []schema.Library) bool {
	return slices.EqualFunc(a, b, func(a, b schema.Library) bool { return a.File == b.File })
}

// nameSets names the variables of the sets: library, and others after the file.
func (pkg *Package) nameSets() {
	for i, set := range pkg.Sets {
		name := "library"
		if i > 0 {
			stem, _, _ := strings.Cut(set.Owner, ".")
			name += Camel(strings.TrimPrefix(stem, "lib"))
		}
		set.Name = pkg.scope.free("a helper", name)
	}
}

// LibraryOf returns the name of the variable for a function.
func (pkg *Package) LibraryOf(f *Func) string { return pkg.setOf[f.library].Name }

// LibraryOfType returns the name of the variable for a type.
func (pkg *Package) LibraryOfType(o *Object) string { return pkg.setOf[o.schema.Library].Name }

// sourcesOf lists the libraries that own items of the package. It lists all libraries if
// an owner is unknown, and for a package without items.
func (p *planner) sourcesOf(pkg *Package) []schema.Library {
	if pkg.owners[""] || len(pkg.owners) == 0 {
		return p.sources
	}
	return slices.DeleteFunc(slices.Clone(p.sources), func(l schema.Library) bool { return !pkg.owners[l.File] })
}
