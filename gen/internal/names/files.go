package names

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// fileSuffix ends every generated file name, so that no name ends in _test, or in an
// operating system or architecture, which Go would read as a build constraint.
const fileSuffix = "_gen"

// report fills the Go names into the entries of a package.
func report(pkg *plan.Package) {
	set := func(e *plan.Entry, name string) {
		e.Package = plan.Display(pkg.Dir)
		e.GoName = name
		if name == "" {
			e.Status, e.Reason = plan.Skipped, cmp.Or(e.Reason, e.Note)
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
func group(pkg *plan.Package) {
	files := map[string][]plan.Decl{}
	add := func(name string, d plan.Decl) { files[name+fileSuffix] = append(files[name+fileSuffix], d) }
	for _, a := range slices.SortedFunc(slices.Values(pkg.Aliases), func(a, b *plan.Alias) int { return cmp.Compare(a.GoName, b.GoName) }) {
		if a.GoName != "" {
			add("aliases", a)
		}
	}
	for _, f := range slices.SortedFunc(slices.Values(pkg.Funcs), func(a, b *plan.Func) int { return cmp.Compare(a.GoName, b.GoName) }) {
		if f.GoName != "" {
			add("functions", f)
		}
	}
	for _, o := range slices.SortedFunc(slices.Values(pkg.Objects), func(a, b *plan.Object) int { return cmp.Compare(a.GoName, b.GoName) }) {
		add(fileName(o.GoName), o)
	}
	for _, text := range slices.Sorted(maps.Keys(pkg.Variants)) {
		add("variants", pkg.Variants[text])
	}
	for _, name := range slices.Sorted(maps.Keys(pkg.Enums)) {
		add("enums", pkg.Enums[name])
	}
	for _, o := range slices.SortedFunc(slices.Values(pkg.Options), func(a, b *plan.OptionFunc) int { return cmp.Compare(a.GoName, b.GoName) }) {
		add("options", o)
	}
	if len(files) == 0 && pkg.Dir != "" {
		return // the root package always exists: a program calls its Load
	}
	const first = "library" + fileSuffix
	files[first] = slices.Insert(files[first], 0, plan.Decl(&plan.Handshake{}))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		pkg.Files = append(pkg.Files, plan.File{Name: name, Decls: files[name]})
	}
}

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
	return name[:min(len(name), plan.MaxFileName)]
}
