package plan

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// findRoot returns the namespace that becomes the root package. Names without a namespace
// do not count: they are in the root package in any case.
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
	for _, name := range p.config.UserNames[display(dir)] {
		pkg.user[name] = true
	}
	return pkg
}

// packages returns the packages with files, sorted by directory.
func (p *planner) packages() []*Package {
	var all []*Package
	docs := p.namespaceDocs()
	for _, pkg := range p.dirs {
		if len(pkg.Files) > 0 {
			pkg.Sources = p.sourcesOf(pkg)
			pkg.Doc = docs[pkg.Dir]
			all = append(all, pkg)
		}
	}
	slices.SortFunc(all, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	return all
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
