package archtest

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// declared holds the exported names of each package: functions, types, values, and their
// methods and fields as Type.Name.
func declared(files []parsed) map[string]map[string]bool {
	names := map[string]map[string]bool{}
	for _, f := range files {
		set := names[f.dir]
		if set == nil {
			set = map[string]bool{}
			names[f.dir] = set
		}
		for _, name := range exportedNames(f.tree) {
			set[name] = true
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					set[receiver(n)+"."+n.Name.Name] = true
				}
				return false
			case *ast.TypeSpec:
				var fields *ast.FieldList
				switch typ := n.Type.(type) {
				case *ast.StructType:
					fields = typ.Fields
				case *ast.InterfaceType:
					fields = typ.Methods
				default:
					return true
				}
				for _, field := range fields.List {
					for _, id := range field.Names {
						set[n.Name.Name+"."+id.Name] = true
					}
				}
			}
			return true
		})
	}
	return names
}

// receiver returns the name of the type of a method.
func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// TestDocLinks finds links in doc comments, such as [Load] and [env.WithStream], to names
// of this module that do not exist: go doc prints their brackets.
func TestDocLinks(t *testing.T) {
	files := product(t)
	names := declared(files)
	packages := map[string]string{"tvmffi": "runtime"} // by name
	for _, f := range files {
		if name := f.tree.Name.Name; name != "main" && !strings.Contains(f.dir, "testdata") && packages[name] == "" {
			packages[name] = f.dir
		}
	}
	link := regexp.MustCompile(`(?:^|[\s(*])\[\*?([A-Za-z]\w*(?:\.\w+){0,2})\](?:[^(\[\w]|$)`)
	checked := 0
	for _, f := range files {
		for _, group := range f.tree.Comments {
			for _, line := range group.List {
				if strings.HasPrefix(line.Text, "//\t") || strings.HasPrefix(line.Text, "// \t") {
					continue // preformatted
				}
				for _, m := range link.FindAllStringSubmatch(line.Text, -1) {
					name, set := m[1], names[f.dir]
					if first, rest, ok := strings.Cut(name, "."); ok && packages[first] != "" {
						name, set = rest, names[packages[first]]
					} else if !unicode.IsUpper(rune(name[0])) {
						continue // not a link to a name of this module
					}
					checked++
					if !set[name] {
						t.Errorf("%s:%d: the link [%s] names nothing", f.path, f.line(line), m[1])
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d links were checked, want 100 at least", checked)
	}
}

// TestDocsBeginWithTheName finds doc comments of functions, methods and types that begin
// with another name, as a rename leaves them, and exported methods without a comment. Nobody
// reads the documentation of unexported types of a command.
func TestDocsBeginWithTheName(t *testing.T) {
	article := regexp.MustCompile(`^(?:An?|The) `)
	word := regexp.MustCompile(`^\w+`)
	identifier := regexp.MustCompile(`^(?:[a-z]+[A-Z]\w*|[A-Z]\w*[a-z][A-Z]\w*)$`)
	for _, f := range product(t) {
		check := func(name string, doc *ast.CommentGroup) {
			text := article.ReplaceAllString(doc.Text(), "")
			first := word.FindString(text)
			if text == "" || first == name {
				return
			}
			if ast.IsExported(name) || identifier.MatchString(first) || strings.EqualFold(first, name) {
				t.Errorf("%s:%d: the comment of %s begins with %q", f.path, f.line(doc), name, first)
			}
		}
		command := f.tree.Name.Name == "main"
		for _, d := range f.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if command && d.Recv != nil && !ast.IsExported(receiver(d)) {
					continue
				}
				check(d.Name.Name, d.Doc)
				if d.Recv != nil && d.Name.IsExported() && d.Doc == nil {
					t.Errorf("%s:%d: the method %s.%s has no comment", f.path, f.line(d), receiver(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					typ, ok := spec.(*ast.TypeSpec)
					if !ok || command && !typ.Name.IsExported() {
						continue
					}
					check(typ.Name.Name, typ.Doc)
					if len(d.Specs) == 1 {
						check(typ.Name.Name, d.Doc)
					}
				}
			}
		}
	}
}
