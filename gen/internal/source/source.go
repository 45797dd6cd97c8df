// Package source reads the directives that mark what a Go package exports to other
// languages:
//
//	//tvmffi:export [name] [param=default ...] [lend]
//	func Add(a, b int64) int64
//
//	//tvmffi:export
//	import "example.com/kernels"
//
//	//tvmffi:object [key] [parent=key] [final] [frozen] [kwonly] [structural=kind]
//	type Point struct { X int64 `ffi:"x"` }
//
//	//tvmffi:object [key] opaque [final]
//	type Index struct { words map[string]int }
//
//	//tvmffi:constructor [param=default ...]
//	func NewIndex() *Index
//
//	//tvmffi:method [name] [param=default ...] [lend]
//	func (p Point) Norm() float64
//
//	//tvmffi:property [name]
//	func (x *Index) Size() int
//
//	//tvmffi:error [kind] [base=kind]
//	type NotFoundError struct { Name string `ffi:"name"` }
package source

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/tvmffi-go/tvmffi/gen/internal/load"
)

// Package is what a Go package exports.
type Package struct {
	Path, Name string
	// Doc is its doc comment.
	Doc string
	// Dir is its folder.
	Dir       string
	Functions []*Function
	Types     []*Type
	// Enums are the named types of the package that have exported constants, sorted by
	// name.
	Enums []*Enum
	// Errors are the types with the directive error.
	Errors []*ErrorType
	// Included lists the imports with a directive.
	Included []*Included
	// Kernels are the functions of a package of kernels, which contains nothing else.
	Kernels []Kernel
	// Exits is set if the package, or one that it imports from outside the standard library, uses runtime.Goexit.
	Exits bool
	// Declared holds the names that its own files declare or import.
	Declared map[string]bool
}

// Function is a func with the directive export, or a method with the directive
// method.
type Function struct {
	// Name is the name that other languages see.
	Name   string
	GoName string
	Doc    string
	Params []Param
	// Results are the results without a last error.
	Results []Param
	// Fails is set if the last result is an error.
	Fails bool
	// Context is set if the first parameter, which is not among Params, is a
	// context.Context.
	Context bool
	// Packed is set if the only parameter is args ...any or args []tvmffi.Any.
	Packed bool
	// Spread is set if that is args ...any.
	Spread bool
	// Lend is set by the option lend: slices of numbers are not copied. Param.Lent says
	// which ones.
	Lend bool
	// Exits is set if the func may end its goroutine by runtime.Goexit.
	Exits bool
	// Pointer is set for a method whose receiver is a pointer.
	Pointer bool
	// Hook is the option of define.Object that the method is for, "" for a method.
	Hook string
	pos  token.Pos
}

// Param is a parameter or a result.
type Param struct {
	// Name is empty or _ if Go has none.
	Name string
	Type types.Type
	// Default is the text of the default in the directive, in the form of a field tag.
	// It is nil if there is none.
	Default *string
	// Variadic is set for the last parameter of "args ...T"; Type is T then.
	Variadic bool
	// Lent is set for a slice whose memory other languages share.
	Lent bool
}

// Variadic reports whether the last parameter is variadic. It is false for a packed func.
func (f *Function) Variadic() bool {
	return len(f.Params) > 0 && f.Params[len(f.Params)-1].Variadic
}

// Optional returns the number of parameters with a default.
func (f *Function) Optional() int {
	n := 0
	for _, p := range f.Params {
		if p.Default != nil {
			n++
		}
	}
	return n
}

// Result returns the type of the only result, nil if there is none.
func (f *Function) Result() types.Type {
	if len(f.Results) == 0 {
		return nil
	}
	return f.Results[0].Type
}

// Type is a struct with the directive object.
type Type struct {
	GoName string
	// Key is the key of the directive, or the Go name. The prefix goes before it.
	Key        string
	Doc        string
	Parent     string   // a key, "" for a parent that is embedded and for none
	Flags      []string // options of package define without arguments
	Structural string   // a kind of package structural, or ""
	Methods    []*Function
	// Properties are the methods with the directive property.
	Properties []*Function
	// Constructor is the func with the directive constructor, or nil.
	Constructor *Function
	// Opaque is set by the option opaque: other languages do not see the fields.
	Opaque bool
	// Object is the declaration.
	Object *types.TypeName
	pos    token.Pos
}

// ErrorType is an error type with the directive error.
type ErrorType struct {
	GoName string
	// Kind is the kind of the directive, or the Go name. The prefix goes before it.
	Kind string
	// Base is the kind of which it is a special case, such as KeyError, or empty.
	Base string
	Doc  string
	// Pointer is set if the method Error has a pointer receiver.
	Pointer bool
	Object  *types.TypeName
	pos     token.Pos
}

// Read reads the one package that pattern names, seen from dir. Files for which
// generated returns true count as absent. The error lists all problems, with file and
// line.
func Read(dir, pattern string, generated func([]byte) bool) (*Package, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	loaded, err := load.Packages(dir, nil, nil, pattern)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", pattern, err)
	}
	if len(loaded) != 1 {
		return nil, fmt.Errorf("%s names %d packages: name one", pattern, len(loaded))
	}
	p := loaded[0]
	// Type errors are expected here: the code may use names that are not generated
	// yet. The check of the generated code finds the others.
	for _, e := range p.Errors {
		switch {
		case e.Kind == packages.TypeError:
		case e.Pos == "" || e.Pos == "-": // the go command has no position for a package that is missing
			return nil, fmt.Errorf("read %s: %s", pattern, e.Msg)
		default:
			return nil, fmt.Errorf("read %s: %w", pattern, e)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
		for _, e := range p.Imports[path].Errors {
			if e.Kind == packages.ListError {
				return nil, fmt.Errorf("read %s: it cannot import %s: %s", pattern, path, e.Msg)
			}
		}
	}
	if len(p.GoFiles) == 0 {
		return nil, fmt.Errorf("%s has no Go files", pattern)
	}
	r := newReader(p, generated, dir)
	if p.Name == "main" {
		return nil, fmt.Errorf("%s is package main, which cannot be imported: move your exports to another package", p.PkgPath)
	}
	r.read()
	if len(r.errs) == 0 && len(r.Functions)+len(r.Types)+len(r.Errors)+len(r.Included)+len(r.Kernels) == 0 {
		return nil, fmt.Errorf("%s has no directive: write //tvmffi:export above a func or an import, or //tvmffi:object above a struct", p.PkgPath)
	}
	if len(r.errs) == 0 {
		if err := r.exits(dir, pattern); err != nil {
			return nil, err
		}
	}
	return r.Package, errors.Join(r.errs...)
}

func newReader(p *packages.Package, generated func([]byte) bool, base string) *reader {
	return &reader{
		Package: &Package{Path: p.PkgPath, Name: p.Name, Dir: filepath.Dir(p.GoFiles[0]), Declared: map[string]bool{}},
		pkg:     p, isGenerated: generated, base: base, objects: map[*types.TypeName]*Type{},
	}
}

type reader struct {
	*Package
	pkg         *packages.Package
	isGenerated func([]byte) bool
	base        string
	objects     map[*types.TypeName]*Type
	methods     []pendingMethod
	errs        []error
}

// pendingMethod is a method that is read when all types are known.
type pendingMethod struct {
	decl *ast.FuncDecl
	d    directive
}

// ofCompiler ends a text where fail puts the error of the compiler, if that is on the same line.
const ofCompiler = "go build shows it"

func (r *reader) fail(pos token.Pos, format string, args ...any) {
	p := r.pkg.Fset.Position(pos)
	name := p.Filename
	if rel, err := filepath.Rel(r.base, name); err == nil && !strings.HasPrefix(rel, "..") {
		name = filepath.ToSlash(rel)
	}
	text := fmt.Sprintf(format, args...)
	if before, ok := strings.CutSuffix(text, ofCompiler); ok {
		i := slices.IndexFunc(r.pkg.TypeErrors, func(e types.Error) bool {
			at := e.Fset.Position(e.Pos)
			return at.Filename == p.Filename && at.Line == p.Line
		})
		if i >= 0 {
			text = before + r.pkg.TypeErrors[i].Msg
		}
	}
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s", name, p.Line, text))
}

func (r *reader) read() {
	own := slices.DeleteFunc(slices.Clone(r.pkg.Syntax), r.generated)
	seen := map[token.Pos]bool{}
	// Types come first: a signature may name one that a later file declares.
	for _, file := range own {
		r.declare(file)
		if file.Doc != nil {
			r.Doc = strings.TrimSpace(r.Doc + "\n\n" + documentation(file.Doc))
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				if decl.Tok == token.IMPORT {
					r.imports(decl, seen)
				} else {
					r.structs(decl, seen)
				}
			}
		}
	}
	r.enums(own) // defaults are constants
	for _, file := range own {
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.FuncDecl); ok {
				for _, d := range r.directives(decl.Doc, seen) {
					r.function(decl, d)
				}
			}
		}
		r.stray(file, seen)
	}
	for _, m := range r.methods {
		r.method(m.decl, m.d)
	}
	for _, t := range r.Types {
		r.checkStruct(t)
	}
	r.duplicates()
	r.duplicateErrors()
	r.duplicateSymbols()
	r.kernels()
	byPosition := func(a, b token.Pos) int {
		x, y := r.pkg.Fset.Position(a), r.pkg.Fset.Position(b)
		return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Offset, y.Offset))
	}
	slices.SortFunc(r.Functions, func(a, b *Function) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Types, func(a, b *Type) int { return byPosition(a.pos, b.pos) })
	for _, t := range r.Types {
		slices.SortFunc(t.Properties, func(a, b *Function) int { return byPosition(a.pos, b.pos) })
		slices.SortFunc(t.Methods, func(a, b *Function) int { return byPosition(a.pos, b.pos) })
	}
}

func (r *reader) generated(file *ast.File) bool {
	data, err := os.ReadFile(r.pkg.Fset.Position(file.Package).Filename)
	return err == nil && r.isGenerated(data)
}

// declare notes the names of a file.
func (r *reader) declare(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				r.Declared[decl.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					r.Declared[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						r.Declared[name.Name] = true
					}
				}
			}
		}
	}
}

// structs reads the directives above type declarations.
func (r *reader) structs(decl *ast.GenDecl, seen map[token.Pos]bool) {
	above := r.directives(decl.Doc, seen)
	for i, spec := range decl.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		found := r.directives(t.Doc, seen)
		doc := t.Doc
		if i == 0 && !decl.Lparen.IsValid() {
			found, doc = append(found, above...), decl.Doc
			above = nil
		}
		for _, d := range found {
			switch d.verb {
			case verbObject:
				r.object(t, d, documentation(doc))
			case verbError:
				r.errorType(t, d, documentation(doc))
			default:
				r.fail(d.pos, "//tvmffi:%s belongs above a func: write //tvmffi:object above a struct, or //tvmffi:error above an error type", d.verb)
			}
		}
	}
	for _, d := range above {
		r.fail(d.pos, "//tvmffi:%s does not belong here: put it directly above one func or struct", d.verb)
	}
}

// object reads a struct.
func (r *reader) object(spec *ast.TypeSpec, d directive, doc string) {
	named := r.namedType(spec, d, verbObject, "export a struct for each instance that others need")
	if named == nil {
		return
	}
	name := named.Name()
	if _, ok := named.Type().Underlying().(*types.Struct); !ok {
		r.fail(d.pos, "type %s is not a struct: //tvmffi:object needs one, with tags such as `ffi:\"x\"` on its fields", name)
		return
	}
	if r.objects[named] != nil {
		r.fail(d.pos, "type %s has two directives: remove one", name)
		return
	}
	t := &Type{GoName: name, Key: name, Doc: doc, Object: named, pos: spec.Pos()}
	if d.name != "" {
		t.Key = d.name
	}
	switch {
	case d.name != "" && !strings.Contains(d.name, "."):
		r.fail(d.pos, "%q is neither an option nor a type key: the options are %s; a key has a dot, such as golib.Point", d.name, objectOptions)
	case !validKey(t.Key):
		r.fail(d.pos, "%q is not a type key: write letters, digits and _, with dots between parts, such as golib.Point", t.Key)
	}
	for _, o := range d.options {
		r.option(t, d, o)
	}
	r.objects[named] = t
	r.Types = append(r.Types, t)
}

// flags maps the options of objects without a value to the names of options of package define.
var flags = map[string]string{"final": "Final", "frozen": "Frozen", "kwonly": "KwOnly"}

// structural maps the kinds of structural equality to constants of package structural.
var structural = map[string]string{
	"tree": "Tree", "var": "FreeVar", "dag": "DAG", "const-tree": "ConstTree", "singleton": "UniqueInstance",
}

const objectOptions = "opaque, parent=KEY, final, frozen, kwonly and structural=KIND"

func (r *reader) option(t *Type, d directive, o string) {
	name, value, hasValue := strings.Cut(o, "=")
	switch {
	case name == "parent" && validKey(value) && strings.Contains(value, "."):
		t.Parent = value
	case name == "parent":
		r.fail(d.pos, "parent=%s is not a type key such as lib.Base: a parent that is a Go struct is embedded instead", value)
	case name == "structural" && structural[value] != "":
		t.Structural = structural[value]
	case name == "structural":
		r.fail(d.pos, "structural=%s: the kinds are tree, var, dag, const-tree and singleton", value)
	case o == wordOpaque:
		t.Opaque = true
	case flags[name] != "" && !hasValue:
		t.Flags = append(t.Flags, flags[name])
	default:
		r.fail(d.pos, "unknown option %q of //tvmffi:object: there are %s", o, objectOptions)
	}
}

// duplicates refuses two items with one name.
func (r *reader) duplicates() {
	functions := map[string]*Function{}
	for _, f := range r.Functions {
		if other := functions[f.Name]; other != nil {
			r.fail(f.pos, "%s and %[3]s are both exported as %[2]s: give one another name, //tvmffi:export other_name", f.GoName, f.Name, other.GoName)
		}
		functions[f.Name] = f
	}
	r.asyncNames("", r.Functions)
	keys := map[string]*Type{}
	for _, t := range r.Types {
		if other := keys[t.Key]; other != nil {
			r.fail(t.pos, "%s and %[3]s both have the key %[2]s: give one another key, //tvmffi:object other.Key", t.GoName, t.Key, other.GoName)
		}
		keys[t.Key] = t
		r.checkNames(t)
		r.asyncNames(t.GoName+".", t.members())
	}
}

// asyncNames refuses a name that the asynchronous form of another func has.
func (r *reader) asyncNames(owner string, functions []*Function) {
	for _, f := range functions {
		i := slices.IndexFunc(functions, func(g *Function) bool { return f.Context && g.Hook == "" && g.Name == f.Name+"_async" })
		if i >= 0 {
			r.fail(functions[i].pos, "%s%s is exported as %s, which is the name of the asynchronous form of %[1]s%[4]s, a func with a context: "+
				"give one another name", owner, functions[i].GoName, functions[i].Name, f.GoName)
		}
	}
}
