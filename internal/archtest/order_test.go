package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// inOrder lists the packages whose files stand in an order: doc.go has it under "# Files", and no
// file names what a later one declares.
var inOrder = []string{"cuda"}

// arrows holds, for each file of a package, the files that declare what it names: functions,
// types, values, methods and fields. Each comes with the first such name.
type arrows map[string]map[string]string

// arrowsOf reads the names that a type checker has found.
func arrowsOf(fset *token.FileSet, pkg *types.Package, uses map[*ast.Ident]types.Object) arrows {
	a := arrows{}
	file := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	for id, object := range uses {
		if object.Pkg() != pkg {
			continue
		}
		from, to := file(id.Pos()), file(object.Pos())
		if from == to {
			continue
		}
		if a[from] == nil {
			a[from] = map[string]string{}
		}
		if first, found := a[from][to]; !found || id.Name < first {
			a[from][to] = id.Name
		}
	}
	return a
}

// count returns how many arrows there are.
func (a arrows) count() (n int) {
	for _, to := range a {
		n += len(to)
	}
	return n
}

// upward describes the arrows that lead from a file to a later one.
func (a arrows) upward(order []string) (found []string) {
	for i, from := range order {
		for _, to := range order[i+1:] {
			if name, up := a[from][to]; up {
				found = append(found, from+" names "+name+", which "+to+" declares")
			}
		}
	}
	return found
}

var fileName = regexp.MustCompile(`\b\w+\.go\b`)

// statedOrder returns the files under "# Files" in the text of a doc.go.
func statedOrder(doc string) []string {
	_, files, _ := strings.Cut(doc, "# Files\n")
	files, _, _ = strings.Cut(files, "# ")
	return fileName.FindAllString(files, -1)
}

func TestFilesStandInOrder(t *testing.T) {
	for _, dir := range inOrder {
		loaded, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
			Dir:  repository(t),
		}, "./"+dir)
		if err != nil || len(loaded) != 1 || len(loaded[0].Errors) > 0 {
			t.Fatal(loaded, err)
		}
		p := loaded[0]
		var order, files []string
		for _, f := range p.Syntax {
			name := filepath.Base(p.Fset.Position(f.Package).Filename)
			if name == "doc.go" {
				order = statedOrder(f.Doc.Text())
			} else {
				files = append(files, name)
			}
		}
		if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, slices.Sorted(slices.Values(files))) {
			t.Errorf("%s/doc.go orders the files %q, the package has %q", dir, got, files)
		}
		a := arrowsOf(p.Fset, p.Types, p.TypesInfo.Uses)
		up := a.upward(order)
		t.Logf("%s: %d files, %d arrows, %d of them upwards", dir, len(files), a.count(), len(up))
		for _, one := range up {
			t.Errorf("%s: %s: move one of them, or pass what is needed", dir, one)
		}
		if a.count() < len(files) {
			t.Errorf("%s: only %d arrows were found", dir, a.count())
		}
	}
}

// TestFilesStandInOrder_seesDefects has a package with an arrow of each kind.
func TestFilesStandInOrder_seesDefects(t *testing.T) {
	const low = `package p
type ground struct{ depth int }
func (g *ground) dig() int { g.depth++; return g.depth }
`
	for what, middle := range map[string]string{
		"no arrow":    `var _ = (&ground{}).dig()`,
		"a type":      `var _ *roof`,
		"a value":     `var _ = height`,
		"a func":      `var _ = build`,
		"a method":    `func f(h interface{ tile() int }) int { return h.tile() + new(house).tile() }`,
		"a field":     `func f() int { return top.tiles }`,
		"a promotion": `func f() int { return top.dig() }`, // of top itself
		"a key":       `var _ = pair[int]{first: 1}`,
	} {
		const high = `package p
type roof struct{ ground; tiles int }
type house roof
func (h *house) tile() int { return h.tiles }
type pair[T any] struct{ first T }
const height = 3
func build() {}
var top roof
`
		fset := token.NewFileSet()
		var files []*ast.File
		for _, f := range []struct{ name, text string }{{"low.go", low}, {"middle.go", "package p\n" + middle}, {"high.go", high}} {
			tree, err := parser.ParseFile(fset, f.name, f.text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, tree)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		pkg, err := new(types.Config).Check("p", fset, files, info)
		if err != nil {
			t.Fatal(what, err)
		}
		a := arrowsOf(fset, pkg, info.Uses)
		up := a.upward([]string{"low.go", "middle.go", "high.go"})
		if is := len(up) == 1; is == (what == "no arrow") {
			t.Errorf("%s: upwards are %q, of %v", what, up, a)
		}
		if got := slices.Collect(maps.Keys(a["high.go"])); !slices.Equal(got, []string{"low.go"}) {
			t.Errorf("high.go names %q", got)
		}
	}
	if got := statedOrder("Text of x.go.\n\n# Files\n\n\tground  a.go, b.go\n\troof    c.go\n\n# More\n\nd.go"); !slices.Equal(got, []string{"a.go", "b.go", "c.go"}) {
		t.Errorf("the order is %q", got)
	}
}
