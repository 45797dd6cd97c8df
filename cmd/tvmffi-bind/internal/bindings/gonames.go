package bindings

import (
	"path"
	"slices"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// GoItem is how Go code names an item of a schema.
type GoItem struct {
	Package string       // its import path, or only its name if no module is known
	Lines   [][]gen.Span // a declaration each, without the body
	Missing string       // why there is none
	Runtime bool         // because package tvmffi has it
	Doc     string       // that the configuration or a names file has for it
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
	report, err := gen.Preview(s, conf)
	if err != nil {
		return nil, err
	}
	root := b.ImportPath
	if root == placeholder {
		root = conf.Package
	}
	names := GoNames{}
	for _, e := range report.Entries {
		item := GoItem{Package: path.Join(root, e.Package), Lines: e.Declarations}
		if e.GoName == "" || e.Status == gen.Skipped {
			item = GoItem{Missing: e.Reason, Runtime: e.Status == gen.InRuntime}
		}
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
