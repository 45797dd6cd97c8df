package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// parsed is a hand-written Go file that is not a test.
type parsed struct {
	file
	dir  string
	tree *ast.File
	fset *token.FileSet
}

func (p parsed) line(n ast.Node) int { return p.fset.Position(n.Pos()).Line }

var (
	parseOnce   sync.Once
	parsedFiles []parsed
)

// product returns the hand-written files of the module that are not tests.
func product(t *testing.T) []parsed {
	t.Helper()
	parseOnce.Do(func() {
		for _, f := range goFiles(t) {
			if f.test || f.generated {
				continue
			}
			fset := token.NewFileSet()
			tree, err := parser.ParseFile(fset, f.path, f.text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			parsedFiles = append(parsedFiles, parsed{f, path.Dir(f.path), tree, fset})
		}
	})
	if len(parsedFiles) < 100 {
		t.Fatalf("%d files were parsed, want 100 at least", len(parsedFiles))
	}
	return parsedFiles
}

// exportedNames lists the exported top-level names of a file; methods are not among them.
func exportedNames(tree *ast.File) []string {
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
}

// TestSizes prints the largest of everything that a reader has to look through. It refuses
// nothing: a room is divided where data changes its form, not where a count is reached.
func TestSizes(t *testing.T) {
	texts, code, functions, files := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	names := map[string]map[string]bool{}
	for _, f := range allFiles(t) {
		if !f.generated && slices.Contains(strings.Fields(".go .s .cc .h .tmpl .html .md"), path.Ext(f.path)) {
			texts[f.path] = bytes.Count(f.text, []byte("\n"))
		}
	}
	for _, f := range product(t) {
		code[f.path] = texts[f.path]
		delete(texts, f.path)
		files[f.dir]++
		if names[f.dir] == nil {
			names[f.dir] = map[string]bool{}
		}
		for _, name := range exportedNames(f.tree) { // a name of several platforms counts once
			names[f.dir][name] = true
		}
		for _, d := range f.tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				functions[fmt.Sprintf("%s:%d %s", f.path, f.line(fn), fn.Name.Name)] = f.fset.Position(fn.End()).Line - f.line(fn) + 1
			}
		}
	}
	exported := map[string]int{}
	for dir, set := range names {
		exported[dir] = len(set)
	}
	for _, list := range []struct {
		what  string
		count map[string]int
	}{
		{"lines of a Go file", code},
		{"lines of a test, a text, or a file in another language", texts},
		{"lines of a function", functions},
		{"Go files of a package", files},
		{"exported top-level names of a package", exported},
	} {
		largest := slices.SortedFunc(maps.Keys(list.count), func(a, b string) int { return cmp.Or(list.count[b]-list.count[a], strings.Compare(a, b)) })
		text := &strings.Builder{}
		for _, name := range largest[:min(8, len(largest))] {
			fmt.Fprintf(text, "\n%6d %s", list.count[name], name)
		}
		t.Logf("%s, the largest:%s", list.what, text)
	}
}

// upward lists the variables through which a package reaches one above it. Each is set
// once, when the package above is initialised. A third one needs a reason in
// docs/ARCHITECTURE.md.
var upward = map[string]bool{
	"internal/failure.Errors": true,
	"internal/codec.Public":   true,
}

// TestNoTablesOfFunctions finds package variables of function or interface type in
// internal packages: an import in disguise, which the table of imports does not see.
func TestNoTablesOfFunctions(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range product(t) {
		if !strings.HasPrefix(f.dir, "internal/") {
			continue
		}
		for _, d := range f.tree.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}
			for _, spec := range decl.Specs {
				v := spec.(*ast.ValueSpec)
				for _, id := range v.Names {
					if !id.IsExported() || len(v.Values) > 0 || !holdsCode(v.Type) {
						continue
					}
					name := f.dir + "." + id.Name
					seen[name] = true
					if !upward[name] {
						t.Errorf("%s:%d: %s may be set from above: call the package above from above, or pass the function", f.path, f.line(id), name)
					}
				}
			}
		}
	}
	for name := range upward {
		if !seen[name] {
			t.Errorf("the variable %s is listed and does not exist", name)
		}
	}
}

// holdsCode reports whether a type is a function, an interface, or a struct that has one.
func holdsCode(typ ast.Expr) bool {
	switch typ := typ.(type) {
	case *ast.FuncType, *ast.InterfaceType:
		return true
	case *ast.StructType:
		return slices.ContainsFunc(typ.Fields.List, func(f *ast.Field) bool { return holdsCode(f.Type) })
	case *ast.Ident:
		return typ.Name == "any"
	}
	return false
}

// TestNoInternalAliases finds exported types of public packages that are aliases of types
// in internal packages: the documentation of a package does not show their fields and
// methods. Packages for generated code may have them.
func TestNoInternalAliases(t *testing.T) {
	forGenerated := []string{"runtime/bindrt", "runtime/exportrt", "cuda/kernelrt", "cuda/spec/run"}
	for _, f := range product(t) {
		public := slices.ContainsFunc([]string{"runtime", "reflection", "cuda", "schema", "native"}, func(top string) bool {
			return f.dir == top || strings.HasPrefix(f.dir, top+"/")
		})
		if !public || strings.Contains(f.dir+"/", "/internal/") || slices.Contains(forGenerated, f.dir) {
			continue
		}
		imported := map[string]bool{}
		for _, spec := range f.tree.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(p, "/internal/") {
				name := path.Base(p)
				if spec.Name != nil {
					name = spec.Name.Name
				}
				imported[name] = true
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
				return true
			}
			if sel, ok := spec.Type.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && imported[pkg.Name] {
					t.Errorf("%s:%d: %s is an alias of %s.%s, which the documentation does not show", f.path, f.line(spec), spec.Name.Name, pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestPathsInStrings finds strings that name a package of this module that does not exist:
// filters over function names, which no compiler checks.
func TestPathsInStrings(t *testing.T) {
	dirs := map[string]bool{"": true}
	for _, f := range goFiles(t) {
		for d := path.Dir(f.path); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	name := regexp.MustCompile(`^` + regexp.QuoteMeta(self) + `/?([a-z0-9_/-]*)`)
	checked := 0
	for _, f := range product(t) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if m := name.FindStringSubmatch(text); m != nil {
				checked++
				dir := strings.Trim(m[1], "/")
				generated := func(folder string) bool { return strings.HasPrefix(dir+"/", folder+"/") }
				if !dirs[dir] && !slices.ContainsFunc(ignoredFolders(t), generated) {
					t.Errorf("%s:%d: %q names a package that does not exist", f.path, f.line(lit), text)
				}
			}
			return true
		})
	}
	if checked < 100 {
		t.Errorf("%d strings were checked, want 100 at least", checked)
	}
}
