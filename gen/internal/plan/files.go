package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// fileSuffix ends every generated file name, so that no name ends in _test, or in an
// operating system or architecture, which Go would read as a build constraint.
const fileSuffix = "_gen"

// finish fills the names into the entries, and groups the declarations of the packages into files.
func finish(packages []*Package) {
	for _, pkg := range packages {
		report(pkg)
		group(pkg)
	}
}

// report fills the Go names into the entries of a package.
func report(pkg *Package) {
	set := func(e *Entry, name string) {
		e.Package = Display(pkg.Dir)
		e.GoName = name
		if name == "" {
			e.Status, e.Reason = Skipped, cmp.Or(e.Reason, e.Note)
		}
	}
	for _, f := range pkg.Funcs {
		set(f.Entry, f.GoName)
	}
	for _, o := range pkg.Objects {
		set(o.Entry, o.GoName)
		for _, f := range o.Fields {
			set(f.Entry, o.Member(f.GoName))
		}
		for _, f := range o.Methods {
			set(f.Entry, o.Member(f.GoName))
		}
		for _, f := range o.Statics {
			set(f.Entry, f.GoName)
		}
	}
}

// group puts the declarations of a package into files: one per type, and one each for
// functions, variants and aliases. Types with the same file name share a file.
func group(pkg *Package) {
	files := map[string][]Decl{}
	add := func(name string, d Decl) { files[name+fileSuffix] = append(files[name+fileSuffix], d) }
	slices.SortFunc(pkg.Funcs, func(a, b *Func) int { return cmp.Compare(a.GoName, b.GoName) })
	slices.SortFunc(pkg.Objects, func(a, b *Object) int { return cmp.Compare(a.GoName, b.GoName) })
	slices.SortFunc(pkg.Aliases, func(a, b *Alias) int { return cmp.Compare(a.GoName, b.GoName) })
	for _, a := range pkg.Aliases {
		if a.GoName != "" {
			add("aliases", a)
		}
	}
	for _, f := range pkg.Funcs {
		if f.GoName != "" {
			add("functions", f)
		}
	}
	for _, o := range pkg.Objects {
		add(fileName(o.GoName), o)
	}
	for _, text := range slices.Sorted(maps.Keys(pkg.Variants)) {
		add("variants", pkg.Variants[text])
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
