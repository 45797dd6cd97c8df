package ffi_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/ffi"
	"github.com/tvmffi-go/tvmffi/generated/ffi/reflection"
	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func newCompare(t testing.TB, key int64, name string, ignored int64) *lib.TestCompare {
	t.Helper()
	return check.Value(lib.NewTestCompare(key, name, ignored))(t)
}

// comparing calls a comparison of two values with all three orders.
func comparing(f func(any, any) (bool, error), less, equal, greater bool) func(*testing.T) {
	return func(t *testing.T) {
		check.Returns(f(1, 2))(t, less)
		check.Returns(f([]int64{1, 2}, []int64{1, 2}))(t, equal)
		check.Returns(f("b", "a"))(t, greater)
		a, b := newCompare(t, 1, "n", 10), newCompare(t, 1, "n", 20)
		defer a.Release()
		defer b.Release()
		check.Returns(f(a, b))(t, equal) // the field in which they differ is left out
	}
}

var comparisons = map[string]func(*testing.T){
	"RecursiveEq": comparing(ffi.RecursiveEq, false, true, false),
	"RecursiveLt": comparing(ffi.RecursiveLt, true, false, false),
	"RecursiveLe": comparing(ffi.RecursiveLe, true, true, false),
	"RecursiveGt": comparing(ffi.RecursiveGt, false, false, true),
	"RecursiveGe": comparing(ffi.RecursiveGe, false, true, true),
	"RecursiveHash": func(t *testing.T) {
		a := check.Value(ffi.RecursiveHash([]any{1, "x"}))(t)
		check.Returns(ffi.RecursiveHash([]any{1, "x"}))(t, a)
		if b := check.Value(ffi.RecursiveHash([]any{1, "y"}))(t); a == b {
			t.Error("other values have the same hash")
		}
		x := check.Value(lib.NewTestEqWithoutHash(1, "l"))(t)
		defer x.Release()
		_, err := ffi.RecursiveHash(x)
		check.Fails(t, err, tvmffi.ErrValue, "testing.TestEqWithoutHash")
	},
	"StructuralEqual": func(t *testing.T) {
		check.Returns(ffi.StructuralEqual([]any{1, "x"}, []any{1, "x"}, false, false))(t, true)
		check.Returns(ffi.StructuralEqual([]any{1, "x"}, []any{1, "y"}, false, false))(t, false)
		a, b := check.Value(tvmffi.FromSlice([]float32{1}))(t), check.Value(tvmffi.FromSlice([]float32{2}))(t)
		defer a.Release()
		defer b.Release()
		check.Returns(ffi.StructuralEqual(a, b, false, false))(t, false)
		check.Returns(ffi.StructuralEqual(a, b, false, true))(t, true) // without their content
	},
	"StructuralHash": func(t *testing.T) {
		a := check.Value(ffi.StructuralHash([]any{1, "x"}, false, false))(t)
		check.Returns(ffi.StructuralHash([]any{1, "x"}, false, false))(t, a)
	},
	"GetFirstStructuralMismatch": func(t *testing.T) {
		none := check.Value(ffi.GetFirstStructuralMismatch([]any{1}, []any{1}, false, false))(t)
		if none != nil {
			t.Errorf("equal values differ at %v", none)
		}
		pair := check.Value(ffi.GetFirstStructuralMismatch([]any{1, []any{2, 3}}, []any{1, []any{2, 4}}, false, false))(t)
		if pair == nil {
			t.Fatal("no difference was found")
		}
		for _, path := range []*reflection.AccessPath{pair.A, pair.B} {
			check.Equal(t, path.Depth(), 2)
			step := path.Step()
			check.Equal(t, step.Key().Value(), any(int64(1)))
			step.Release()
			path.Release()
		}
	},
	"NewStructuralKey": func(t *testing.T) {
		a, b := check.Value(ffi.NewStructuralKey([]any{1}))(t), check.Value(ffi.NewStructuralKey([]any{1}))(t)
		defer a.Release()
		defer b.Release()
		check.Equal(t, a.HashI64(), b.HashI64())
		check.Returns(ffi.StructuralKeyEqual(a, b))(t, true)
	},
	"StructuralKeyEqual": func(t *testing.T) {
		a, b := check.Value(ffi.NewStructuralKey("x"))(t), check.Value(ffi.NewStructuralKey("y"))(t)
		defer a.Release()
		defer b.Release()
		check.Returns(ffi.StructuralKeyEqual(a, b))(t, false)
		key := a.Key()
		check.Equal(t, key.Value(), any("x"))
	},
	"DeepCopy": func(t *testing.T) {
		inner := newList(t, 1)
		defer inner.Release()
		out := as[anyList](ffi.DeepCopy(inner))(t)
		defer out.Release()
		check.OK(t, out.Append(check.Value(tvmffi.AnyOf(2))(t)))
		check.Equal(t, values(t, inner), []any{int64(1)})
		check.Equal(t, values(t, out), []any{int64(1), int64(2)})
		x := check.Value(lib.NewTestNonCopyable(1))(t)
		defer x.Release()
		_, err := ffi.DeepCopy(x)
		check.Fails(t, err, tvmffi.ErrInternal, "testing.TestNonCopyable")
	},
	"ToJSONGraph":         testJSONGraph,
	"FromJSONGraph":       testJSONGraph,
	"ToJSONGraphString":   testJSONGraph,
	"FromJSONGraphString": testJSONGraph,
}

func testJSONGraph(t *testing.T) {
	pair := newCompare(t, 1, "name", 3)
	defer pair.Release()
	isPair := func(v tvmffi.Any) {
		t.Helper()
		defer v.Release()
		x := check.Value(tvmffi.As[*lib.TestCompare](v))(t)
		if x.Key() != 1 || x.Name() != "name" || x.IgnoredField() != 3 || tvmffi.Same(x, pair) {
			t.Errorf("got %v", x)
		}
	}
	graph := check.Value(ffi.ToJSONGraph(pair, nil))(t)
	defer graph.Release()
	isPair(check.Value(ffi.FromJSONGraph(graph))(t))
	text := check.Value(ffi.ToJSONGraphString(pair, map[string]string{"by": "a test"}))(t)
	isPair(check.Value(ffi.FromJSONGraphString(text))(t))
	_, err := ffi.FromJSONGraphString("{}")
	check.Fails(t, err, tvmffi.ErrValue)
}

type (
	visitRule  = tvmffi.Tuple2[int64, *tvmffi.Function]
	mutateRule = tvmffi.Tuple3[int64, *tvmffi.Function, bool]
)

func function(t testing.TB, f any) *tvmffi.Function {
	t.Helper()
	fn := check.Value(tvmffi.FuncOf(f))(t)
	t.Cleanup(fn.Release)
	return fn
}

const intIndex = 1 // the type index of int

var structures = map[string]func(*testing.T){
	"NewVisitInterrupt": func(t *testing.T) {
		stop := check.Value(ffi.NewVisitInterrupt("why"))(t)
		defer stop.Release()
		check.Equal(t, stop.Value().Value(), any("why"))
	},
	"StructuralWalk": func(t *testing.T) {
		var seen []int64
		rule := visitRule{A: intIndex, B: function(t, func(v int64) (int64, error) { seen = append(seen, v); return 0, nil })}
		none := check.Value(ffi.StructuralWalk([]any{1, []any{2, "x"}, 3}, tvmffi.Of(rule), tvmffi.Of[visitRule](), 0))(t)
		if none != nil || !slices.Equal(seen, []int64{1, 2, 3}) {
			t.Errorf("saw %v, interrupted by %v", seen, none)
		}
		// A callback stops the walk with an object, or with a Go error.
		stop := visitRule{A: intIndex, B: function(t, func(v, region int64) (*ffi.VisitInterrupt, error) { return ffi.NewVisitInterrupt(v + region) })}
		signal := check.Value(ffi.StructuralWalk([]any{"x", 7}, tvmffi.Of[visitRule](), tvmffi.Of(stop), 1))(t)
		defer signal.Release()
		check.Equal(t, signal.Value().Value(), any(int64(7)))
		enough := errors.New("enough")
		fail := visitRule{A: intIndex, B: function(t, func(int64) (int64, error) { return 0, enough })}
		if _, err := ffi.StructuralWalk([]any{1}, tvmffi.Of(fail), tvmffi.Of[visitRule](), 0); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
	},
	"StructuralVisit":                    testVisitor,
	"StructuralVisitorDefRegionKind":     testVisitor,
	"StructuralVisitorDefaultVisit":      testVisitor,
	"StructuralVisitorVisit":             testVisitor,
	"StructuralVisitorWithDefRegionKind": testVisitor,
	"StructuralMap": func(t *testing.T) {
		double := visitRule{A: intIndex, B: function(t, func(v int64) (int64, error) { return 2 * v, nil })}
		out := check.Value(ffi.StructuralMap([]any{1, []any{2}}, tvmffi.Of(double), tvmffi.Of[visitRule](), 1))(t)
		defer out.Release()
		check.Returns(ffi.ReprPrint(out))(t, "(2, (4,))")
	},
	"StructuralMutate":                   testMutator,
	"StructuralMutatorDefRegionKind":     testMutator,
	"StructuralMutatorDefaultMutate":     testMutator,
	"StructuralMutatorMutate":            testMutator,
	"StructuralMutatorVarRemapGet":       testMutator,
	"StructuralMutatorVarRemapSet":       testMutator,
	"StructuralMutatorWithDefRegionKind": testMutator,
	"VisitErrorContextFindAccessPaths": func(t *testing.T) {
		list := newList(t, 1)
		defer list.Release()
		_, err := ffi.VisitErrorContextFindAccessPaths(list, nil, false)
		check.Fails(t, err, tvmffi.ErrType, "ffi.VisitErrorContext", "None")
	},
}

// testVisitor visits with a callback that gets the visitor, and calls it.
func testVisitor(t *testing.T) {
	var regions []int64
	var kept *ffi.StructuralVisitor
	callback := func(v tvmffi.Any, visitor *ffi.StructuralVisitor) (*ffi.VisitInterrupt, error) {
		kept = visitor
		inner := func() (*ffi.VisitInterrupt, error) {
			kind, err := ffi.StructuralVisitorDefRegionKind(visitor)
			if err != nil {
				return nil, err
			}
			regions = append(regions, kind)
			return ffi.StructuralVisitorDefaultVisit(visitor, v)
		}
		fn, err := tvmffi.FuncOf(inner)
		if err != nil {
			return nil, err
		}
		defer fn.Release()
		const simple = 2
		if _, err := ffi.StructuralVisitorWithDefRegionKind(visitor, simple, fn); err != nil {
			return nil, err
		}
		return ffi.StructuralVisitorVisit(visitor, 3)
	}
	rule := visitRule{A: typeIndex(t, "ffi.Array"), B: function(t, callback)}
	none := check.Value(ffi.StructuralVisit([]any{[]any{1}, 2}, tvmffi.Of(rule)))(t)
	if none != nil || !slices.Equal(regions, []int64{2, 2}) {
		t.Errorf("the regions are %v, interrupted by %v", regions, none)
	}
	// The visitor was borrowed.
	_, err := ffi.StructuralVisitorDefRegionKind(kept)
	check.Fails(t, err, tvmffi.ErrRuntime, "borrowed")
	_, err = ffi.StructuralVisitorVisit(nil, 1)
	check.Fails(t, err, tvmffi.ErrType, "ffi.StructuralVisitor", "None")
}

// testMutator replaces values with a callback that gets the mutator, and calls it.
func testMutator(t *testing.T) {
	pair := newCompare(t, 1, "n", 2)
	defer pair.Release()
	var remapped string
	onArray := func(v tvmffi.Any, mutator *ffi.StructuralMutator) (tvmffi.Any, error) {
		kind, err := ffi.StructuralMutatorDefRegionKind(mutator)
		if err != nil || kind != 0 {
			return tvmffi.Any{}, errors.Join(err, errors.New("the region is wrong"))
		}
		if err := ffi.StructuralMutatorVarRemapSet(mutator, pair, "replaced"); err != nil {
			return tvmffi.Any{}, err
		}
		found, err := ffi.StructuralMutatorVarRemapGet(mutator, pair)
		if err != nil {
			return tvmffi.Any{}, err
		}
		remapped, _ = tvmffi.As[string](found)
		fn, err := tvmffi.FuncOf(func() (tvmffi.Any, error) { return ffi.StructuralMutatorMutate(mutator, 10) })
		if err != nil {
			return tvmffi.Any{}, err
		}
		defer fn.Release()
		if ten, err := ffi.StructuralMutatorWithDefRegionKind(mutator, 2, fn); err != nil || ten.Value() != any(int64(20)) {
			return tvmffi.Any{}, errors.Join(err, errors.New("the inner value is "+ten.String()))
		}
		return ffi.StructuralMutatorDefaultMutate(mutator, v)
	}
	onInt := func(v int64, _ *ffi.StructuralMutator) (int64, error) { return 2 * v, nil }
	out := check.Value(ffi.StructuralMutate([]any{1, "x"}, tvmffi.Of(
		mutateRule{A: typeIndex(t, "ffi.Array"), B: function(t, onArray)},
		mutateRule{A: intIndex, B: function(t, onInt)})))(t)
	defer out.Release()
	check.Returns(ffi.ReprPrint(out))(t, `(2, "x")`)
	check.Equal(t, remapped, "replaced")
	_, err := ffi.StructuralMutatorMutate(nil, 1)
	check.Fails(t, err, tvmffi.ErrType, "ffi.StructuralMutator", "None")
}
