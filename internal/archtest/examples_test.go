package archtest

import (
	"bytes"
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

// withoutExample are the public packages whose functions only generated code calls, or whose users write no Go.
var withoutExample = map[string]string{
	"cuda/kernelrt":           "for generated code",
	"cuda/spec":               "data, which package check has an example of",
	"cuda/spec/run":           "for package kernelrt",
	"gen/config":              "the fields of gen.Config, which package gen has an example of",
	"generated":               "tests of what is below it",
	"runtime/bindrt":          "for generated code",
	"runtime/exportrt":        "for generated code",
	"runtime/exportrt/faults": "imported for its effect by generated code",
	"runtime/exportrt/python": "for generated code",
	"runtime/exportrt/typed":  "for generated code",
}

// TestExamples asks of every example in the documentation of a public package that a reader can
// copy it as it is: it uses nothing of other files, and no internal package. Each public package that is
// written by hand has an example, unless withoutExample says why not.
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
	checked := 0
	for _, f := range goFiles(t) {
		dir := path.Dir(f.path)
		top, _, _ := strings.Cut(dir, "/")
		internal := strings.Contains("/"+dir+"/", "/internal/") || strings.Contains("/"+dir+"/", "/testdata/")
		if f.test || internal || slices.Contains([]string{".", ".ci", "bench", "cmd", "examples"}, top) {
			continue
		}
		if strings.HasPrefix(dir, "generated/") || bytes.Contains(f.text, []byte("\npackage main\n")) {
			continue
		}
		if number[dir] == 0 && withoutExample[dir] == "" {
			t.Errorf("package %s has no example: write one, or say in withoutExample why there is none", dir)
			number[dir]++
		}
		checked++
	}
	for dir := range withoutExample {
		if number[dir] > 0 {
			t.Errorf("package %s has an example: remove it from withoutExample", dir)
		}
	}
	if checked == 0 {
		t.Error("no package was looked at")
	}
}
