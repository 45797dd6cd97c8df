// Package load loads Go packages with their types, for those parts of the generator
// that read a user's code or check the generated code together with it.
package load

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Packages loads packages, and all that they import from source: nothing is compiled,
// so the code may use what does not exist yet. overlay has the contents of files by
// their absolute paths, in place of those on disk.
//
// Only the files that whole reports have the bodies of their functions; a nil whole
// reports none. What a user's code imports needs no more than its declarations, and
// type-checking the bodies would take most of the time. A file without bodies may have
// errors about imports that only the bodies use.
func Packages(dir string, overlay map[string][]byte, whole func(file string) bool, patterns ...string) ([]*packages.Package, error) {
	return packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		Dir:     dir,
		Overlay: overlay,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
			if file == nil || ofCgo(name) || whole != nil && whole(name) {
				return file, err
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok {
					f.Body = nil
				}
			}
			return file, err
		},
	}, patterns...)
}

// ofCgo reports whether cgo has written a file, which lies in the build cache, apart
// from the package.
func ofCgo(name string) bool {
	return strings.HasSuffix(name, ".cgo1.go") || strings.HasSuffix(name, "_cgo_gotypes.go")
}
