// Package load loads Go packages with their types, for those parts of the generator
// that read a user's code or check the generated code together with it.
package load

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"

	"golang.org/x/tools/go/packages"
)

const mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
	packages.NeedTypesInfo | packages.NeedImports

// Checked loads packages and type-checks them in full. What they import is read from
// the go command's build cache, where the next build finds it too. That takes a tenth
// of the time of type-checking all imports from source.
//
// An import that does not compile has no export data, and an old golang.org/x/tools
// cannot read that of a newer Go release. So if there is any error, the packages are
// loaded again from source: then each error has its own text and position, and an
// error in an import alone does not count.
func Checked(dir string, overlay map[string][]byte, patterns ...string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: dir, Overlay: overlay}, patterns...)
	if err == nil && !slices.ContainsFunc(loaded, func(p *packages.Package) bool { return len(p.Errors) > 0 }) {
		return loaded, nil
	}
	return packages.Load(&packages.Config{Mode: mode | packages.NeedDeps, Dir: dir, Overlay: overlay}, patterns...)
}

// Declarations loads packages and all that they import from source, without the bodies
// of functions. Nothing is compiled, so the code may use what does not exist yet. The
// errors of the packages include imports that only function bodies use.
func Declarations(dir string, patterns ...string) ([]*packages.Package, error) {
	return packages.Load(&packages.Config{Mode: mode | packages.NeedDeps, Dir: dir, ParseFile: parseDeclarations}, patterns...)
}

func parseDeclarations(fset *token.FileSet, filename string, src []byte) (*ast.File, error) {
	file, err := parser.ParseFile(fset, filename, src, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
	return file, err
}
