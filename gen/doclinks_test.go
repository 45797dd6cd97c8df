package gen

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// bracketed is what a doc comment means as a link.
var bracketed = regexp.MustCompile(`\[[\w./-]+\]`)

// TestDocLinks looks up every link in the docs of the generated packages.
func TestDocLinks(t *testing.T) {
	for _, c := range goldenCases(t) {
		if c.name() == "hostile" || c.name() == "user_names" { // brackets of the library; types of the consumer
			continue
		}
		files, _, err := Generate(c.schema, c.config)
		if err != nil {
			continue
		}
		checkDocLinks(t, c.name(), c.config.ImportPath, files)
	}
	for name, s := range realSchemas(t) {
		config := everything(s)
		files, _, err := Generate(s, config)
		if err != nil {
			t.Fatal(err)
		}
		checkDocLinks(t, name, config.ImportPath, files)
	}
}

func checkDocLinks(t *testing.T, name, root string, files []File) {
	t.Helper()
	fset := token.NewFileSet()
	trees := map[string][]*ast.File{}
	for _, f := range files {
		tree, err := parser.ParseFile(fset, f.Path, f.Content, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Join(root, path.Dir(f.Path))
		trees[dir] = append(trees[dir], tree)
	}
	packages, symbols := map[string]*doc.Package{}, map[string]bool{}
	for dir, tree := range trees {
		pkg, err := doc.NewFromFiles(fset, tree, dir, doc.AllDecls)
		if err != nil {
			t.Fatal(err)
		}
		packages[dir] = pkg
		eachDoc(pkg, func(symbol, _ string) { symbols[dir+" "+symbol] = true })
	}
	for dir, pkg := range packages {
		links := 0
		eachDoc(pkg, func(symbol, text string) {
			for _, block := range pkg.Parser().Parse(text).Content {
				paragraph, ok := block.(*comment.Paragraph)
				if !ok {
					continue
				}
				for _, part := range paragraph.Text {
					switch part := part.(type) {
					case comment.Plain:
						if at := bracketed.FindString(string(part)); at != "" {
							t.Errorf("%s: the doc of %s.%s has %s, which is not a link", name, dir, symbol, at)
						}
					case *comment.DocLink:
						links++
						to := strings.TrimPrefix(part.Recv+"."+part.Name, ".")
						in := part.ImportPath
						if in == "" {
							in = dir
						}
						if packages[in] != nil && !symbols[in+" "+to] {
							t.Errorf("%s: the doc of %s.%s has a link to %s.%s, which does not exist", name, dir, symbol, in, to)
						}
					}
				}
			}
		})
		if links == 0 && len(pkg.Types) > 0 {
			t.Errorf("%s: the docs of %s have no links", name, dir)
		}
	}
}

// eachDoc calls do for the package, its types, functions and methods.
func eachDoc(pkg *doc.Package, do func(symbol, text string)) {
	do("", pkg.Doc)
	for _, f := range pkg.Funcs {
		do(f.Name, f.Doc)
	}
	for _, typ := range pkg.Types {
		do(typ.Name, typ.Doc)
		for _, f := range typ.Funcs {
			do(f.Name, f.Doc)
		}
		for _, f := range typ.Methods {
			do(typ.Name+"."+f.Name, f.Doc)
		}
	}
}
