package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/files"
	"github.com/tvmffi-go/tvmffi/schema"
)

// pageGenerator stands in the head of every page that ls writes.
const pageGenerator = `<meta name="generator" content="tvmffi-bind ls">`

//go:embed ls.html
var pageText string

// page is the data for the template of ls --html.
type page struct {
	Title     string
	Schema    schema.Schema
	Roots     []*typeNode
	TypeCount int
}

// typeNode is a type with the types derived from it.
type typeNode struct {
	schema.Type
	Children []*typeNode
}

// WriteHTML writes the listing as a page to a file. It replaces only a page that ls wrote.
func (l *Listing) WriteHTML(con *console.Console, file string) error {
	var page bytes.Buffer
	if err := l.renderHTML(&page); err != nil {
		return err
	}
	if err := files.WriteOne(file, page.Bytes(), isOurPage); err != nil {
		return err
	}
	con.Notef("%s: %s\n", file, Size(l.shown))
	return nil
}

func (l *Listing) renderHTML(w io.Writer) error {
	s := l.shown
	t, err := template.New("ls").Funcs(template.FuncMap{
		"signature": signatureText,
		"access":    access,
		"constructor": func(t schema.Type) string {
			text, _ := l.constructorText(&t)
			return text
		},
		"constructed": func(t schema.Type) bool {
			_, ok := t.InitParams(l.types)
			return ok
		},
		"static": func(m schema.Method) bool { return m.Flags&schema.FlagIsStaticMethod != 0 },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	names := libraryNames(s, schema.RoleBound)
	if len(names) == 0 {
		names = libraryNames(s, schema.RoleCore)
	}
	return t.Execute(w, page{Title: strings.Join(names, ", "), Schema: s, Roots: typeTree(s.Types), TypeCount: len(s.Types)})
}

// typeTree arranges types below their nearest ancestor. An ancestor that is not
// among them becomes a node without content, so that the tree has the true shape.
func typeTree(types []schema.Type) []*typeNode {
	nodes := map[string]*typeNode{}
	for _, t := range types {
		nodes[t.Key] = &typeNode{Type: t}
	}
	var roots []*typeNode
	attached := map[string]bool{}
	for _, t := range types {
		child := nodes[t.Key]
		for i := len(t.Ancestors) - 1; i >= 0 && !attached[child.Key]; i-- {
			attached[child.Key] = true
			key := t.Ancestors[i]
			parent := nodes[key]
			if parent == nil {
				parent = &typeNode{Type: schema.Type{Key: key}}
				nodes[key] = parent
			}
			parent.Children = append(parent.Children, child)
			child = parent
		}
		if !attached[child.Key] {
			attached[child.Key] = true
			roots = append(roots, child)
		}
	}
	return roots
}

// isOurPage reports whether data is a page that ls wrote.
func isOurPage(data []byte) bool {
	return bytes.Contains(data[:min(len(data), 512)], []byte(pageGenerator))
}
