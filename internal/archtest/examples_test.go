package archtest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestExamples asks of every example in the documentation of a public package that a reader can
// copy it as it is: it uses nothing of other files, and no internal package. Each of the packages
// below has an example.
func TestExamples(t *testing.T) {
	fset := token.NewFileSet()
	files := map[string][]*ast.File{}
	for _, f := range goFiles(t) {
		dir := path.Dir(f.path)
		internal := strings.Contains("/"+dir+"/", "/internal/")
		if !f.test || internal || strings.HasPrefix(dir, "examples/") || strings.HasPrefix(dir, "bench") {
			continue
		}
		tree, err := parser.ParseFile(fset, f.path, f.text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[dir] = append(files[dir], tree)
	}
	number := map[string]int{}
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		for _, e := range doc.Examples(files[dir]...) {
			number[dir]++
			if e.Play == nil {
				t.Errorf("%s: Example%s uses what another file declares: it cannot be copied", dir, e.Name)
				continue
			}
			ast.Inspect(e.Play, func(n ast.Node) bool {
				if spec, ok := n.(*ast.ImportSpec); ok && strings.Contains(spec.Path.Value, "/internal/") {
					t.Errorf("%s: Example%s imports %s, which users cannot import", dir, e.Name, spec.Path.Value)
				}
				return true
			})
		}
	}
	if n := number["runtime"]; n < 40 {
		t.Errorf("package runtime has %d examples, want 40 at least", n)
	}
	for _, dir := range strings.Fields(`reflection schema gen native cuda cuda/spec/check runtime/define
		runtime/env runtime/jsongraph runtime/leaktest runtime/memstat runtime/structural generated/xgrammar xgrammar`) {
		if number[dir] == 0 {
			t.Errorf("package %s has no example", dir)
		}
	}
}
