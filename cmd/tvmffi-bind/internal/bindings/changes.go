package bindings

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// GoChanges says what is new, gone and different in the exported declarations of the generated files, for the callers of a
// package that is written again; it returns nothing for a first run. Names of parameters do not count: no caller needs them.
func (b *Result) GoChanges() []string {
	if b.previous == nil {
		return nil
	}
	was, now := map[string]string{}, map[string]string{}
	for _, c := range b.Output.Changes {
		if filepath.Ext(c.Path) != ".go" {
			continue
		}
		folder, err := filepath.Rel(b.Root, filepath.Dir(c.Path))
		if err != nil {
			continue
		}
		prefix := ""
		if folder != "." {
			prefix = filepath.ToSlash(folder) + ": "
		}
		exported(was, prefix, c.Old)
		exported(now, prefix, c.New)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(was)) {
		switch form, still := now[name]; {
		case !still:
			lines = append(lines, name+" is gone")
		case form != was[name]:
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", name, form, was[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, had := was[name]; !had {
			lines = append(lines, name+" is new")
		}
	}
	return lines
}

// exported notes the exported declarations of a Go file by name, with the form that a caller sees.
func exported(all map[string]string, prefix string, text []byte) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if text == nil || err != nil {
		return // the file is new or gone, or not Go of ours
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			if ast.IsExported(d.Name.Name) && ast.IsExported(name) && d.Name.Name != "TVMFFIType" {
				all[prefix+name] = types.ExprString(unnamed(d.Type))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						all[prefix+s.Name.Name] = "a type"
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() {
							all[prefix+name.Name] = d.Tok.String()
						}
					}
				}
			}
		}
	}
}

// unnamed returns the type of a function without the names of its parameters.
func unnamed(t *ast.FuncType) *ast.FuncType {
	without := func(list *ast.FieldList) *ast.FieldList {
		if list == nil {
			return nil
		}
		var all ast.FieldList
		for _, f := range list.List {
			for range max(1, len(f.Names)) {
				all.List = append(all.List, &ast.Field{Type: f.Type})
			}
		}
		return &all
	}
	return &ast.FuncType{TypeParams: t.TypeParams, Params: without(t.Params), Results: without(t.Results)}
}
