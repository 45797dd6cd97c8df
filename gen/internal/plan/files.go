package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/internal/nearest"
)

// fileSuffix ends every generated file name, so that no name ends in _test, or in an
// operating system or architecture, which Go would read as a build constraint.
const fileSuffix = "_gen"

// finish fills in the report and groups declarations into files.
func (p *planner) finish() {
	p.checkUse()
	for _, pkg := range p.sortedPackages() {
		pkg.report()
		pkg.group()
	}
	for _, e := range p.entries {
		e.Doc = p.hintedDoc(e.Kind, e.Name)
	}
	slices.SortStableFunc(p.entries, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// checkUse refuses entries of the config that match no item of the schema, or more than
// one.
func (p *planner) checkUse() {
	ids := map[string][]string{}
	for _, e := range p.entries {
		ids[e.Name] = append(ids[e.Name], e.id())
	}
	known := slices.Sorted(maps.Keys(ids))
	p.checkNamespaces()
	p.checkFunctions(known)
	check := func(list, key string) {
		matches := slices.Compact(slices.Sorted(slices.Values(ids[key])))
		if len(matches) > 1 {
			p.failAt(fmt.Errorf("it matches more than one item; write one of %s", strings.Join(matches, ", ")), list, key)
			return
		}
		if !p.used[list+" "+key] {
			p.failAt(fmt.Errorf("it matches no bound item; remove the line or correct the name%s", nearest.Question(key[strings.IndexByte(key, ':')+1:], known)), list, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.config.Rename)) {
		check("rename", key)
	}
	for _, key := range p.config.Skip {
		check("skip", key)
	}
	p.checkExternal()
	if len(p.errs) == 0 && len(p.bound) == 0 && len(p.functions) == 0 {
		p.fail(errors.New("nothing to generate: everything that matches is skipped, owned by another package or part of the runtime"))
	}
}

// checkExternal refuses entries of External that stand for no type.
func (p *planner) checkExternal() {
	imported := slices.Sorted(maps.Keys(p.config.Imported))
	for _, key := range slices.Sorted(maps.Keys(p.config.External)) {
		prefix, pattern := CutPattern(key)
		switch {
		case !pattern && p.types[key] == nil && !p.used["external "+key]:
			p.failAt(fmt.Errorf("there is no type of this name, and no signature mentions it; remove the line or correct the key%s", nearest.Question(key, slices.Sorted(maps.Keys(p.types)))), "external", key)
		case pattern && !slices.ContainsFunc(imported, func(k string) bool { return strings.HasPrefix(k, prefix) }):
			p.failAt(fmt.Errorf("%s binds no type of this namespace; remove the line, or correct the key or the import path", p.config.External[key]), "external", key)
		}
	}
}

// report fills the Go names into the entries of a package.
func (pkg *Package) report() {
	set := func(e *Entry, name string) {
		e.Package = display(pkg.Dir)
		e.GoName = name
		if name == "" {
			e.Status, e.Reason = Skipped, cmp.Or(e.Reason, e.Note)
		}
	}
	for _, f := range pkg.funcs {
		set(f.entry, f.GoName)
	}
	for _, o := range pkg.objects {
		set(o.entry, o.GoName)
		for _, f := range o.Fields {
			set(f.entry, qualified(o, f.GoName))
		}
		for _, f := range o.Methods {
			set(f.entry, qualified(o, f.GoName))
		}
		for _, f := range o.Statics {
			set(f.entry, f.GoName)
		}
	}
}

func qualified(o *Object, member string) string {
	if member == "" {
		return ""
	}
	return o.GoName + "." + member
}

// group puts the declarations of a package into files: one per type, and one each for
// functions, variants and aliases. Types with the same file name share a file.
func (pkg *Package) group() {
	files := map[string][]Decl{}
	add := func(name string, d Decl) { files[name+fileSuffix] = append(files[name+fileSuffix], d) }
	slices.SortFunc(pkg.funcs, func(a, b *Func) int { return cmp.Compare(a.GoName, b.GoName) })
	slices.SortFunc(pkg.objects, func(a, b *Object) int { return cmp.Compare(a.GoName, b.GoName) })
	slices.SortFunc(pkg.aliases, func(a, b *Alias) int { return cmp.Compare(a.GoName, b.GoName) })
	for _, a := range pkg.aliases {
		if a.GoName != "" {
			add("aliases", a)
		}
	}
	for _, f := range pkg.funcs {
		if f.GoName != "" {
			add("functions", f)
		}
	}
	for _, o := range pkg.objects {
		add(fileName(o.GoName), o)
	}
	for _, text := range slices.Sorted(maps.Keys(pkg.variants)) {
		add("variants", pkg.variants[text])
	}
	if len(files) == 0 && pkg.Dir != "" {
		return // the root package always exists: a program calls its Load
	}
	const first = "library" + fileSuffix
	files[first] = slices.Insert(files[first], 0, Decl(&Handshake{}))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		pkg.Files = append(pkg.Files, File{Name: name, Decls: files[name]})
	}
}

// maxFileName keeps file names within the limits of file systems.
const maxFileName = 100

// fileName returns a Go name in lower case with underscores, in ASCII.
func fileName(goName string) string {
	var b strings.Builder
	runes := []rune(goName)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		if r < unicode.MaxASCII {
			b.WriteRune(unicode.ToLower(r))
		} else {
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	name := b.String()
	return name[:min(len(name), maxFileName)]
}

// FilePath returns the path of a file below the output root.
func (pkg *Package) FilePath(f File) string { return path.Join(pkg.Dir, f.Name+".go") }
