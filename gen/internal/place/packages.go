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

// findRoot returns the namespace that becomes the root package: that of an earlier run, if something is
// still in it. Names without a namespace do not count: they are in the root package in any case.
func (p *Places) findRoot() string {
	if p.Config.Root != "" {
		return p.Config.Root
	}
	if b := p.Config.Before; b != nil {
		below := func(name string) bool { return b.Root == "" || strings.HasPrefix(name, b.Root+".") }
		if slices.ContainsFunc(p.Types, func(t *classify.Type) bool { return below(t.Schema.Key) }) ||
			slices.ContainsFunc(p.Functions, func(f *classify.Function) bool { return f.Schema.Source == schema.SourceGlobal && below(f.Schema.Name) }) {
			return b.Root
		}
	}
	if len(p.Config.Prefixes) == 1 && len(p.Config.Libraries) == 0 {
		return p.Config.Prefixes[0]
	}
	var common []string
	first := true
	narrow := func(name string) {
		ns, _ := p.Cut(name)
		if ns == "" {
			return
		}
		parts := strings.Split(ns, ".")
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
	for _, t := range p.Types {
		narrow(t.Schema.Key)
	}
	for _, f := range p.Functions {
		if f.Schema.Source == schema.SourceGlobal {
			narrow(f.Schema.Name)
		}
	}
	return strings.Join(common, ".")
}

// Cut divides a registry name into namespace and name. A type key is not a namespace:
// items registered below it belong to the package of the type.
func (p *Places) Cut(name string) (ns, local string) {
	ns = plan.Namespace(name)
	for i := 0; i < len(ns); i++ {
		if ns[i] == '.' && p.Keys[ns[:i]] != nil {
			ns = plan.Namespace(ns[:i])
			break
		}
	}
	if p.Keys[ns] != nil {
		ns = plan.Namespace(ns)
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

// pkg returns the package of a directory.
func (p *Places) pkg(dir string) *plan.Package {
	if p.dirs[dir] == nil {
		pkg := &plan.Package{
			Dir: dir, Name: path.Base(dir), Path: path.Join(p.Config.ImportPath, dir), Tool: p.Config.ToolVersion,
			User: map[string]bool{}, Variants: map[string]*plan.Variant{}, Enums: map[string]*plan.Enum{},
		}
		if dir == "" {
			pkg.Name = p.Config.Package
		}
		for _, name := range p.Config.UserNames[plan.Display(dir)] {
			pkg.User[name] = true
		}
		p.dirs[dir] = pkg
	}
	return p.dirs[dir]
}

// finishPackages adds to the packages what follows from their items: the namespaces, and the
// libraries.
func (p *Places) finishPackages() {
	docs := p.namespaceDocs()
	for _, dir := range slices.Sorted(maps.Keys(p.dirs)) {
		pkg := p.dirs[dir]
		p.Packages = append(p.Packages, pkg)
		var owners []string
		note := func(name, library string) {
			owners = append(owners, library)
			if ns := p.locate(name).namespace; ns != "" {
				pkg.Namespaces = append(pkg.Namespaces, ns)
			}
		}
		for _, o := range pkg.Objects {
			note(o.Key, p.Keys[o.Key].Library)
		}
		for _, f := range pkg.Funcs {
			note(f.Name, f.Library)
		}
		p.librarySets(pkg, slices.Clone(owners))
		for _, a := range pkg.Aliases {
			note(a.Object.Key, p.Keys[a.Object.Key].Library)
		}
		slices.Sort(pkg.Namespaces)
		pkg.Namespaces = slices.Compact(pkg.Namespaces)
		pkg.Sources, pkg.Doc = p.sourcesOf(owners), docs[dir]
	}
}

// namespaceDocs returns what names files say about namespaces, by the directory of the
// package. If a package has several, the shortest counts.
func (p *Places) namespaceDocs() map[string]string {
	docs := map[string]string{}
	bound := p.boundNamespaces()
	byLength := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	for _, file := range p.Config.Names {
		for _, ns := range slices.SortedFunc(maps.Keys(file.Namespaces), byLength) {
			if !bound[ns] {
				continue
			}
			dir := p.locate(strings.TrimPrefix(ns+".item", ".")).dir
			docs[dir] = cmp.Or(docs[dir], file.Namespaces[ns])
		}
	}
	return docs
}

// boundNamespaces holds the root, which may have no name, and the namespaces of the bound items and
// those around them inside it.
func (p *Places) boundNamespaces() map[string]bool {
	all := map[string]bool{p.Root: true}
	note := func(name string) {
		for ns, _ := p.Cut(name); ns != "" && !all[ns]; ns, _ = p.Cut(ns) {
			all[ns] = true
		}
	}
	for _, f := range p.Functions {
		note(f.Schema.Name)
	}
	for _, t := range p.Types {
		note(t.Schema.Key)
	}
	return all
}

// typeRefs lists the types that the code of t mentions. That includes the fields
// of its ancestors, because constructors take them.
func (p *Places) typeRefs(t *classify.Type) []string {
	refs := slices.Clone(t.Schema.Ancestors)
	for _, f := range t.Schema.AllFields(p.Keys) {
		refs = classify.ExprRefs(refs, f.Type)
	}
	for _, m := range t.Methods {
		refs = append(refs, classify.SignatureRefs(m.Signature)...)
	}
	return refs
}

// mentioned returns the directories of the bound types that represent the names.
func (p *Places) mentioned(bound map[string]bool, names []string) []string {
	var dirs []string
	for _, name := range names {
		t := p.Keys[name]
		if t == nil || classify.InRuntime(name) {
			continue
		}
		chain := append(slices.Clone(t.Ancestors), name)
		for _, key := range slices.Backward(chain) {
			if bound[key] {
				dirs = append(dirs, p.locate(key).dir)
				break
			}
		}
	}
	return dirs
}
