package load

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/tvmffi-go/tvmffi/internal/nearest"
)

// TypesBelow returns the types of BoundTypes whose keys begin with prefix: by key, the
// import path and the Go name, with a dot between them. It is an error if there is none.
func TypesBelow(dir, pattern, prefix string, generated func([]byte) bool) (map[string]string, error) {
	bound, err := BoundTypes(dir, pattern, generated)
	if err != nil {
		return nil, err
	}
	types, others := map[string]string{}, map[string]bool{}
	for _, pkg := range bound {
		for key, name := range pkg.Types {
			if strings.HasPrefix(key, prefix) {
				types[key] = pkg.Path + "." + name
			} else {
				others[key[:max(0, strings.LastIndexByte(key, '.'))]] = true
			}
		}
	}
	if len(types) == 0 {
		return nil, fmt.Errorf("%s binds no type of this namespace; remove the line, or correct the key or the import path%s",
			pattern, nearest.Question(strings.TrimSuffix(prefix, "."), slices.Sorted(maps.Keys(others))))
	}
	return types, nil
}

// A Bound package holds the types that generated code declares in a package.
type Bound struct {
	Path, Name string
	// Types maps keys of the registry to Go names, which may be aliases.
	Types map[string]string
}

// An alias is the name of a type of another package, path, in the package in.
type alias struct{ in, name, path, of string }

// BoundTypes finds the types that generated packages declare, and their aliases of others.
// pattern is an import path, or one with /... for all packages below it too.
func BoundTypes(dir, pattern string, generated func([]byte) bool) ([]Bound, error) {
	all, aliases, err := readBound(dir, generated, pattern)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		if why := Lacking(dir, strings.TrimSuffix(pattern, "/...")); why != "" {
			return nil, errors.New(why)
		}
		return nil, fmt.Errorf("%s has no bindings; generate them first, or correct the import path", pattern)
	}
	known := func(path string) bool { return slices.ContainsFunc(all, func(b Bound) bool { return b.Path == path }) }
	var origins []string
	for _, a := range aliases {
		if !known(a.path) && !slices.Contains(origins, a.path) {
			origins = append(origins, a.path)
		}
	}
	if len(origins) == 0 {
		return all, nil
	}
	others, _, err := readBound(dir, generated, origins...)
	if err != nil {
		return nil, err
	}
	for _, a := range aliases {
		in := slices.IndexFunc(all, func(b Bound) bool { return b.Path == a.in })
		for _, origin := range others {
			for key, name := range origin.Types {
				if in >= 0 && origin.Path == a.path && name == a.of {
					all[in].Types[key] = a.name
				}
			}
		}
	}
	return all, nil
}

// readBound reads the packages that have generated files.
func readBound(dir string, generated func([]byte) bool, patterns ...string) (all []Bound, aliases []alias, err error) {
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles, Dir: Existing(dir)}, patterns...)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			if why := Lacking(dir, p.PkgPath); why != "" {
				return nil, nil, errors.New(why)
			}
			message, _, _ := strings.Cut(p.Errors[0].Msg, ";")
			return nil, nil, fmt.Errorf("%s cannot be read (%s); generate its bindings first, or correct the import path", p.PkgPath, strings.TrimSpace(message))
		}
		b := Bound{p.PkgPath, p.Name, map[string]string{}}
		found, more, err := b.read(p.GoFiles, generated)
		if err != nil {
			return nil, nil, err
		}
		if found {
			all, aliases = append(all, b), append(aliases, more...)
		}
	}
	return all, aliases, nil
}

// read reads the generated files of a package. It reports whether there are any.
func (b *Bound) read(files []string, generated func([]byte) bool) (found bool, aliases []alias, err error) {
	keys, vars := map[string]string{}, map[string]string{} // by variable, by type
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return false, nil, err
		}
		if !generated(data) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Base(name), data, parser.SkipObjectResolution)
		if err != nil {
			return false, nil, err
		}
		found = true
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						descriptors(keys, s)
					case *ast.TypeSpec:
						aliases = b.appendAlias(aliases, file, s)
					}
				}
			case *ast.FuncDecl:
				if name, variable := describes(d); name != "" {
					vars[name] = variable
				}
			}
		}
	}
	for name, variable := range vars {
		if key := keys[variable]; key != "" {
			b.Types[key] = name
		}
	}
	return found, aliases, nil
}

// descriptors notes the keys in variables such as
//
//	var typeRose = bindrt.Type{Library: &library, Key: "garden.Rose"}
func descriptors(keys map[string]string, s *ast.ValueSpec) {
	if len(s.Values) != 1 {
		return
	}
	value, ok := s.Values[0].(*ast.CompositeLit)
	if !ok {
		return
	}
	if t, ok := value.Type.(*ast.SelectorExpr); !ok || t.Sel.Name != "Type" {
		return
	}
	for _, element := range value.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name, named := field.Key.(*ast.Ident)
		text, plain := field.Value.(*ast.BasicLit)
		if named && plain && name.Name == "Key" {
			if key, err := strconv.Unquote(text.Value); err == nil {
				keys[s.Names[0].Name] = key
			}
		}
	}
}

// describes returns the type and the variable of a method such as
//
//	func (*Rose) TVMFFIType(*Rose) *bindrt.Type { return &typeRose }
func describes(d *ast.FuncDecl) (name, variable string) {
	if d.Recv == nil || d.Name.Name != "TVMFFIType" || d.Body == nil || len(d.Body.List) != 1 {
		return "", ""
	}
	receiver, ok := d.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return "", ""
	}
	result, ok := d.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(result.Results) != 1 {
		return "", ""
	}
	address, ok := result.Results[0].(*ast.UnaryExpr)
	if !ok {
		return "", ""
	}
	of, typed := receiver.X.(*ast.Ident)
	v, named := address.X.(*ast.Ident)
	if !typed || !named {
		return "", ""
	}
	return of.Name, v.Name
}

// appendAlias notes a type that is an alias of one in another package.
func (b *Bound) appendAlias(all []alias, file *ast.File, s *ast.TypeSpec) []alias {
	of, ok := s.Type.(*ast.SelectorExpr)
	if !ok || !s.Assign.IsValid() || !s.Name.IsExported() {
		return all
	}
	pkg, ok := of.X.(*ast.Ident)
	if !ok {
		return all
	}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil && (spec.Name != nil && spec.Name.Name == pkg.Name || spec.Name == nil && filepath.Base(path) == pkg.Name) {
			all = append(all, alias{b.Path, s.Name.Name, path, of.Sel.Name})
		}
	}
	return all
}
