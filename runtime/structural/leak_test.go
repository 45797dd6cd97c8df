package structural_test

import (
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// TestFind_releases: what the steps of a path lead to on the way is released.
func TestFind_releases(t *testing.T) {
	runtimetest.LoadProgram(t)
	chain := runtimetest.NewChain(t, 4)
	defer chain.Release()
	next := structural.AccessStep{Kind: structural.AccessField, Key: runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf("next"))}
	path := runtimetest.Must[*structural.AccessPath](t)(structural.NewAccessPath(next, next))
	defer path.Release()
	find := func() {
		found := runtimetest.Must[tvmffi.Any](t)(path.Find(chain))
		if v := runtimetest.Must[*runtimetest.Link](t)(tvmffi.As[*runtimetest.Link](found)); v.Value() != 1 {
			t.Errorf("found the link %d, want 1", v.Value())
		}
		found.Release()
	}
	find() // with what is looked up once
	leaktest.Check(t)
	find()
}

// TestMutate_releases: an array that a callback hands over as a slice is released. At the
// end LoadProgram counts the variables in it.
func TestMutate_releases(t *testing.T) {
	runtimetest.LoadProgram(t)
	x := runtimetest.NewVar(t, "x")
	f := runtimetest.NewFunc(t, []any{x}, []any{x})
	g, err := structural.Mutate(f, structural.OnMutate(func(f *runtimetest.Func, m *structural.Mutator) (any, error) {
		parts, err := m.Mutate([]any{x, x})
		parts.Release()
		if err != nil {
			return nil, err
		}
		return m.Children(f)
	}))
	if !runtimetest.Older(t, "0.1.14", err) && err != nil {
		t.Fatal(err)
	}
	if g != nil {
		g.Release()
	}
	f.Release()
	x.Release()
	runtimetest.DropGarbage(t)
}

// TestErrorPaths_ofChildren: a value that a rule takes apart itself is one step of the
// path, also where the library notes it twice.
func TestErrorPaths_ofChildren(t *testing.T) {
	runtimetest.LoadProgram(t)
	x := runtimetest.NewVar(t, "x")
	f := runtimetest.NewFunc(t, nil, []any{1, []any{x}})
	refused := tvmffi.NewError("ValueError", "no")
	_, mutated := structural.Mutate(f,
		structural.OnMutate(func(f *runtimetest.Func, m *structural.Mutator) (any, error) { return m.Children(f) }),
		structural.OnMutate(func(*runtimetest.Var, *structural.Mutator) (any, error) { return nil, refused }))
	visited := structural.Visit(f,
		structural.OnVisit(func(f *runtimetest.Func, v *structural.Visitor) error { return v.Children(f) }),
		structural.OnVisit(func(*runtimetest.Var, *structural.Visitor) error { return refused }))
	for what, err := range map[string]error{"Mutate": mutated, "Visit": visited} {
		if runtimetest.Older(t, "0.1.14", err) {
			continue
		}
		runtimetest.WantError(t, err, tvmffi.ErrValue, "no")
		paths, failed := structural.ErrorPaths(f, err, false)
		if failed != nil || len(paths) != 1 || paths[0].String() != "<root>.body[1][0]" {
			t.Errorf("%s: ErrorPaths = %v, %v, want <root>.body[1][0]", what, paths, failed)
		}
		for _, p := range paths {
			p.Release()
		}
	}
	f.Release()
	x.Release()
	mutated, visited, refused = nil, nil, nil
	runtimetest.DropGarbage(t)
}

// TestKeyOf_collected: keys that nobody has leave the table.
func TestKeyOf_collected(t *testing.T) {
	runtimetest.LoadProgram(t)
	before := structural.KeyBuckets()
	var keys []structural.Key
	for i := range 100 {
		key, err := structural.KeyOf([]any{"a key that is dropped", i})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if n := structural.KeyBuckets(); n < before+50 {
		t.Errorf("the table has %d hashes after 100 more than %d", n, before)
	}
	runtime.KeepAlive(keys)
	keys = nil
	runtimetest.Collect(t, "keys", func() bool { return structural.KeyBuckets() <= before })
}
