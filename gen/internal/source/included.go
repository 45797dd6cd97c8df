package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/tools/go/packages"
)

// KernelsFile is the file of a package of kernels.
const KernelsFile = "kernels_gen.go"

// exportsVar is the variable in generated files that lists what a package exports.
const exportsVar = "tvmffiExports"

// Included is another package whose exports this one exports too.
type Included struct {
	Path, Name string
	// Functions are the names of its functions, and of those that it includes.
	Functions []string
	// Source is read from its own source. Prefix is the prefix of its names in the registry.
	Source *Package
	Prefix string
	pos    token.Pos
}

// Kernel is a function of a package of kernels.
type Kernel struct {
	// Name is the name of its symbol, and Global the one in the registry.
	Name, Global string
	Doc          string
	Params       []string
	// Signature has the form of tvmffi.Signature.
	Signature string
}

// errorFunctions are functions of the runtime for errors, which every library has. Names of
// users begin with a letter.
var errorFunctions = []string{"_error_cause", "_error_fields", "_error_new"}

// Symbols returns the names of all symbols: those of Exported, and those of the functions
// for errors. A package of kernels has only kernels.
func (p *Package) Symbols() []string {
	if len(p.Kernels) > 0 {
		return p.Exported()
	}
	return append(p.Exported(), errorFunctions...)
}

// Exported returns the names of all functions that a package offers: its own, then those of the
// packages that it includes.
func (p *Package) Exported() []string {
	var names []string
	for _, f := range p.Functions {
		names = append(names, f.Name)
	}
	for _, k := range p.Kernels {
		names = append(names, k.Name)
	}
	for _, in := range p.Included {
		names = append(names, in.Functions...)
	}
	return names
}

// imports reads the directives above imports.
func (r *reader) imports(decl *ast.GenDecl, seen map[token.Pos]bool) {
	above := r.directives(decl.Doc, seen)
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ImportSpec)
		found := r.directives(spec.Doc, seen)
		if !decl.Lparen.IsValid() {
			found, above = append(found, above...), nil
		}
		for _, d := range found {
			path, err := strconv.Unquote(spec.Path.Value)
			p := r.pkg.Imports[path]
			switch {
			case err != nil || p == nil:
				r.fail(spec.Pos(), "import %s has an error: "+ofCompiler, spec.Path.Value)
			case d.verb != verbExport:
				r.fail(d.pos, "//tvmffi:%s does not belong above an import: write //tvmffi:export, which exports everything that the package exports", d.verb)
			case d.name != "":
				r.fail(d.pos, "//tvmffi:export above an import takes no name: remove %q", d.name)
			default:
				r.include(p, spec.Pos())
			}
		}
	}
	for _, d := range above {
		r.fail(d.pos, "//tvmffi:%s does not belong here: put it directly above one import", d.verb)
	}
}

func (r *reader) include(p *packages.Package, pos token.Pos) {
	list := r.listOf(p)
	if list == nil {
		r.fail(pos, "%s exports nothing: run tvmffi-bind export there first, or tvmffi-bind gen for a package of kernels", p.PkgPath)
		return
	}
	in := &Included{Path: p.PkgPath, Name: p.Name, pos: pos}
	for _, n := range r.exports(p, list) {
		in.Functions = append(in.Functions, n.Name)
	}
	// Its source has what the list lacks: types, and the signatures of funcs.
	other := newReader(p, r.isGenerated, r.base)
	other.read()
	r.errs = append(r.errs, other.errs...)
	in.Source, in.Prefix = other.Package, stringOf(list, "Prefix")
	maps.Copy(r.objects, other.objects) // signatures may use them
	r.Included = append(r.Included, in)
}

// stringOf returns the text of a field in a literal.
func stringOf(list *ast.CompositeLit, field string) string {
	s, _ := value(list, field).(*ast.BasicLit)
	if s == nil {
		return ""
	}
	text, _ := strconv.Unquote(s.Value) // the compiler has read it
	return text
}

// listOf finds the list of exports in the generated files of a package.
func (r *reader) listOf(p *packages.Package) *ast.CompositeLit {
	for _, file := range p.Syntax {
		if !r.generated(file) {
			continue
		}
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].Name == exportsVar && len(v.Values) == 1 {
					list, _ := v.Values[0].(*ast.CompositeLit)
					return list
				}
			}
		}
	}
	return nil
}

// listed is a function in a generated file.
type listed struct {
	Kernel
	pos token.Pos
}

// listed reads a function of a list.
func (r *reader) listed(list, f *ast.CompositeLit, name *ast.BasicLit) listed {
	k := listed{Kernel{Name: stringOf(f, "Name"), Global: stringOf(f, "Global"), Doc: stringOf(f, "Doc"), Signature: stringOf(f, "Signature")}, name.Pos()}
	if k.Global == "" {
		k.Global = stringOf(list, "Prefix") + k.Name
	}
	if params, ok := value(f, "Params").(*ast.CompositeLit); ok {
		for _, p := range params.Elts {
			if p, ok := p.(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(p.Value)
				k.Params = append(k.Params, text)
			}
		}
	}
	return k
}

// exports reads the functions in such a list and in the lists that it includes.
func (r *reader) exports(p *packages.Package, list *ast.CompositeLit) []listed {
	var names []listed
	functions, _ := value(list, "Functions").(*ast.CompositeLit)
	if functions != nil {
		for _, item := range functions.Elts {
			if f, ok := item.(*ast.CompositeLit); ok {
				if name, ok := value(f, "Name").(*ast.BasicLit); ok {
					names = append(names, r.listed(list, f, name))
				}
			}
		}
	}
	if includes, ok := value(list, "Includes").(*ast.CompositeLit); ok {
		for _, item := range includes.Elts {
			// Each is a call of the func TVMFFIExports of another package.
			call, _ := item.(*ast.CallExpr)
			if call == nil {
				continue
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				if used, ok := p.TypesInfo.Uses[f.Sel].(*types.Func); ok && p.Imports[used.Pkg().Path()] != nil {
					other := p.Imports[used.Pkg().Path()]
					if list := r.listOf(other); list != nil {
						names = append(names, r.exports(other, list)...)
					}
				}
			}
		}
	}
	return names
}

// value returns the value of a field in a literal.
func value(list *ast.CompositeLit, field string) ast.Expr {
	for _, item := range list.Elts {
		if kv, ok := item.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == field {
				return kv.Value
			}
		}
	}
	return nil
}

// kernels reads the kernels of a package, which must not export anything else.
func (r *reader) kernels() {
	i := slices.IndexFunc(r.pkg.Syntax, func(file *ast.File) bool {
		return filepath.Base(r.pkg.Fset.Position(file.Package).Filename) == KernelsFile && r.generated(file)
	})
	if i < 0 {
		return
	}
	file := r.pkg.Syntax[i]
	if len(r.Functions)+len(r.Types)+len(r.Errors)+len(r.Included) > 0 {
		r.fail(file.Package, "a package of kernels exports only kernels: move the code with directives to another package, "+
			"and write //tvmffi:export above its import of this one")
		return
	}
	list := r.listOf(&packages.Package{Syntax: []*ast.File{file}})
	if list == nil {
		r.fail(file.Package, "an older tvmffi-bind generated this file: run tvmffi-bind gen again")
		return
	}
	seen := map[string]bool{}
	for _, n := range r.exports(r.pkg, list) {
		switch {
		case !symbolPattern.MatchString(n.Name):
			r.fail(n.pos, "%q is not a valid C symbol: give the kernel another name with register in its configuration, which ends in letters, digits and _", n.Name)
		case seen[n.Name]:
			r.fail(n.pos, "two kernels have the symbol %s: give one another name with register in its configuration, which differs after the last dot", n.Name)
		}
		seen[n.Name] = true
		r.Kernels = append(r.Kernels, n.Kernel)
	}
}

// duplicateSymbols refuses functions that two packages export under one name.
func (r *reader) duplicateSymbols() {
	from := map[string]string{}
	for _, f := range r.Functions {
		from[f.Name] = r.Path
	}
	for _, in := range r.Included {
		for _, name := range in.Functions {
			if !symbolPattern.MatchString(name) {
				r.fail(in.pos, "%s exports %q, which is not a valid C symbol: give the kernel another name with register in its configuration", in.Path, name)
			}
			if other := from[name]; other != "" {
				r.fail(in.pos, "%s and %s both export %s: give one another name", other, in.Path, name)
			}
			from[name] = in.Path
		}
	}
}
