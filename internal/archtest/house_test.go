package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The caps on the exported top-level names of a package. A package that is not listed has
// otherNames. A cap is raised only with a reason in the commit that raises it.
var mostNames = map[string]int{
	"runtime":            190,
	"runtime/structural": 60,
	"runtime/define":     40,
	"internal/core":      200,
	"internal/codec":     110,
	// Numbers, codes and options of CUDA are most of these.
	"cuda":                 260,
	"cuda/internal/driver": 200,
}

const (
	otherNames = 130
	mostFiles  = 45  // Go files of a package, without tests and generated ones
	mostLines  = 500 // of a Go file, without tests and generated ones
	mostOfFunc = 60  // lines of a function, without tests and generated code
)

// parsed is a hand-written Go file that is not a test.
type parsed struct {
	file
	dir  string
	tree *ast.File
	fset *token.FileSet
}

func (p parsed) line(n ast.Node) int { return p.fset.Position(n.Pos()).Line }

// product returns the hand-written files of the module that are not tests.
func product(t *testing.T) []parsed {
	t.Helper()
	var list []parsed
	for _, f := range goFiles(t) {
		if f.test || f.generated {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, f.path, f.text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, parsed{f, path.Dir(f.path), tree, fset})
	}
	if len(list) < 300 {
		t.Fatalf("%d files were parsed, want 300 at least", len(list))
	}
	return list
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

// TestSizes caps what a reader of a package has to look through.
func TestSizes(t *testing.T) {
	names, files := map[string]map[string]bool{}, map[string]int{}
	for _, f := range product(t) {
		files[f.dir]++
		if lines := strings.Count(string(f.text), "\n"); lines > mostLines {
			t.Errorf("%s has %d lines, want %d at most: split it by subject", f.path, lines, mostLines)
		}
		if names[f.dir] == nil {
			names[f.dir] = map[string]bool{}
		}
		for _, name := range exportedNames(f.tree) { // a name of several platforms counts once
			names[f.dir][name] = true
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := f.fset.Position(fn.End()).Line - f.line(fn) + 1; lines > mostOfFunc {
				t.Errorf("%s:%d: function %s has %d lines, want %d at most", f.path, f.line(fn), fn.Name.Name, lines, mostOfFunc)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		if files[dir] > mostFiles {
			t.Errorf("%s has %d files, want %d at most", dir, files[dir], mostFiles)
		}
		most, ok := mostNames[dir]
		if !ok {
			most = otherNames
		}
		if n := len(names[dir]); n > most {
			t.Errorf("%s exports %d top-level names, want %d at most", dir, n, most)
		}
	}
}

// upward lists the variables through which a package reaches one above it. Each is set
// once, when the package above is initialised. A third one needs a reason in
// docs/RATIONALE.md.
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
	if checked < 500 {
		t.Errorf("%d strings were checked, want 500 at least", checked)
	}
}

// TestFilesAreListed asks of every package with more than ten files a doc.go that lists
// them by task, under the heading Files. A list may have patterns, such as cmd_*.go.
func TestFilesAreListed(t *testing.T) {
	const few = 10
	word := regexp.MustCompile(`\b[a-z][\w*]*(?:\.go\b|_\*|\*)`)
	folders, docs := map[string][]string{}, map[string]string{}
	for _, f := range goFiles(t) {
		if f.test || f.generated {
			continue
		}
		dir, base := path.Split(f.path)
		if base == "doc.go" || dir == "cmd/tvmffi-bind/" { // TestCommandFiles has its names
			docs[dir] = string(f.text)
			continue
		}
		folders[dir] = append(folders[dir], base)
	}
	checked := 0
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		if len(folders[dir]) <= few {
			continue
		}
		checked++
		_, list, ok := strings.Cut(docs[dir], "# Files\n")
		if !ok {
			t.Errorf("%sdoc.go lists no files, want all %d by task", dir, len(folders[dir]))
			continue
		}
		patterns := word.FindAllString(list, -1)
		used := map[string]bool{}
		for _, base := range folders[dir] {
			found := false
			for _, p := range patterns {
				if ok, err := path.Match(strings.TrimSuffix(p, ".go"), strings.TrimSuffix(base, ".go")); err == nil && ok {
					found, used[p] = true, true
				}
			}
			if !found {
				t.Errorf("%sdoc.go does not list %s", dir, base)
			}
		}
		for _, p := range patterns {
			if !used[p] && strings.HasSuffix(p, ".go") {
				t.Errorf("%sdoc.go lists %s, and no file matches it", dir, p)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d packages were checked, want 10 at least", checked)
	}
}
