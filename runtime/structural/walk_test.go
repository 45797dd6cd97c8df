package structural_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

var errBoom = errors.New("boom")

func TestWalk(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	if err := structural.Walk(1, structural.PreOrder); runtimetest.Older(t, "0.1.14", err) {
		return
	}
	root := []any{1, []any{2, "x", "a long text on the heap"}, map[string]any{"k": 3}, nil, 2.5, []byte("b")}
	var seen []string
	note := func(x any) { seen = append(seen, fmt.Sprint(x)) }
	text := func(x string) error { note(x); return nil }
	number := func(x int64) error { note(x); return nil }
	for _, c := range []struct {
		name  string
		order structural.Order
		rules []structural.WalkRule
		want  []string
	}{
		{"two types before their children", structural.PreOrder, []structural.WalkRule{structural.On(number), structural.On(text)}, []string{"1", "2", "x", "a long text on the heap", "3"}},
		{"one type after its children", structural.PostOrder, []structural.WalkRule{structural.On(number)}, []string{"1", "2", "3"}},
		// The first rule that fits counts, also if one of them asks for the region.
		{"the first rule that fits", structural.PreOrder, []structural.WalkRule{structural.OnIn(func(x int64, r structural.DefRegion) error { note(r); return nil }), structural.On(func(x any) error {
			if x, ok := x.(int64); ok {
				t.Errorf("the second rule got %d, which fits the first", x)
			}
			return nil
		})}, []string{"0", "0", "0"}},
		{"every value", structural.PreOrder, []structural.WalkRule{structural.On(func(x tvmffi.Any) error { note(x.TypeKey()); return nil })},
			[]string{"ffi.Array", "int", "ffi.Array", "int", "ffi.String", "ffi.String", "ffi.Map", "int", "float", "ffi.Bytes"}},
		{"arrays after their items", structural.PostOrder, []structural.WalkRule{structural.On(func(x *tvmffi.Array[tvmffi.Any]) error { note(x.Len()); return nil })}, []string{"3", "6"}},
		{"arrays before their items", structural.PreOrder, []structural.WalkRule{structural.On(func(x *tvmffi.Array[tvmffi.Any]) error { note(x.Len()); return nil })}, []string{"6", "3"}},
		{"SkipChildren", structural.PreOrder, []structural.WalkRule{structural.On(number), structural.On(func(x *tvmffi.Array[tvmffi.Any]) error {
			if x.Len() == 3 {
				return structural.SkipChildren
			}
			return nil
		})}, []string{"1", "3"}},
		{"SkipAll", structural.PreOrder, []structural.WalkRule{structural.On(func(x int64) error {
			note(x)
			if x == 2 {
				return structural.SkipAll
			}
			return nil
		})}, []string{"1", "2"}},
		{"no rule", structural.PreOrder, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen = nil
			if err := structural.Walk(root, c.order, c.rules...); err != nil || !slices.Equal(seen, c.want) {
				t.Errorf("%v: saw %q, want %q; error %v", c.order, seen, c.want, err)
			}
		})
	}
	runtimetest.DropGarbage(t)
}

// A value without children is visited once, and nil is not visited.
func TestWalk_leaves(t *testing.T) {
	runtimetest.LoadProgram(t)
	if err := structural.Walk(1, structural.PreOrder); runtimetest.Older(t, "0.1.14", err) {
		return
	}
	for _, x := range []any{nil, 1, "text", (*runtimetest.Box)(nil), tvmffi.Float32} {
		calls, want := 0, 1
		if x == nil || x == any((*runtimetest.Box)(nil)) {
			want = 0
		}
		if err := structural.Walk(x, structural.PreOrder, structural.On(func(any) error { calls++; return nil })); err != nil || calls != want {
			t.Errorf("Walk(%v) made %d calls, want %d; error %v", x, calls, want, err)
		}
	}
	runtimetest.DropGarbage(t)
}

// Objects are borrowed, rules select them by their types, and each place is visited.
func TestWalk_objects(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	x := runtimetest.NewVar(t, "x")
	f := runtimetest.NewFunc(t, []any{x}, []any{x, 1, x})
	var kept *runtimetest.Var
	var names []string
	err := structural.Walk(f, structural.PreOrder, structural.OnIn(func(v *runtimetest.Var, r structural.DefRegion) error {
		names = append(names, fmt.Sprint(v.Name(), r))
		kept = v
		return nil
	}), structural.On(func(n *runtimetest.Node) error { names = append(names, tvmffi.TypeKey(n)); return nil }))
	if !runtimetest.Older(t, "0.1.14", err) {
		if want := []string{"program.Func", "x1", "x0", "x0"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%q, want %q; %v", names, want, err)
		}
		_, err = tvmffi.Repr(kept)
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "borrowed")
	}
	f.Release()
	x.Release()
	runtimetest.DropGarbage(t)
}

// Strings and bytes are not objects in Go, even where the library keeps them in an object. So
// a rule for objects passes them on to the next rule that fits.
func TestObjectRule_texts(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.NeedFunctions(t, "ffi.StructuralWalk")
	long := "a long text on the heap"
	root := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any]("x", long, []byte("y"), []byte(long), []any{long}))
	defer root.Release()
	n, m := 0, 0
	var seen []string
	objects := structural.On(func(x *tvmffi.Object) error { n++; return nil })
	references := structural.OnIn(func(x tvmffi.ObjectRef, _ structural.DefRegion) error { n++; return nil })
	texts := structural.On(func(x string) error { seen = append(seen, x); return nil })
	values := structural.On(func(x any) error { m++; return nil })
	for _, c := range []struct {
		name       string
		rules      []structural.WalkRule
		n, m, text int
	}{
		{"objects", []structural.WalkRule{objects}, 2, 0, 0},
		{"texts after objects", []structural.WalkRule{objects, texts}, 2, 0, 3},
		{"all values after objects", []structural.WalkRule{objects, values}, 2, 5, 0},
		{"texts and all values after references", []structural.WalkRule{references, texts, values}, 2, 2, 3},
	} {
		n, m, seen = 0, 0, nil
		if err := structural.Walk(root, structural.PreOrder, c.rules...); err != nil || n != c.n || m != c.m || len(seen) != c.text {
			t.Errorf("%s: %d objects, %d other values and the texts %q; want %d, %d and %d texts (%v)", c.name, n, m, seen, c.n, c.m, c.text, err)
		}
	}
	n = 0
	err := structural.Visit(root, structural.OnVisit(func(x *tvmffi.Object, v *structural.Visitor) error { n++; return v.Children(x) }))
	if err != nil || n != 2 {
		t.Errorf("Visit: %d objects, want 2 (%v)", n, err)
	}
	same := func(x *tvmffi.Object) (any, error) { return x, nil }
	a, err := structural.Rewrite(root, structural.PostOrder, structural.To(same))
	if err != nil || a.String() != root.String() {
		t.Fatalf("Rewrite: %v (%v)", a, err)
	}
	a.Release()
	a, err = structural.Mutate(root, structural.OnMutate(func(x *tvmffi.Object, m *structural.Mutator) (any, error) { return m.Children(x) }))
	if err != nil || a.String() != root.String() {
		t.Fatalf("Mutate: %v (%v)", a, err)
	}
	a.Release()
}

// A zero rule is an error, not a crash.
func TestZeroRule(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.NeedFunctions(t, "ffi.StructuralWalk")
	_, rewrite := structural.Rewrite(1, structural.PreOrder, structural.RewriteRule{})
	_, mutate := structural.Mutate(1, structural.MutateRule{})
	for _, err := range []error{structural.Walk(1, structural.PreOrder, structural.WalkRule{}), structural.Visit(1, structural.VisitRule{}), rewrite, mutate} {
		runtimetest.WantError(t, err, tvmffi.ErrType, "rule 0 is a zero value")
	}
}

func TestWalk_errors(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	x := runtimetest.NewVar(t, "x")
	f := runtimetest.NewFunc(t, nil, []any{[]any{1}, x})
	fails := structural.On(func(v *runtimetest.Var) error { return errBoom })
	if err := structural.Walk(f, structural.PreOrder, fails); !runtimetest.Older(t, "0.1.14", err) {
		t.Run("errors of the func", func(t *testing.T) {
			own := tvmffi.NewError("ValueError", "mine")
			for _, c := range []struct {
				err  error
				kind error
				text string
			}{{errBoom, errBoom, "boom"}, {own, own, "ValueError: mine"}, {fmt.Errorf("around: %w", own), own, "around: ValueError: mine"}} {
				for _, order := range []structural.Order{structural.PreOrder, structural.PostOrder} {
					err := structural.Walk(f, order, structural.On(func(v *runtimetest.Var) error { return c.err }))
					runtimetest.WantError(t, err, c.kind, c.text)
					paths, failed := structural.ErrorPaths(f, err, false)
					if failed != nil || len(paths) != 1 || paths[0].String() != "<root>.body[1]" {
						t.Errorf("ErrorPaths = %v, %v, want <root>.body[1]", paths, failed)
					}
					for _, p := range paths {
						p.Release()
					}
				}
			}
			err := structural.Walk(f, structural.PreOrder, structural.On(func(v *runtimetest.Var) error { panic("no") }))
			runtimetest.WantError(t, err, tvmffi.ErrRuntime, "panic in a Go callback: no")
		})
		t.Run("an interrupt is its own error", func(t *testing.T) {
			stop := &structural.Interrupted{Value: runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf("why"))}
			if err := structural.Walk(f, structural.PreOrder, structural.On(func(v *runtimetest.Var) error { return stop })); err != error(stop) {
				t.Errorf("Walk returned %v, want the *Interrupted of the func", err)
			}
		})
		t.Run("arguments", func(t *testing.T) {
			runtimetest.WantError(t, structural.Walk(f, structural.Order(7), fails), tvmffi.ErrValue, "no order 7")
			runtimetest.WantError(t, structural.Walk(f, structural.PreOrder, structural.On[chan int](func(chan int) error { return nil })), tvmffi.ErrType, "chan int names no type")
			runtimetest.WantError(t, structural.Walk(f, structural.PreOrder, structural.On[int64](nil)), tvmffi.ErrType, "the func for int64 is nil")
			runtimetest.WantError(t, structural.Walk(make(chan int), structural.PreOrder), tvmffi.ErrType, "chan int")
		})
		t.Run("cycles and depth", func(t *testing.T) {
			l := runtimetest.NewLoop(t)
			runtimetest.WantError(t, structural.Walk(l, structural.PreOrder, fails), tvmffi.ErrValue, "contains itself")
			runtimetest.EndLoop(t, l)
			deep := runtimetest.NewChain(t, 5000)
			runtimetest.WantError(t, structural.Walk(deep, structural.PreOrder, fails), tvmffi.ErrValue, "nested deeper than 1000 levels")
			deep.Release()
			near := runtimetest.NewChain(t, 990)
			if err := structural.Walk(near, structural.PostOrder, fails); err != nil {
				t.Error(err)
			}
			near.Release()
		})
	}
	if paths, err := structural.ErrorPaths(f, errBoom, true); !runtimetest.Older(t, "0.1.12", err) && (paths != nil || err != nil) {
		t.Errorf("ErrorPaths of another error returned %v, %v, want nil, nil", paths, err)
	}
	f.Release()
	if err := structural.Walk(f, structural.PreOrder, fails); !runtimetest.Older(t, "0.1.14", err) {
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	}
	x.Release()
	runtimetest.DropGarbage(t)
}

// A C++ type has a visit hook, which opens a region.
func TestWalk_hooks(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	if err := structural.Walk(1, structural.PreOrder); runtimetest.Older(t, "0.1.14", err) {
		return
	}
	graph, err := runtimetest.Call("testing.make_visit_region_graph", true)
	if err != nil {
		t.Skip("the testing library has no visit hooks:", err)
	}
	var seen []string
	err = structural.Walk(graph, structural.PreOrder, structural.OnIn(func(x int64, r structural.DefRegion) error { seen = append(seen, fmt.Sprint(x, r)); return nil }))
	if want := []string{"1 2", "2 1", "3 2", "4 0"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q, want %q; %v", seen, want, err)
	}
	graph.Release()
	runtimetest.DropGarbage(t)
}

func TestVisit(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	var seen []string
	number := structural.OnVisit(func(x int64, v *structural.Visitor) error {
		r, err := v.Region()
		seen = append(seen, fmt.Sprint(x, r))
		return err
	})
	var kept *structural.Visitor
	arrays := structural.OnVisit(func(x *tvmffi.Array[tvmffi.Any], v *structural.Visitor) error {
		kept = v
		// Visit the last item first, and the others only if there are more than two.
		if err := v.InRegion(structural.DefRegionSimple, func() error { return v.Visit(x.At(x.Len() - 1)) }); err != nil {
			return err
		}
		if x.Len() > 2 {
			return v.Children(x)
		}
		return nil
	})
	err := structural.Visit([]any{1, []any{2, 3}, 4}, number, arrays)
	if runtimetest.Older(t, "0.1.14", err) {
		return
	}
	if want := []string{"4 2", "1 0", "3 2", "4 0"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q, want %q; %v", seen, want, err)
	}
	t.Run("a visitor is borrowed", func(t *testing.T) {
		runtimetest.WantError(t, kept.Visit(1), tvmffi.ErrRuntime, "borrowed")
		_, err := kept.Region()
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "borrowed")
	})
	t.Run("errors and signals pass through the visitor", func(t *testing.T) {
		for _, c := range []struct {
			give, want error
			ints       int // how many are visited
		}{{errBoom, errBoom, 1}, {structural.SkipAll, nil, 1}, {structural.SkipChildren, nil, 2}} {
			inner := 0
			err := structural.Visit([]any{[]any{7}, 8}, structural.OnVisit(func(x *tvmffi.Array[tvmffi.Any], v *structural.Visitor) error { return v.Children(x) }),
				structural.OnVisit(func(x int64, v *structural.Visitor) error { inner++; return c.give }))
			if !errors.Is(err, c.want) || inner != c.ints {
				t.Errorf("the func returns %v: Visit returned %v after %d ints, want %v after %d", c.give, err, inner, c.want, c.ints)
			}
			err = structural.Visit([]any{1}, structural.OnVisit(func(x *tvmffi.Array[tvmffi.Any], v *structural.Visitor) error {
				return v.InRegion(structural.DefRegionPattern, func() error { return c.give })
			}))
			if !errors.Is(err, c.want) {
				t.Errorf("the func in a region returns %v: Visit returned %v, want %v", c.give, err, c.want)
			}
		}
	})
	t.Run("arguments", func(t *testing.T) {
		err := structural.Visit(1, structural.OnVisit(func(x int64, v *structural.Visitor) error { return v.InRegion(9, func() error { return nil }) }))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "no region 9")
		runtimetest.WantError(t, structural.Visit(1, structural.OnVisit[any](nil)), tvmffi.ErrType, "is nil")
	})
	runtimetest.DropGarbage(t)
}

func TestRewrite(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	double := structural.To(func(x int64) (any, error) { return 2 * x, nil })
	n, err := structural.Rewrite(int64(4), structural.PostOrder, double)
	if runtimetest.Older(t, "0.1.14", err) {
		return
	}
	if n != 8 || err != nil {
		t.Errorf("the rewritten 4 is %d, %v, want 8", n, err)
	}
	t.Run("containers", func(t *testing.T) {
		l := runtimetest.NewList(t, 1, "x")
		out, err := structural.Rewrite([]any{1, []any{2, "keep"}, map[string]any{"k": 3}, nil, l}, structural.PostOrder, double)
		if s := runtimetest.Must[string](t)(tvmffi.Repr(out)); err != nil || s != `(2, (4, "keep"), {"k": 6}, None, [2, "x"])` || l.At(0) != any(int64(1)) {
			t.Errorf("the rewritten list is %s, %v, want each number doubled and the original as it was", s, err)
		}
		for _, x := range out {
			if x, ok := x.(interface{ Release() }); ok {
				x.Release()
			}
		}
		l.Release()
	})
	x, y := runtimetest.NewVar(t, "x"), runtimetest.NewVar(t, "y")
	f := runtimetest.NewFunc(t, []any{x}, []any{x, y})
	t.Run("what is not replaced is shared", func(t *testing.T) {
		same := runtimetest.Must[*runtimetest.Func](t)(structural.Rewrite(f, structural.PostOrder, structural.To(func(v *runtimetest.Var) (any, error) { return v, nil })))
		if !tvmffi.Same(f, same) {
			t.Error("an unchanged function was copied")
		}
		same.Release()
	})
	t.Run("regions", func(t *testing.T) {
		var regions []structural.DefRegion
		g := runtimetest.Must[*runtimetest.Func](t)(structural.Rewrite(f, structural.PreOrder, structural.ToIn(func(v *runtimetest.Var, r structural.DefRegion) (any, error) {
			regions = append(regions, r)
			if v.Name() == "y" {
				return "replaced", nil
			}
			return v, nil
		})))
		if s := g.String(); s != `program.Func(params=(program.Var(name="x"),), body=(program.Var(name="x"), "replaced"), note=None)` || !slices.Equal(regions, []structural.DefRegion{1, 0, 0}) {
			t.Errorf("the rewritten function is %s, with regions %v, want [1 0 0]", s, regions)
		}
		g.Release()
	})
	t.Run("errors", func(t *testing.T) {
		for _, order := range []structural.Order{structural.PreOrder, structural.PostOrder} {
			for _, give := range []error{errBoom, tvmffi.NewError("ValueError", "mine"), structural.SkipAll} {
				_, err := structural.Rewrite(f, order, structural.To(func(v *runtimetest.Var) (any, error) { return nil, give }))
				runtimetest.WantError(t, err, give, give.Error())
			}
		}
		_, err := structural.Rewrite(f, structural.PostOrder, structural.To(func(v *runtimetest.Var) (any, error) { return make(chan int), nil }))
		runtimetest.WantError(t, err, tvmffi.ErrType, "the result of the Go function", "chan int")
		_, err = structural.Rewrite(f, structural.PostOrder, structural.To(func(v *tvmffi.Array[tvmffi.Any]) (any, error) { return 1, nil }))
		runtimetest.WantError(t, err, tvmffi.ErrType) // the field takes no int
		_, err = structural.Rewrite(f, structural.Order(3))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "no order 3")
		_, err = structural.Rewrite("text", structural.PostOrder, structural.To(func(string) (any, error) { return 1, nil }))
		runtimetest.WantError(t, err, tvmffi.ErrType, "expected ffi.String, got int")
	})
	for _, o := range []interface{ Release() }{f, x, y} {
		o.Release()
	}
	runtimetest.DropGarbage(t)
}

func TestMutate(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	x := runtimetest.NewVar(t, "x")
	f := runtimetest.NewFunc(t, []any{x}, []any{x, 1})
	var kept *structural.Mutator
	g, err := structural.Mutate(f,
		structural.OnMutate(func(n int64, m *structural.Mutator) (any, error) { return 10 * n, nil }),
		structural.OnMutate(func(fn *runtimetest.Func, m *structural.Mutator) (any, error) {
			kept = m
			if none, err := m.Replacement(x); err != nil || !none.IsNone() {
				return nil, errors.Join(err, errors.New("there is a replacement already"))
			}
			y, err := runtimetest.Call("program.var", "y")
			if err != nil {
				return nil, err
			}
			defer y.Release()
			if err := m.SetReplacement(x, y); err != nil {
				return nil, err
			}
			if r, err := m.Region(); r != structural.DefRegionNone || err != nil {
				return nil, errors.Join(err, errors.New("in a region"))
			}
			err = m.InRegion(structural.DefRegionPattern, func() error {
				two, err := m.Mutate(2)
				if err == nil && two.Value() != any(int64(20)) {
					err = errors.New("the inner value is " + two.String())
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			return m.Children(fn)
		}))
	if !runtimetest.Older(t, "0.1.14", err) {
		if err != nil {
			t.Fatal(err)
		}
		if s := g.String(); s != `program.Func(params=(program.Var(name="y"),), body=(program.Var(name="y"), 10), note=None)` {
			t.Errorf("the mutated function is %s, want y for x, and 10", s)
		}
		g.Release()
		_, err = kept.Mutate(1)
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "borrowed")
		_, err = structural.Mutate(f, structural.OnMutate(func(n int64, m *structural.Mutator) (any, error) { return nil, errBoom }))
		runtimetest.WantError(t, err, errBoom, "boom")
	}
	f.Release()
	x.Release()
	runtimetest.DropGarbage(t)
}
