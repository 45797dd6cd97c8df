package generated_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// bare is the doc of an item about which the library and the names files say nothing.
var bare = regexp.MustCompile(`^(\w+ calls \S+\.\w+[.:]\n|\w+ (is the object type|makes a new) |Package \w+ binds the namespace)`)

// TestDocs requires a doc for each function, type and method of the bindings that programs import.
func TestDocs(t *testing.T) {
	items := 0
	for _, root := range []string{"tvm", "xgrammar"} {
		err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			for name, text := range docsOf(t, dir) {
				items++
				if text == "" || bare.MatchString(text) {
					t.Errorf("%s: %s has no doc of its own: %q", dir, name, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if items < 300 {
		t.Errorf("only %d items were found", items)
	}
}

// docsOf returns the docs of the generated functions, types and methods in a folder by name, and
// that of its package under "".
func docsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		return nil
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, "example.test/"+filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{"": pkg.Doc}
	funcs := pkg.Funcs
	for _, typ := range pkg.Types {
		docs[typ.Name] = typ.Doc
		funcs = slices.Concat(funcs, typ.Funcs)
		for _, m := range typ.Methods {
			docs[typ.Name+"."+m.Name] = m.Doc
		}
	}
	for _, f := range funcs {
		docs[f.Name] = f.Doc
	}
	return docs
}
