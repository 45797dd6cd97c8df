package verify

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UserNames returns the names that Go files below dir declare, without the files for
// which generated returns true. A folder that does not exist has no names.
func UserNames(dir string, generated func([]byte) bool) (map[string][]string, error) {
	names := map[string][]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if file != dir && Ignores(file) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		found, err := declared(file, generated)
		if err != nil || len(found) == 0 {
			return err
		}
		rel, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		names[rel] = append(names[rel], found...)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("names of the consumer: %w", err)
	}
	for rel := range names {
		slices.Sort(names[rel])
		names[rel] = slices.Compact(names[rel])
	}
	return names, nil
}

// Ignores reports whether UserNames does not look into a folder below the one that it is asked about.
func Ignores(dir string) bool {
	base := filepath.Base(dir)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || hasModule(dir)
}

func hasModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// declared lists the top-level names of a file that belongs to this build.
func declared(file string, generated func([]byte) bool) ([]string, error) {
	if match, err := build.Default.MatchFile(filepath.Dir(file), filepath.Base(file)); err != nil || !match {
		return nil, err
	}
	source, err := os.ReadFile(file)
	if err != nil || generated(source) {
		return nil, err
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, funcName(d))
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				names = append(names, specNames(spec)...)
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "_" || n == "init" }), nil
}

// funcName returns the name of a function, or Type.Method for a method.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return "_"
}

func specNames(spec ast.Spec) []string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return []string{spec.Name.Name}
	case *ast.ValueSpec:
		names := make([]string, len(spec.Names))
		for i, n := range spec.Names {
			names[i] = n.Name
		}
		return names
	}
	return nil
}
