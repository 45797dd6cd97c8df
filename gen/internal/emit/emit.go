package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// File writes one file of a package.
func File(pkg *plan.Package, file plan.File) ([]byte, error) {
	e := emitter{pkg: pkg, file: jen.NewFilePathName(pkg.Path, pkg.Name)}
	e.file.HeaderComment(marker(pkg.Tool))
	e.file.HeaderComment("// source: " + sources(pkg, false)) // the version stands in the doc of the package: a new one does not change each file
	for _, imp := range pkg.Imports {
		importAs(e.file, imp.Path, imp.Name, imp.Alias)
	}
	for _, d := range file.Decls {
		e.decl(d)
	}
	return render(e.file, pkg.FilePath(file))
}

// emitter writes the declarations of one file.
type emitter struct {
	pkg  *plan.Package
	file *jen.File
}

func (e *emitter) decl(d plan.Decl) {
	switch d := d.(type) {
	case *plan.Handshake:
		e.handshake()
	case *plan.Func:
		e.function(d)
	case *plan.Object:
		e.object(d)
	case *plan.Alias:
		e.alias(d)
	case *plan.Variant:
		e.variant(d)
	case *plan.Enum:
		e.enum(d)
	case *plan.OptionFunc:
		e.optionFunc(d)
	default:
		panic(fmt.Sprintf("emit: unknown declaration %T", d))
	}
}

// add writes a blank line, the documentation of a declaration and the declaration.
func (e *emitter) add(doc []string, code ...jen.Code) {
	e.file.Line()
	for _, line := range doc {
		e.file.Comment(line)
	}
	e.file.Add(code...)
}

func bindrt(name string) *jen.Statement  { return jen.Qual(plan.Bindrt, name) }
func runtime(name string) *jen.Statement { return jen.Qual(plan.Runtime, name) }
func define(name string) *jen.Statement  { return jen.Qual(plan.Runtime+"/define", name) }
func address(name string) *jen.Statement { return jen.Op("&").Id(name) }

// goType writes a type.
func goType(t plan.GoType) *jen.Statement {
	switch {
	case t.Object != nil:
		return jen.Qual(t.Object.Pkg.Path, t.Object.GoName)
	case t.Ref != nil:
		return jen.Qual(t.Ref.Pkg.Path, t.Ref.Ref)
	case t.Variant != nil:
		return jen.Qual(t.Variant.Pkg.Path, t.Variant.GoName)
	case t.Enum != nil:
		return jen.Qual(t.Enum.Pkg.Path, t.Enum.GoName)
	case t.Elem != nil:
		return jen.Op("*").Add(goType(*t.Elem))
	case t.Slice != nil:
		return jen.Index().Add(goType(*t.Slice))
	case t.Func != nil:
		return funcType(t.Func)
	}
	s := jen.Id(t.Name)
	if t.Path != "" {
		s = jen.Qual(t.Path, t.Name)
	}
	if len(t.Args) > 0 {
		args := make([]jen.Code, len(t.Args))
		for i, a := range t.Args {
			args[i] = goType(a)
		}
		s.Types(args...)
	}
	return s
}

func funcType(f *plan.FuncType) *jen.Statement {
	params := make([]jen.Code, len(f.Params))
	for i, p := range f.Params {
		params[i] = goType(p)
	}
	return jen.Func().Params(params...).Add(results(f.Result))
}

// results writes the result types of a func: the result, if there is one, and an error.
func results(t *plan.GoType) jen.Code {
	if t == nil {
		return jen.Error()
	}
	return jen.Params(goType(*t), jen.Error())
}
