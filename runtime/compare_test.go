package tvmffi_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestRepr(t *testing.T) {
	runtimetest.Balanced(t)
	l := runtimetest.NewLoop(t)
	b := runtimetest.MakeBox(t, 3)
	for _, c := range []struct {
		x    any
		want string
	}{
		{nil, "None"}, {true, "True"}, {7, "7"}, {2.5, "2.5"}, {"ab", `"ab"`}, {[]byte("x"), `b"x"`}, {tvmffi.Float32, "float32"}, {tvmffi.CPU, "cpu:0"},
		{[]any{1, []any{2}}, "(1, (2,))"}, {map[string]any{"k": nil}, `{"k": None}`}, {(*runtimetest.Box)(nil), "None"},
	} {
		if s, err := tvmffi.Repr(c.x); s != c.want || err != nil {
			t.Errorf("%v is %q, want %q; %v", c.x, s, c.want, err)
		}
	}
	for _, x := range []any{l, b} {
		s, err := tvmffi.Repr(x)
		if err != nil || s != fmt.Sprintf("%v", x) || s != fmt.Sprint(x) {
			t.Errorf("Repr returned %q, %v, want the same as fmt: %v", s, err, x)
		}
	}
	if s := l.String(); !strings.HasPrefix(s, "[1, ...") {
		t.Errorf("a list in itself is %q", s)
	}
	runtimetest.EndLoop(t, l)
	b.Release()
	_, err := tvmffi.Repr(b)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	_, err = tvmffi.Repr(make(chan int))
	runtimetest.WantError(t, err, tvmffi.ErrType, "chan int")
}

func TestEqual(t *testing.T) {
	runtimetest.Balanced(t)
	if _, err := tvmffi.Equal(1, 1); runtimetest.Older(t, "0.1.12", err) {
		_, err = tvmffi.Compare(1, 1)
		runtimetest.Older(t, "0.1.12", err)
		_, err = tvmffi.Hash(1)
		runtimetest.Older(t, "0.1.12", err)
		return
	}
	nan := math.NaN()
	one, two := runtimetest.NewLoop(t), runtimetest.NewLoop(t)
	b := runtimetest.MakeBox(t, 1)
	for _, c := range []struct {
		x, y any
		want bool
	}{
		{1, 1, true}, {1, 1.0, false}, {1, true, false}, {"a", "a", true}, {"a long text, on the heap", "a long text, on the heap", true},
		{nan, nan, true}, {nan, 1.0, false}, {nil, nil, true}, {nil, 0, false}, {[]any{1, nan}, []any{1, nan}, true}, {[]any{1}, []any{1, 2}, false},
		{map[string]int{"a": 1, "b": 2}, map[string]int{"b": 2, "a": 1}, true}, {map[string]int{"a": 1}, map[string]int{"a": 2}, false},
		{[]byte("x"), []byte("x"), true}, {tvmffi.Float32, tvmffi.Float32, true}, {one, two, true}, {one, one, true}, {(*runtimetest.Box)(nil), nil, true}, {b, b, true}, {b, one, false},
	} {
		if got, err := tvmffi.Equal(c.x, c.y); got != c.want || err != nil {
			t.Errorf("Equal(%v, %v) = %v, %v", c.x, c.y, got, err)
		}
		if got, err := tvmffi.Equal(c.y, c.x); got != c.want || err != nil {
			t.Errorf("Equal(%v, %v) = %v, %v", c.y, c.x, got, err)
		}
		if c.want && c.x != any(b) {
			h := runtimetest.Must[uint64](t)(tvmffi.Hash(c.x))
			if g := runtimetest.Must[uint64](t)(tvmffi.Hash(c.y)); g != h {
				t.Errorf("the hashes of %v and %v differ", c.x, c.y)
			}
		}
	}
	runtimetest.EndLoop(t, one)
	runtimetest.EndLoop(t, two)
	b.Release()
	_, err := tvmffi.Equal(b, 1)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	_, err = tvmffi.Hash(b)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
}

// TestEqualWithoutContents compares values of which the library sees nothing, and takes all of one type for equal.
func TestEqualWithoutContents(t *testing.T) {
	runtimetest.Balanced(t)
	if _, err := tvmffi.Equal(1, 1); runtimetest.Older(t, "0.1.12", err) {
		return
	}
	tensor := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1}))
	other := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{2}))
	one, two := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() int64 { return 1 })), runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() int64 { return 2 }))
	value, another := runtimetest.Must[*tvmffi.Opaque](t)(tvmffi.NewOpaque(1)), runtimetest.Must[*tvmffi.Opaque](t)(tvmffi.NewOpaque(2))
	e := tvmffi.NewError("ValueError", "a message")
	type rows = map[any]any
	for _, c := range []struct {
		x, y any
		want bool
	}{
		{tensor, tensor, true}, {tensor, other, false}, {one, one, true}, {one, two, false}, {value, value, true}, {value, another, false},
		{e, e, true}, {e, tvmffi.NewError("ValueError", "a message"), true}, {e, tvmffi.NewError("ValueError", "another"), false}, {e, tvmffi.NewError("KeyError", "a message"), false},
		{[]any{1, tensor, one}, []any{1, tensor, one}, true}, {[]any{tensor, other}, []any{other, tensor}, false}, {[]any{1, []any{one}}, []any{1, []any{two}}, false},
		{rows{"a": tensor, "b": other, "c": 1}, rows{"c": 1, "b": other, "a": tensor}, true}, {rows{"a": tensor, "b": other}, rows{"a": other, "b": tensor}, false},
		{rows{1: []any{tensor}, 2.5: nil}, rows{1: []any{other}, 2.5: nil}, false}, {tensor, one, false}, {tensor, nil, false},
	} {
		if got, err := tvmffi.Equal(c.x, c.y); got != c.want || err != nil {
			t.Errorf("Equal(%v, %v) = %v, %v", c.x, c.y, got, err)
		}
		if c.want && runtimetest.Must[uint64](t)(tvmffi.Hash(c.x)) != runtimetest.Must[uint64](t)(tvmffi.Hash(c.y)) {
			t.Errorf("the hashes of %v and %v differ", c.x, c.y)
		}
	}
	if n, err := tvmffi.Compare([]any{tensor}, []any{tensor}); n != 0 || err != nil {
		t.Errorf("the order of a tensor and itself is %d, %v", n, err)
	}
	_, err := tvmffi.Compare([]any{tensor}, []any{other})
	runtimetest.WantError(t, err, tvmffi.ErrType, "Cannot order objects in which nothing can be compared")
	shared := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any](tensor))
	for range 40 { // 2^40 paths
		outer := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any](shared, shared))
		shared.Release()
		shared = outer
	}
	_, err = tvmffi.Equal(shared, shared)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "shares parts with itself")
	for _, x := range []interface{ Release() }{tensor, other, one, two, value, another, shared} {
		x.Release()
	}
}

func TestCompare(t *testing.T) {
	runtimetest.Balanced(t)
	if _, err := tvmffi.Compare(1, 1); runtimetest.Older(t, "0.1.12", err) {
		return
	}
	for _, c := range []struct {
		x, y any
		want int
	}{{1, 2, -1}, {2, 2, 0}, {"b", "a", 1}, {"1234567", "12345678", -1}, {nil, 0, -1}, {[]any{1, 2}, []any{1, 3}, -1}, {[]any{1}, []any{1, 0}, -1}, {false, true, -1}, {math.Inf(1), 0.0, 1}} {
		if got, err := tvmffi.Compare(c.x, c.y); got != c.want || err != nil {
			t.Errorf("Compare(%v, %v) = %d, %v", c.x, c.y, got, err)
		}
		if got, err := tvmffi.Compare(c.y, c.x); got != -c.want || err != nil {
			t.Errorf("Compare(%v, %v) = %d, %v", c.y, c.x, got, err)
		}
	}
	for _, c := range []struct {
		x, y any
		want string
	}{{math.NaN(), 1.0, "Cannot order NaN"}, {1, "a", "Cannot compare values of different types"}, {map[string]int{"a": 1}, map[string]int{"a": 2}, "Cannot order Map"}} {
		_, err := tvmffi.Compare(c.x, c.y)
		runtimetest.WantError(t, err, tvmffi.ErrType, c.want)
	}
	one, two := runtimetest.NewLoop(t), runtimetest.NewLoop(t)
	_, err := tvmffi.Compare(one, two)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "cyclic reference")
	runtimetest.EndLoop(t, one)
	runtimetest.EndLoop(t, two)
	rows := []any{"c", "a", "b"}
	slices.SortFunc(rows, func(x, y any) int { return runtimetest.Must[int](t)(tvmffi.Compare(x, y)) })
	if fmt.Sprint(rows) != "[a b c]" {
		t.Errorf("the sorted rows are %v, want [a b c]", rows)
	}
}
