package tvmffi_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestRepr(t *testing.T) {
	runtimetest.Balanced(t)
	l := runtimetest.NewLoop(t)
	b := runtimetest.MakeBox(t, 3)
	escaped, err := tvmffi.Repr("\x00")
	runtimetest.Values(t, func(r values.Row, x any) {
		if err == nil && escaped != `"\x00"` && strings.Contains(r.Repr(), `\`) {
			return // an older library
		}
		if text, err := tvmffi.Repr(x); (err != nil) != (r.Text == values.Refused) || err == nil && text != r.Repr() {
			t.Errorf("%s is %q, want %q; %v", r.Name, text, r.Repr(), err)
		}
	})
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
	_, err = tvmffi.Repr(b)
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
	ids, all := []string{}, []tvmffi.Any{}
	runtimetest.Values(t, func(r values.Row, x any) {
		if r.Value == any(values.Loop{}) {
			return
		}
		id := runtimetest.Identity(r, x)
		if x == any(0.0) { // as -0.0
			id = "zero"
		}
		ids, all = append(ids, id), append(all, runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(x)))
		for i, other := range all {
			wantEqual(t, x, other, id == ids[i])
		}
	})
	for _, x := range all {
		x.Release()
	}
	one, two := runtimetest.NewLoop(t), runtimetest.NewLoop(t)
	b := runtimetest.MakeBox(t, 1)
	for _, c := range []struct {
		x, y any
		want bool
	}{
		{map[string]int{"a": 1, "b": 2}, map[string]int{"b": 2, "a": 1}, true}, {map[string]int{"a": 1}, map[string]int{"a": 2}, false},
		{one, two, true}, {one, one, true}, {(*runtimetest.Box)(nil), nil, true}, {b, b, true}, {b, one, false},
	} {
		wantEqual(t, c.x, c.y, c.want)
	}
	runtimetest.EndLoop(t, one)
	runtimetest.EndLoop(t, two)
	b.Release()
	_, err := tvmffi.Equal(b, 1)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	_, err = tvmffi.Hash(b)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
}

// wantEqual compares x with y and y with x. Equal values have one hash, and one place where they have an order.
func wantEqual(t *testing.T, x, y any, want bool) {
	t.Helper()
	there, err := tvmffi.Equal(x, y)
	back, failed := tvmffi.Equal(y, x)
	if there != want || back != want || err != nil || failed != nil {
		t.Errorf("Equal of %v and %v is %t, and %t the other way; %v, %v", x, y, there, back, err, failed)
	}
	if want && runtimetest.Must[uint64](t)(tvmffi.Hash(x)) != runtimetest.Must[uint64](t)(tvmffi.Hash(y)) {
		t.Errorf("the hashes of %v and %v differ", x, y)
	}
	if n, err := tvmffi.Compare(x, y); err == nil && (n == 0) != want {
		t.Errorf("the order of %v and %v is %d", x, y, n)
	}
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
		wantEqual(t, c.x, c.y, c.want)
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
