package source

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/tvmffi-go/tvmffi/gen/internal/load"
)

// testEnds are the methods of testing.TB that end their goroutine by runtime.Goexit.
var testEnds = []string{"FailNow", "Fatal", "Fatalf", "Skip", "SkipNow", "Skipf", "ArtifactDir", "Chdir", "Fuzz", "Run", "Setenv", "TempDir"}

// testTypes are the types of package testing that have such methods.
var testTypes = []string{"T", "B", "F", "TB"}

// exits sets Exits of what may call runtime.Goexit. Most packages import none that mentions it, and need no more than a
// look at their imports. For the others, exits reads the bodies of the funcs of this package.
func (r *reader) exits(dir, pattern string) error {
	e := exits{pkg: r.pkg, users: map[string]bool{}}
	if err := e.findUsers(); err != nil {
		return err
	}
	if r.Exits = e.users[r.pkg.PkgPath]; !r.Exits {
		return nil
	}
	own := map[string]bool{}
	for _, name := range r.pkg.GoFiles {
		own[name] = true
	}
	loaded, err := load.Packages(dir, nil, func(file string) bool { return own[file] }, pattern)
	if err != nil {
		return fmt.Errorf("read %s: %w", pattern, err)
	}
	e.pkg = loaded[0]
	again := &reader{pkg: e.pkg, isGenerated: r.isGenerated} // the files of this load have other positions
	e.read(slices.DeleteFunc(slices.Clone(e.pkg.Syntax), again.generated))
	e.solve()
	mark := func(f *Function, owner string) { f.Exits = e.reaches[owner+f.GoName] }
	for _, f := range r.Functions {
		mark(f, "")
	}
	for _, t := range r.Types {
		for _, f := range t.members() {
			mark(f, t.GoName+".")
		}
		if t.Constructor != nil {
			mark(t.Constructor, "")
		}
	}
	return nil
}

// exits looks for funcs that may call runtime.Goexit.
type exits struct {
	pkg *packages.Package
	// users has the import paths of the packages that use it, and of those that import one of them.
	users map[string]bool
	// testing is set if one of them uses package testing, and others if this is not only the package itself.
	testing, others bool

	funcs map[string]*exitsFunc
	// reaches has the names of the funcs that may call runtime.Goexit, such as Point.Move for a method.
	reaches map[string]bool
}

// exitsFunc is what a func uses.
type exitsFunc struct {
	method string // its name without its type if it is a method
	// certain is set if it uses runtime.Goexit, a func value, or a package among users.
	certain bool
	calls   []string // funcs of the package
	dynamic []string // methods of interfaces
	unknown bool     // others get a value whose methods they may call
	gives   bool     // others get a func or a value with methods
	foreign bool     // it calls methods of types of others, to which somebody has given such a value
}

// findUsers finds the packages outside the standard library that use runtime.Goexit.
func (e *exits) findUsers() (err error) {
	standard := ""
	packages.Visit([]*packages.Package{e.pkg}, nil, func(p *packages.Package) {
		if p.PkgPath == "runtime" && len(p.GoFiles) > 0 {
			standard = filepath.Dir(filepath.Dir(p.GoFiles[0])) + string(filepath.Separator)
		}
	})
	if standard == "" { // nothing imports runtime, also not package testing
		return nil
	}
	packages.Visit([]*packages.Package{e.pkg}, nil, func(p *packages.Package) {
		if len(p.GoFiles) == 0 || strings.HasPrefix(p.GoFiles[0], standard) {
			return
		}
		uses := false
		for _, imported := range p.Imports {
			uses = uses || e.users[imported.PkgPath]
		}
		e.others = e.others || uses && p == e.pkg
		if p.Imports["runtime"] != nil || p.Imports["testing"] != nil {
			for _, name := range p.GoFiles {
				exit, tests, failed := usesGoexit(name)
				if failed != nil && err == nil {
					err = failed
				}
				uses, e.testing = uses || exit || tests, e.testing || tests
			}
		}
		if uses {
			e.users[p.PkgPath] = true
		}
	})
	return err
}

// usesGoexit reports whether a file names runtime.Goexit, and whether it names a type of package testing that calls it.
func usesGoexit(name string) (exit, tests bool, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return false, false, fmt.Errorf("look for runtime.Goexit: %w", err)
	}
	if !bytes.Contains(text, []byte("Goexit")) && !bytes.Contains(text, []byte(`"testing"`)) {
		return false, false, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return false, false, fmt.Errorf("look for runtime.Goexit: %w", err)
	}
	imports := map[string]string{}
	for _, s := range file.Imports {
		of := strings.Trim(s.Path.Value, "`\"")
		as := path.Base(of)
		if s.Name != nil {
			as = s.Name.Name
		}
		imports[as] = of
	}
	found := func(of, name string) {
		exit = exit || of == "runtime" && name == "Goexit"
		tests = tests || of == "testing" && slices.Contains(testTypes, name)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				found(imports[x.Name], n.Sel.Name)
			}
		case *ast.Ident:
			found(imports["."], n.Name)
		}
		return true
	})
	return exit, tests, nil
}

// read reads the bodies of the package's own funcs.
func (e *exits) read(files []*ast.File) {
	e.funcs, e.reaches = map[string]*exitsFunc{}, map[string]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.FuncDecl)
			if !ok || decl.Body == nil {
				continue
			}
			if f, ok := e.pkg.TypesInfo.Defs[decl.Name].(*types.Func); ok {
				u := &exitsFunc{}
				if decl.Recv != nil {
					u.method = f.Name()
				}
				e.funcs[funcName(f)] = u
				ast.Inspect(decl.Body, func(n ast.Node) bool { return e.node(u, n) })
			}
		}
	}
}

// funcName names a func within its package.
func funcName(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	t := recv.Type()
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name() + "." + f.Name()
	}
	return f.Name()
}

// node adds what a node uses, and reports whether the nodes in it belong to the func too.
func (e *exits) node(u *exitsFunc, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt: // runtime.Goexit may end that goroutine
		for _, arg := range n.Call.Args {
			ast.Inspect(arg, func(n ast.Node) bool { return e.node(u, n) })
		}
		return false
	case *ast.Ident:
		e.use(u, e.pkg.TypesInfo.Uses[n])
	case *ast.CallExpr:
		e.call(u, n)
	}
	return true
}

// use adds the use of a name. The use of a func as a value counts as a call.
func (e *exits) use(u *exitsFunc, object types.Object) {
	switch object := object.(type) {
	case *types.Var:
		if _, ok := object.Type().Underlying().(*types.Signature); ok {
			u.certain = true
		}
	case *types.Func:
		recv, pkg := object.Signature().Recv(), object.Pkg()
		switch {
		case pkg == nil || recv != nil && types.IsInterface(recv.Type()) && pkg.Path() != "testing":
			u.dynamic = append(u.dynamic, object.Name())
		case pkg.Path() == "runtime":
			u.certain = u.certain || object.Name() == "Goexit"
		case pkg.Path() == "testing":
			u.certain = u.certain || recv != nil && slices.Contains(testEnds, object.Name())
		case pkg.Path() == e.pkg.PkgPath:
			u.calls = append(u.calls, funcName(object.Origin()))
		default:
			u.certain = u.certain || e.users[pkg.Path()]
		}
	}
}

// call adds what only a call shows: calls of values, and arguments with methods that others may call.
func (e *exits) call(u *exitsFunc, n *ast.CallExpr) {
	fun := ast.Unparen(n.Fun)
	switch index := fun.(type) { // of type parameters, unless it is a value
	case *ast.IndexExpr:
		fun = index.X
	case *ast.IndexListExpr:
		fun = index.X
	}
	var object types.Object
	switch f := fun.(type) {
	case *ast.Ident:
		object = e.pkg.TypesInfo.Uses[f]
	case *ast.SelectorExpr:
		object = e.pkg.TypesInfo.Uses[f.Sel]
	}
	callee, static := object.(*types.Func)
	if !static {
		_, literal := fun.(*ast.FuncLit)
		t := e.pkg.TypesInfo.Types[ast.Unparen(n.Fun)]
		u.certain = u.certain || !literal && t.IsValue() && !t.IsBuiltin()
		return
	}
	if callee.Pkg() == nil || callee.Pkg().Path() == e.pkg.PkgPath {
		return
	}
	u.foreign = u.foreign || callee.Signature().Recv() != nil
	for _, arg := range n.Args {
		t := e.pkg.TypesInfo.TypeOf(arg)
		if t == nil {
			continue
		}
		if _, ok := t.Underlying().(*types.Signature); ok {
			u.gives = true
		}
		if types.IsInterface(t) {
			u.unknown, u.gives = true, true
			continue
		}
		for m := range methodsOf(t) {
			if m.Pkg() == e.pkg.Types {
				u.calls, u.gives = append(u.calls, funcName(m.Origin())), true
			} else if m.Pkg() != nil && e.users[m.Pkg().Path()] {
				u.certain, u.gives = true, true
			}
		}
	}
}

// methodsOf yields the methods of t and of a pointer to it.
func methodsOf(t types.Type) func(yield func(*types.Func) bool) {
	return func(yield func(*types.Func) bool) {
		if _, ok := types.Unalias(t).(*types.Pointer); !ok {
			t = types.NewPointer(t)
		}
		for m := range types.NewMethodSet(t).Methods() {
			if f, ok := m.Obj().(*types.Func); ok && !yield(f) {
				return
			}
		}
	}
}

// solve finds the funcs that may call runtime.Goexit.
func (e *exits) solve() {
	methods := map[string]bool{} // names of methods that may call it
	if e.testing {
		for _, name := range testEnds {
			methods[name] = true
		}
	}
	given := false // others may call one of the package's funcs that may call it
	for again := true; again; {
		again = false
		for name, u := range e.funcs {
			if e.reaches[name] {
				continue
			}
			if !u.certain && !(given && u.foreign) && !(u.unknown && (e.others || len(methods) > 0)) &&
				!slices.ContainsFunc(u.calls, func(f string) bool { return e.reaches[f] }) &&
				!slices.ContainsFunc(u.dynamic, func(m string) bool { return e.others || methods[m] }) {
				continue
			}
			e.reaches[name], again = true, true
			given = given || u.gives
			if u.method != "" {
				methods[u.method] = true
			}
		}
	}
}
