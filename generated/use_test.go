package generated_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const below = "github.com/tvmffi-go/tvmffi/generated/"

// TestEverythingIsTested finds exported generated functions, methods and types that no
// test of their package uses. In the tables of the tests, the test with the name of a
// function must call that function.
func TestEverythingIsTested(t *testing.T) {
	all, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax | packages.NeedImports,
		Tests: true,
	}, below+"ffi/...", below+"testing")
	if err != nil {
		t.Fatal(err)
	}
	exported, used, tests := map[string]types.Object{}, map[string]bool{}, 0
	var excused []string
	for _, p := range all {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		if !strings.HasSuffix(p.PkgPath, "_test") {
			for _, o := range exportedBy(p.Types) {
				exported[fullName(o)] = o
			}
			continue
		}
		tests++
		for _, o := range p.TypesInfo.Uses {
			used[fullName(o)] = true
		}
		bodies := functionBodies(p)
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				excused = append(excused, checkTable(t, p, bodies, n)...)
				return true
			})
		}
	}
	if tests != 3 || len(exported) < 450 {
		t.Fatalf("%d test packages, %d exported objects", tests, len(exported))
	}
	for name, o := range exported {
		if !used[name] && !slices.Contains(excused, o.Name()) {
			t.Errorf("no test mentions %s", name)
		}
	}
	t.Logf("%d exported, not called: %q", len(exported), excused)
}

// exportedBy lists functions, methods and object types of a generated package.
// It omits markers, which reflection calls, and options and Refs, which are in signatures.
func exportedBy(p *types.Package) []types.Object {
	var out []types.Object
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() || name == "Load" {
			continue
		}
		if _, ok := o.(*types.Func); ok {
			out = append(out, o)
			continue
		}
		named, ok := o.Type().(*types.Named)
		if _, isStruct := o.Type().Underlying().(*types.Struct); !ok || !isStruct || strings.HasSuffix(name, "Option") {
			continue
		}
		out = append(out, o)
		for m := range named.Methods() {
			sig := m.Signature()
			marker := strings.HasPrefix(m.Name(), "As") && sig.Results().Len() == 1
			if m.Exported() && m.Name() != "TVMFFIType" && !marker {
				out = append(out, m)
			}
		}
	}
	return out
}

// fullName returns a name for an object that is the same in all packages that
// go/packages loads separately.
func fullName(o types.Object) string {
	if f, ok := o.(*types.Func); ok {
		return f.FullName()
	}
	if o.Pkg() == nil {
		return o.Name()
	}
	return o.Pkg().Path() + "." + o.Name()
}

func functionBodies(p *packages.Package) map[types.Object]ast.Node {
	bodies := map[types.Object]ast.Node{}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				bodies[p.TypesInfo.Defs[fn.Name]] = fn
			}
		}
	}
	return bodies
}

// checkTable checks the entries of map literals whose keys are names. A func must mention
// the function, or the type or its constructor, itself or in a function that it is or
// calls. A string is the reason why the function is not called.
func checkTable(t *testing.T, p *packages.Package, bodies map[types.Object]ast.Node, n ast.Node) (excused []string) {
	t.Helper()
	lit, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	m, ok := p.TypesInfo.TypeOf(lit).Underlying().(*types.Map)
	if !ok {
		return nil
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, ok := kv.Key.(*ast.BasicLit)
		if !ok {
			continue
		}
		name, err := strconv.Unquote(key.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch m.Elem().Underlying().(type) {
		case *types.Signature:
			if !mentions(p, bodies, kv.Value, name, 2) {
				t.Errorf("%s: the test of %s does not mention it", p.Fset.Position(key.Pos()), name)
			}
		case *types.Basic:
			if v, ok := kv.Value.(*ast.BasicLit); ok && strings.Contains(v.Value, "for the rest of the process") {
				excused = append(excused, name)
			}
		}
	}
	return excused
}

func mentions(p *packages.Package, bodies map[types.Object]ast.Node, n ast.Node, name string, depth int) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || found {
			return !found
		}
		o := p.TypesInfo.Uses[id]
		if o == nil || o.Pkg() == nil {
			return true
		}
		if (o.Name() == name || o.Name() == "New"+name) && strings.HasPrefix(o.Pkg().Path(), below) {
			found = true
		} else if body := bodies[o]; body != nil && depth > 0 {
			found = mentions(p, bodies, body, name, depth-1)
		}
		return true
	})
	return found
}
