package bindings

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// GoItem is how Go code names an item of a schema.
type GoItem struct {
	Package string   // its import path, or only its name if no module is known
	Lines   [][]Span // a declaration each, without the body
	Missing string   // why there is none
	Runtime bool     // because package tvmffi has it
	Doc     string   // that the configuration or a names file has for it
}

// Span is a piece of text that may name a type.
type Span struct {
	Text string
	Type string // its key, or ""
}

// GoNames holds the Go declarations of the items of a schema.
type GoNames map[goKey]GoItem

type goKey struct {
	kind gen.Kind
	name string
}

// KindNamespace is the kind of a namespace, which has a doc alone.
const KindNamespace gen.Kind = "namespace"

// Of returns the Go declarations of an item, whose name is written as in a [gen.Entry]. The parameters
// of a method follow its name, as [schema.Method.Params] writes them.
func (g GoNames) Of(kind gen.Kind, name string) GoItem { return g[goKey{kind, name}] }

// placeholder stands for the module of the bindings where none is known.
const placeholder = "bindings.invalid"

// NamesInGo returns the declarations that gen would make for c. If c is nil or names no package,
// the name of the package is made from the name of the first library.
func NamesInGo(s schema.Schema, c *project.Config) (GoNames, error) {
	b, conf, err := preview(s, c)
	if err != nil {
		return nil, err
	}
	files, report, err := gen.Generate(s, conf)
	if err != nil {
		return nil, err
	}
	d := declarations{root: b.ImportPath, name: conf.Package, functions: map[string]declaration{}, types: map[string]string{}}
	for _, f := range files {
		if err := d.read(f); err != nil {
			return nil, err
		}
	}
	for _, e := range report.Entries {
		if e.Kind == gen.KindType && e.GoName != "" {
			d.types[path.Join(e.Package, e.GoName)] = e.Name
		}
	}
	names := GoNames{}
	for _, e := range report.Entries {
		item := d.item(e)
		item.Doc = e.Doc
		names[goKey{e.Kind, e.Name + e.Params}] = item
	}
	for _, f := range slices.Backward(b.names) { // the first one counts
		for name, doc := range f.Namespaces {
			names[goKey{KindNamespace, name}] = GoItem{Doc: doc}
		}
	}
	return names, nil
}

// Hinted returns the outcome for the items of s to whose signatures the hints of c add types, by kind and name, which the
// parameters of a method follow. It is empty if c has no hints.
func Hinted(s schema.Schema, c *project.Config) (map[string]gen.Entry, error) {
	if c == nil || len(c.Functions)+len(c.Names) == 0 {
		return nil, nil
	}
	_, conf, err := preview(s, c)
	if err != nil {
		return nil, err
	}
	report, err := gen.Preview(s, conf)
	if err != nil {
		return nil, console.Problems(positioned(c, err))
	}
	all := map[string]gen.Entry{}
	for _, e := range report.Entries {
		if e.Signature != "" {
			all[string(e.Kind)+":"+e.Name+e.Params] = e
		}
	}
	return all, nil
}

// WithHints returns a copy of s, to be shown, whose signatures have the types that the hints of c add.
func WithHints(s schema.Schema, c *project.Config) (schema.Schema, error) {
	all, err := Hinted(s, c)
	if err != nil || len(all) == 0 {
		return s, err
	}
	s.Functions, s.Types = slices.Clone(s.Functions), slices.Clone(s.Types)
	for i := range s.Functions {
		if e := all["function:"+s.Functions[i].Name]; e.Types != nil {
			s.Functions[i].Signature = e.Types
		}
	}
	for i := range s.Types {
		t := &s.Types[i]
		t.Fields, t.Methods = slices.Clone(t.Fields), slices.Clone(t.Methods)
		for k := range t.Fields {
			if e := all["field:"+t.Key+"."+t.Fields[k].Name]; e.Signature != "" {
				if typ, err := hints.ParseType(e.Signature); err == nil {
					t.Fields[k].Type = typ
				}
			}
		}
		for k := range t.Methods {
			m := &t.Methods[k]
			for _, kind := range []gen.Kind{gen.KindMethod, gen.KindConstructor} {
				if e := all[string(kind)+":"+t.Key+"."+m.Name+m.Params()]; e.Types != nil {
					m.Signature = e.Types
					break
				}
			}
		}
	}
	return s, nil
}

// preview returns what gen would be asked for with c.
func preview(s schema.Schema, c *project.Config) (*Result, gen.Config, error) {
	b := &Result{Schema: s, ImportPath: placeholder}
	if c == nil || c.Package == "" {
		c = project.NewConfig(".", "")
		c.Package = "bindings"
		if i := slices.IndexFunc(s.Libraries, func(l schema.Library) bool { return l.Role == schema.RoleBound }); i >= 0 {
			c.Package = project.PackageName(s.Libraries[i].File)
		}
	} else if err := b.locate(c); err != nil {
		b.ImportPath = placeholder
	} else if file, err := c.LockFile(); err != nil {
		return nil, gen.Config{}, err
	} else if b.previous, err = project.ReadLock(file); err != nil {
		return nil, gen.Config{}, err
	}
	conf, err := b.config(c)
	return b, conf, err
}

// declarations are the names that generated files declare. A name is preceded by the folder of its package.
type declarations struct {
	root, name string // the import path and the name of the root package
	functions  map[string]declaration
	options    map[string][]string // the functions whose only result is of a type, by its name
	types      map[string]string   // keys of types
}

// declaration is a function or method.
type declaration struct {
	*ast.FuncDecl
	dir     string
	imports map[string]string // folders of generated packages by the names that the file uses
}

func (d *declarations) read(f gen.File) error {
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Content, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("generated file %s: %w", f.Path, err)
	}
	dir := path.Dir(f.Path)
	imports := map[string]string{}
	for _, spec := range tree.Imports {
		file, _ := strconv.Unquote(spec.Path.Value)
		if below, ok := strings.CutPrefix(file, d.root); ok {
			name := path.Base(file)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imports[name] = path.Join(".", below)
		}
	}
	for _, x := range tree.Decls {
		fn, ok := x.(*ast.FuncDecl)
		if !ok || !fn.Name.IsExported() {
			continue
		}
		name := path.Join(dir, fn.Name.Name)
		if fn.Recv != nil {
			name = path.Join(dir, strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*")+"."+fn.Name.Name)
		}
		d.functions[name] = declaration{fn, dir, imports}
		if result := firstResult(fn); fn.Recv == nil && strings.HasSuffix(result, "Option") {
			if d.options == nil {
				d.options = map[string][]string{}
			}
			d.options[path.Join(dir, result)] = append(d.options[path.Join(dir, result)], name)
		}
	}
	return nil
}

// item returns what the Go code of an entry looks like. Getters and setters of a field are
// methods, and a constructor has functions that make its options.
func (d *declarations) item(e gen.Entry) GoItem {
	item := GoItem{Package: path.Join(d.root, e.Package)}
	if d.root == placeholder {
		item.Package = path.Join(d.name, e.Package)
	}
	if e.GoName == "" || e.Status == gen.Skipped {
		return GoItem{Missing: e.Reason, Runtime: e.Status == gen.InRuntime}
	}
	if e.Kind == gen.KindType {
		item.Lines = [][]Span{{{"type ", ""}, {e.GoName, e.Name}}}
		return item
	}
	names := []string{e.GoName}
	if owner, field, ok := strings.Cut(e.GoName, "."); ok && e.Kind == gen.KindField {
		names = append(names, owner+".Set"+field)
	}
	for _, name := range names {
		fn, ok := d.functions[path.Join(e.Package, name)]
		if !ok {
			continue
		}
		item.Lines = append(item.Lines, d.line(fn))
		params := fn.Type.Params.List
		if len(params) == 0 {
			continue
		}
		if last, ok := params[len(params)-1].Type.(*ast.Ellipsis); ok {
			for _, option := range d.options[path.Join(fn.dir, types.ExprString(last.Elt))] {
				item.Lines = append(item.Lines, d.line(d.functions[option]))
			}
		}
	}
	return item
}

// line is a declaration without its body and without the name of the receiver.
func (d *declarations) line(fn declaration) []Span {
	spans := []Span{{"func ", ""}}
	if fn.Recv != nil {
		spans = append(spans, Span{"(", ""})
		spans = append(spans, d.spans(fn, types.ExprString(fn.Recv.List[0].Type))...)
		spans = append(spans, Span{") ", ""})
	}
	spans = append(spans, Span{fn.Name.Name, ""})
	return append(spans, d.spans(fn, strings.TrimPrefix(types.ExprString(fn.Type), "func"))...)
}

var typeName = regexp.MustCompile(`\b(?:[a-z_]\w*\.)?[A-Z]\w*`)

// spans finds the names of generated types in a part of a declaration.
func (d *declarations) spans(fn declaration, text string) []Span {
	var spans []Span
	end := 0
	for _, at := range typeName.FindAllStringIndex(text, -1) {
		dir, name := fn.dir, text[at[0]:at[1]]
		if pkg, local, ok := strings.Cut(name, "."); ok {
			if dir, ok = fn.imports[pkg]; !ok {
				continue
			}
			name = local
		}
		key := d.types[path.Join(dir, name)]
		if base, isRef := strings.CutSuffix(name, "Ref"); isRef && key == "" {
			key = d.types[path.Join(dir, base)]
		}
		if key != "" {
			spans = append(spans, Span{text[end:at[0]], ""}, Span{text[at[0]:at[1]], key})
			end = at[1]
		}
	}
	return append(spans, Span{text[end:], ""})
}
