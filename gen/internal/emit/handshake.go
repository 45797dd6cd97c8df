package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/internal/docstring"
	"github.com/tvmffi-go/tvmffi/schema"
)

// handshake writes the declarations that a package has once.
func (e *emitter) handshake() {
	for _, line := range packageDoc(e.pkg) {
		e.file.PackageComment(line)
	}
	e.add([]string{"// This does not compile if the runtime does not support this generated code."},
		jen.Const().Id("_").Op("=").Add(bindrt("Generation1")))
	for i, set := range e.pkg.Sets {
		doc := "// " + set.Name + " is loaded on the first use of this package."
		if i > 0 {
			doc = "// " + set.Name + " is loaded on the first use of an item of " + clean(set.Owner) + "."
		}
		e.add([]string{doc}, jen.Var().Id(set.Name).Op("=").Add(bindrt("Library")).Add(e.library(i)))
	}
	if e.pkg.Load {
		e.add(e.loadDoc(), jen.Func().Id("Load").Params(jen.Id("options").Op("...").Add(runtime("LoadOption"))).Error().Block(
			jen.Return(bindrt("Load").Call(address(e.pkg.Sets[0].Name), jen.Id("options").Op("...")))))
	}
	e.loadChecked()
	if len(e.pkg.Bases) > 0 || e.pkg.VariantBase != "" {
		e.add([]string{"// Structs embed their parents under unexported names: methods are promoted, but",
			"// the parents cannot be copied."}, jen.Type().DefsFunc(func(g *jen.Group) {
			for _, b := range e.pkg.Bases {
				g.Id(b.Name).Op("=").Add(parentType(b.Parent))
			}
			if e.pkg.VariantBase != "" {
				g.Id(e.pkg.VariantBase).Op("=").Add(runtime("Variant"))
			}
		}))
	}
	for i, f := range e.pkg.Foreign {
		doc := []string{"// The descriptors of types of other packages."}
		if i > 0 {
			doc = nil
		}
		e.add(doc, jen.Func().Id(f.Name).Params().Op("*").Add(bindrt("Type")).Add(line(
			jen.Return(jen.New(goType(plan.GoType{Object: f.Object})).Dot("TVMFFIType").Call(jen.Nil())))))
	}
}

// loadChecked writes a function that names every descriptor of the package. It is not part of
// Load, so that a program without it is linked without the descriptors that it does not use.
func (e *emitter) loadChecked() {
	items := e.items()
	if !e.pkg.LoadChecked || len(items) == 0 {
		return
	}
	e.add([]string{
		"// LoadChecked is like Load, and compares every function, type and field of this package",
		"// with the library. The error lists all that differ. Without a call to LoadChecked, each",
		"// is compared at its first use.",
	}, jen.Func().Id("LoadChecked").Params(jen.Id("options").Op("...").Add(runtime("LoadOption"))).Error().Block(
		jen.Return(bindrt("LoadChecked").CallFunc(func(g *jen.Group) {
			g.Add(address(e.pkg.Sets[0].Name))
			g.Id("options")
			for _, v := range items {
				g.Line().Add(address(v))
			}
			g.Line()
		}))))
}

// items returns the variables of all functions, types and fields of the package, a type before
// its members.
func (e *emitter) items() []string {
	var vars []string
	functions := func(list ...*plan.Func) {
		for _, f := range list {
			if f.GoName != "" {
				vars = append(vars, f.Var)
			}
		}
	}
	for _, file := range e.pkg.Files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *plan.Func:
				functions(d)
			case *plan.Object:
				vars = append(vars, d.Var)
				functions(d.Statics...)
				for _, f := range d.Fields {
					if f.GoName != "" || f.Setter != "" {
						vars = append(vars, f.Var)
					}
				}
				functions(d.Methods...)
			}
		}
	}
	return vars
}

// packageDoc returns the documentation of a package: what the library says of it, which may begin
// with Package and any name, its namespace, its contents, and the libraries.
func packageDoc(pkg *plan.Package) []string {
	subject := "Package " + pkg.Name + " "
	text := ""
	words := strings.Fields(pkg.Doc)
	if sentence, ok := docstring.ThirdPerson(pkg.Doc); ok {
		text = sentence
	} else if len(words) > 2 && words[0] == "Package" {
		_, text, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(pkg.Doc), words[0]), words[1])
	}
	blocks := [][]string{foreign(subject+strings.TrimSpace(text), nil), wrap("It " + strings.Join(pkg.About, " "))}
	if text == "" {
		blocks = [][]string{wrap(subject + pkg.About[0]), foreign(pkg.Doc, nil), wrap(strings.Join(pkg.About[1:], " "))}
	}
	if len(pkg.Sources) > 0 {
		blocks = append(blocks, wrap("The bindings were generated from "+sources(pkg, true)+"."))
	}
	return paragraphs(blocks...)
}

func parentType(parent *plan.Object) *jen.Statement {
	if parent == nil {
		return runtime("Object")
	}
	return goType(plan.GoType{Object: parent})
}

// loadDoc writes the documentation of Load. It names the files if there are several.
func (e *emitter) loadDoc() []string {
	first, rest := e.pkg.Sets[0], e.pkg.Sets[1:]
	if len(first.Files) > 1 && e.pkg.Dir == "" && (first.Owner == "" || len(rest) > 0) {
		return []string{
			"// Load loads the libraries of this package and of those below it; the options specify",
			"// where they are. Without a call to Load, the first use of a package loads what it needs.",
		}
	}
	what := "the library of this package"
	if len(rest) > 0 {
		what = clean(first.Owner)
	}
	lines := []string{
		"// Load loads " + what + "; the options specify where it is.",
		"// Without a call to Load, the first use of the package loads it.",
	}
	for _, set := range rest {
		lines = append(lines, "// Items of "+clean(set.Owner)+" load that file on first use, with the same options.")
	}
	return lines
}

// library writes the value of a set.
func (e *emitter) library(i int) *jen.Statement {
	set := e.pkg.Sets[i]
	if len(set.Files) == 0 {
		return jen.Values()
	}
	fields := jen.Dict{jen.Id("Files"): jen.Index().Add(bindrt("File")).ValuesFunc(func(g *jen.Group) {
		for _, l := range set.Files {
			g.Line().Values(libraryFile(l)...)
		}
		g.Line()
	})}
	if i > 0 {
		fields[jen.Id("Like")] = address(e.pkg.Sets[0].Name)
	}
	return jen.Values(fields)
}

// libraryFile describes a library. It omits the hash of a library that is not from a
// package: each build has another hash, and the bindings stay the same.
func libraryFile(l schema.Library) []jen.Code {
	if l.Package == "" {
		l.SHA256 = ""
	}
	fields := []jen.Code{jen.Id("Name").Op(":").Lit(l.File)}
	for _, f := range []struct{ name, value string }{
		{"SHA256", l.SHA256}, {"Package", l.Package}, {"Version", l.PackageVersion}, {"PathInPackage", l.PathInPackage},
	} {
		if f.value != "" {
			fields = append(fields, jen.Id(f.name).Op(":").Lit(f.value))
		}
	}
	if l.Role == schema.RoleDependency {
		fields = append(fields, jen.Id("Dependency").Op(":").True())
	}
	return fields
}
