package structural_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// The setters of C++ cut a number, and the library calls them with what a rule returns.
func TestRewrite_narrow(t *testing.T) {
	runtimetest.LoadProgram(t)
	if err := structural.Walk(1, structural.PreOrder); err != nil {
		t.Skip(err) // a library before 0.1.14
	}
	runtimetest.Balanced(t)
	instead := func(old, n int64) func(int64) int64 {
		return func(x int64) int64 {
			if x == old {
				return n
			}
			return x
		}
	}
	for _, c := range []struct {
		ints   func(int64) int64
		floats func(float64) float64
		want   string // of the object, "" for an error
		text   string
	}{
		{ints: instead(1, -128), want: "program.Slim(a=-128, b=2, c=3, d=0.5, out=44)"},
		{ints: instead(1, 300), text: "the result of the Go function for program.Slim: field a: 300 does not fit an int of 1 byte"},
		{ints: instead(1, -129), text: "field a: -129 does not fit"},
		{ints: instead(2, 300), want: "program.Slim(a=1, b=300, c=3, d=0.5, out=44)"}, // 44 is what it would be in out
		{ints: instead(2, -1), text: "field b: -1 does not fit an int of 2 bytes"},
		{ints: instead(2, 1<<16), text: "field b: 65536 does not fit an int of 2 bytes"},
		{ints: instead(3, math.MinInt64), want: "program.Slim(a=1, b=2, c=-9223372036854775808, d=0.5, out=44)"},
		{floats: func(float64) float64 { return 1e300 }, text: "field d: 1e+300 does not fit a float of 4 bytes"},
		{floats: func(float64) float64 { return math.Inf(1) }, want: "program.Slim(a=1, b=2, c=3, d=inf, out=44)"},
	} {
		if c.ints == nil {
			c.ints = func(x int64) int64 { return x }
		}
		if c.floats == nil {
			c.floats = func(x float64) float64 { return x }
		}
		v := runtimetest.Get[tvmffi.Any](t, "program.slim")
		x := runtimetest.Must[*tvmffi.Object](t)(tvmffi.As[*tvmffi.Object](v))
		check := func(got *tvmffi.Object, err error) {
			t.Helper()
			switch {
			case c.want == "":
				runtimetest.WantError(t, err, tvmffi.ErrValue, c.text)
			case err != nil || got.String() != c.want:
				t.Errorf("%v, %v, want %s", got, err, c.want)
			}
			got.Release()
		}
		for _, order := range []structural.Order{structural.PreOrder, structural.PostOrder} {
			check(structural.Rewrite(x, order, structural.To(func(x int64) (any, error) { return c.ints(x), nil }), structural.To(func(x float64) (any, error) { return c.floats(x), nil })))
		}
		check(structural.Mutate(x, structural.OnMutate(func(x int64, _ *structural.Mutator) (any, error) { return c.ints(x), nil }),
			structural.OnMutate(func(x float64, _ *structural.Mutator) (any, error) { return c.floats(x), nil })))
		x.Release()
	}
}

// A number of the given graph, or of what a rule makes, is not a cut one: the 1 in a field of one byte is not left of 257.
func TestRewrite_whole(t *testing.T) {
	runtimetest.LoadProgram(t)
	if err := structural.Walk(1, structural.PreOrder); err != nil {
		t.Skip(err) // a library before 0.1.14
	}
	x, y := runtimetest.NewVar(t, "x"), runtimetest.NewVar(t, "y")
	// before returns a Link to f. It has a field of one byte that is 1, and so has slim.
	before := func(f *runtimetest.Func) *runtimetest.Link {
		link := runtimetest.NewChain(t, 1)
		if err := link.SetNext(f); err != nil {
			t.Error(err)
		}
		return link
	}
	slim := runtimetest.Get[tvmffi.Any](t, "program.slim")
	ofX, ofY, ofBoth := runtimetest.NewFunc(t, nil, []any{x}), runtimetest.NewFunc(t, nil, []any{y}), runtimetest.NewFunc(t, nil, []any{x, y})
	fiveFirst := runtimetest.NewFunc(t, nil, []any{5, x})
	linkOfX, linkOfY := before(ofX), before(ofY)
	check := func(name string, got any, err error) {
		t.Helper()
		if err != nil || !strings.Contains(runtimetest.Must[string](t)(tvmffi.Repr(got)), "257") {
			t.Errorf("%s: %v, %v, want one with 257", name, got, err)
			return
		}
		got.(interface{ Release() }).Release()
	}
	for _, c := range []struct {
		name string
		root any
		x, y any
	}{
		{"a copy of a given object", linkOfX, 257, nil},
		{"a new object in what a rule returns", ofBoth, []any{slim}, 257},
		{"a copy of a new object", ofX, []any{linkOfY}, 257},
		{"a copy of a new object, in an object", ofX, linkOfY, 257},
	} {
		instead := func(v *runtimetest.Var) any {
			if v.Name() == "x" {
				return c.x
			}
			return c.y
		}
		for _, order := range []structural.Order{structural.PreOrder, structural.PostOrder} {
			if order == structural.PostOrder && c.root == any(ofX) {
				continue // nothing replaces what is in a result
			}
			got, err := structural.Rewrite(c.root, order, structural.To(func(v *runtimetest.Var) (any, error) { return instead(v), nil }))
			check(c.name, got, err)
		}
	}
	got, err := structural.Mutate(fiveFirst, structural.OnMutate(func(_ int64, m *structural.Mutator) (any, error) {
		return 257, m.SetReplacement(x, slim)
	}))
	check("a replacement", got, err)
	for _, o := range []interface{ Release() }{&slim, linkOfX, linkOfY, ofX, ofY, ofBoth, fiveFirst, x, y} {
		o.Release()
	}
	runtimetest.DropGarbage(t)
}
