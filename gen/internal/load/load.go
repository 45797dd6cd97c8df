// Package load loads Go packages with their types, for the parts of the generator that
// read a user's code or check the generated code together with it.
package load

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Packages loads packages, and everything that they import, from source. Nothing is
// compiled, so the code may use names that do not exist yet. overlay maps absolute paths
// to contents that replace the files on disk.
//
// Only the files for which whole returns true keep the bodies of their functions; a nil
// whole returns false. Imported packages only need their declarations, and
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

// ofCgo reports whether cgo has written a file. Such a file is in the build cache, not
// in the folder of the package.
func ofCgo(name string) bool {
	return strings.HasSuffix(name, ".cgo1.go") || strings.HasSuffix(name, "_cgo_gotypes.go")
}

// Names returns the names of packages by import path, without those that cannot be
// found. dir is in the module that imports them.
func Names(dir string, paths []string) map[string]string {
	names := map[string]string{}
	if len(paths) == 0 {
		return names
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName, Dir: Existing(dir)}, paths...)
	if err != nil {
		return names
	}
	for _, p := range loaded {
		if p.Name != "" && len(p.Errors) == 0 {
			names[p.PkgPath] = p.Name
		}
	}
	return names
}

// Existing returns dir or the nearest folder above it that exists.
func Existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}
