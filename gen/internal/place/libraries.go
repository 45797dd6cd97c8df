package place

import (
	"cmp"
	"slices"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/schema"
)

// findLibraries lists the libraries of the bound items. libtvm_ffi itself is always
// loaded.
func (p *Places) findLibraries() {
	owners := map[string]bool{}
	for _, t := range p.Types {
		owners[t.Schema.Library] = true
	}
	for _, f := range p.Functions {
		owners[f.Schema.Library] = true
	}
	needed := map[string]bool{}
	for _, l := range p.Schema.Libraries {
		if owners[l.File] || owners[""] && l.Role == schema.RoleBound {
			p.sources = append(p.sources, l)
			for _, l := range p.closure(l.File) {
				needed[l.File] = true
			}
		}
	}
	for _, l := range p.Schema.Libraries {
		if needed[l.File] {
			p.libraries = append(p.libraries, l)
		}
	}
}

// closure lists the libraries that must be loaded for an item of a library, which is the
// last. An item of an unknown library needs all.
func (p *Places) closure(owner string) []schema.Library {
	if owner == "" {
		return p.libraries
	}
	needed := map[string]bool{}
	var visit func(file string)
	visit = func(file string) {
		i := slices.IndexFunc(p.Schema.Libraries, func(l schema.Library) bool { return l.File == file })
		if i < 0 || needed[file] || file != owner && p.core(i) || p.Schema.Libraries[i].Role == schema.RoleCore {
			return
		}
		needed[file] = true
		if l := p.Schema.Libraries[i]; len(l.Needs) > 0 {
			for _, other := range l.Needs {
				visit(other)
			}
		} else if l.Role == schema.RoleBound {
			for _, other := range p.Schema.Libraries[:i] {
				visit(other.File)
			}
		}
	}
	visit(owner)
	if first := p.Schema.Libraries[0]; first.Role == schema.RoleDependency {
		needed[first.File] = true // a libtvm_ffi that the configuration names
	}
	for _, l := range p.Schema.Libraries {
		if l.Role == schema.RoleDependency && !p.linked(l.File) {
			visit(l.File)
		}
	}
	return slices.DeleteFunc(slices.Clone(p.Schema.Libraries), func(l schema.Library) bool { return !needed[l.File] })
}

// core reports whether a library of the schema is a libtvm_ffi that need not be listed: it
// is always loaded. One that is listed as a dependency has to be of that version. It is the
// first even if it is bound.
func (p *Places) core(i int) bool {
	return i == 0 && p.Schema.Libraries[0].Role != schema.RoleDependency && slices.ContainsFunc(p.Schema.Libraries, func(l schema.Library) bool {
		return slices.Contains(l.Needs, p.Schema.Libraries[0].File)
	})
}

// linked reports whether a library of the schema says that it needs the file. A dependency
// of which none says so may be needed by all.
func (p *Places) linked(file string) bool {
	return slices.ContainsFunc(p.Schema.Libraries, func(l schema.Library) bool { return slices.Contains(l.Needs, file) })
}

// librarySets makes the sets of a package: one for each library that owns functions and
// types of it, the smallest first. The first is what Load loads; in the root package that
// is everything. The items of libtvm_ffi need no library, so they use the first, too.
func (p *Places) librarySets(pkg *plan.Package, owners []string) {
	if pkg.Dir == "" || len(owners) == 0 {
		pkg.Sets = []*plan.LibrarySet{{Files: p.libraries}}
	}
	slices.Sort(owners)
	var sets []*plan.LibrarySet
	for _, owner := range slices.Compact(owners) {
		sets = append(sets, &plan.LibrarySet{Files: p.closure(owner), Owner: owner})
	}
	slices.SortStableFunc(sets, func(a, b *plan.LibrarySet) int {
		return cmp.Or(plan.Order(len(b.Files) > 0)-plan.Order(len(a.Files) > 0), cmp.Compare(len(a.Files), len(b.Files)))
	})
	setOf := map[string]*plan.LibrarySet{}
	for _, set := range sets {
		i := slices.IndexFunc(pkg.Sets, func(other *plan.LibrarySet) bool {
			return len(set.Files) == 0 || sameFiles(set.Files, other.Files)
		})
		if i < 0 {
			pkg.Sets = append(pkg.Sets, set)
			i = len(pkg.Sets) - 1
		}
		pkg.Sets[i].Owner = cmp.Or(pkg.Sets[i].Owner, set.Owner)
		setOf[set.Owner] = pkg.Sets[i]
	}
	for _, o := range pkg.Objects {
		o.Set = setOf[p.Keys[o.Key].Library]
	}
	for _, f := range pkg.Funcs {
		f.Set = setOf[f.Library]
	}
}

func sameFiles(a, b []schema.Library) bool {
	return slices.EqualFunc(a, b, func(a, b schema.Library) bool { return a.File == b.File })
}

// sourcesOf lists the libraries that own items of a package. It lists all libraries if
// an owner is unknown, and for a package without items.
func (p *Places) sourcesOf(owners []string) []schema.Library {
	if slices.Contains(owners, "") || len(owners) == 0 {
		return p.sources
	}
	return slices.DeleteFunc(slices.Clone(p.sources), func(l schema.Library) bool { return !slices.Contains(owners, l.File) })
}
