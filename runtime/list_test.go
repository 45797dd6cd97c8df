package tvmffi_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// The index rules and the texts come from the library.
func TestListMethods(t *testing.T) {
	runtimetest.Balanced(t)
	l := runtimetest.Must[*tvmffi.List[int64]](t)(tvmffi.NewList[int64](1, 2, 3))
	is := func(what string, want ...int64) {
		t.Helper()
		if got := runtimetest.Must[[]int64](t)(l.Slice()); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(l.Append())
	do(l.Append(4, 5, 6))
	is("append", 1, 2, 3, 4, 5, 6)
	do(l.Insert(0, 0))
	do(l.Insert(7, 7))
	is("insert", 0, 1, 2, 3, 4, 5, 6, 7)
	for _, i := range []int{-1, 9, math.MinInt, math.MaxInt, 1 << 60} {
		runtimetest.WantError(t, l.Insert(i, 1), tvmffi.ErrIndex, fmt.Sprintf("IndexError: Index %d out of bounds [0, 8]", i))
	}
	if x := runtimetest.Must[int64](t)(l.Pop()); x != 7 {
		t.Error("pop", x)
	}
	if x := runtimetest.Must[int64](t)(l.PopAt(0)); x != 0 {
		t.Error("pop at", x)
	}
	for _, i := range []int{-1, 6, math.MinInt, 1 << 60} {
		text := fmt.Sprintf("Index %d out of bounds 6", i)
		_, err := l.PopAt(i)
		runtimetest.WantError(t, err, tvmffi.ErrIndex, text)
		runtimetest.WantError(t, l.Delete(i), tvmffi.ErrIndex, text)
		runtimetest.WantError(t, l.Set(i, 1), tvmffi.ErrIndex, text)
	}
	do(l.Delete(5))
	do(l.Reverse())
	is("delete and reverse", 5, 4, 3, 2, 1)
	do(l.DeleteRange(1, 3))
	do(l.DeleteRange(1, 1))
	is("delete a range", 5, 2, 1)
	for _, r := range [][2]int{{2, 1}, {0, 4}, {-1, 1}, {math.MinInt, math.MaxInt}} {
		text := fmt.Sprintf("Erase range [%d, %d) out of bounds 3", r[0], r[1])
		runtimetest.WantError(t, l.DeleteRange(r[0], r[1]), tvmffi.ErrIndex, text)
		runtimetest.WantError(t, l.Replace(r[0], r[1], 1), tvmffi.ErrIndex, text)
	}
	do(l.Replace(0, 1, 10, 11, 12))
	do(l.Replace(5, 5, 99))
	do(l.Replace(3, 4))
	is("replace", 10, 11, 12, 1, 99)
	runtimetest.WantError(t, l.Replace(6, 6, 1), tvmffi.ErrIndex, "Index 6 out of bounds [0, 5]")
	do(l.Reserve(1000))
	do(l.Reserve(0))
	runtimetest.WantError(t, l.Reserve(-1), tvmffi.ErrValue, "the number of elements is -1, expected 0 to")
	runtimetest.WantError(t, l.Reserve(math.MaxInt), tvmffi.ErrValue, "expected 0 to 2199023254528")
	for x, want := range map[int64]bool{99: true, 2: false} {
		if has := runtimetest.Must[bool](t)(l.Contains(x)); has != want {
			t.Errorf("contains %d: %v", x, has)
		}
	}
	do(l.Clear())
	_, err := l.Pop()
	runtimetest.WantError(t, err, tvmffi.ErrIndex, "Index -1 out of bounds 0")
	l.Release()
	for what, err := range map[string]error{
		"append": l.Append(1), "append two": l.Append(1, 2), "insert": l.Insert(0, 1), "delete": l.Delete(0), "range": l.DeleteRange(0, 1),
		"replace": l.Replace(0, 1), "reverse": l.Reverse(), "reserve": l.Reserve(1),
	} {
		if err == nil || !strings.Contains(err.Error(), "was released") {
			t.Errorf("%s returned %v, want an error that the list was released", what, err)
		}
	}
	_, err = l.Pop()
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	var none *tvmffi.List[int64]
	runtimetest.WantError(t, none.Insert(0, 1), tvmffi.ErrType, "the receiver is nil")
	_, err = none.Pop()
	runtimetest.WantError(t, err, tvmffi.ErrType, "the receiver is nil")
}

// A list may take a part of itself, and hold itself.
func TestListAliases(t *testing.T) {
	runtimetest.Balanced(t)
	l := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any](1, "two"))
	if err := l.Append(runtimetest.Must[[]any](t)(l.Slice())...); err != nil || l.Len() != 4 || l.At(3) != "two" {
		t.Error(err)
	}
	if err := l.Append(l); err != nil {
		t.Fatal(err)
	}
	if has := runtimetest.Must[bool](t)(l.Contains(l)); !has {
		t.Error("the list holds itself")
	}
	// A Go type that holds itself cannot take such a list.
	type nested []nested
	inner := runtimetest.Must[*tvmffi.List[any]](t)(tvmffi.NewList[any]())
	if err := inner.Append(inner); err != nil {
		t.Fatal(err)
	}
	v := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(inner))
	_, err := tvmffi.As[nested](v)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "the value contains itself, or is nested deeper than 1000 levels")
	v.Release()
	type table map[string]table
	d := runtimetest.Must[*tvmffi.Dict[string, any]](t)(tvmffi.NewDict(tvmffi.PairsOf[string, any]()))
	if err := d.Set("self", d); err != nil {
		t.Fatal(err)
	}
	v = runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(d))
	_, err = tvmffi.As[table](v)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	v.Release()
	for _, clear := range []func() error{l.Clear, inner.Clear, d.Clear} {
		if err := clear(); err != nil {
			t.Error(err)
		}
	}
	l.Release()
	inner.Release()
	d.Release()
}

// A value that contains itself, directly or not, is an error.
func TestValuesInThemselves(t *testing.T) {
	runtimetest.Balanced(t)
	slice := []any{1, nil}
	slice[1] = slice
	m := map[string]any{"a": 1}
	m["self"] = []any{m}
	var p any
	p = &p
	type deep []deep
	chain := deep{nil}
	chain[0] = chain
	tuple := &tvmffi.Tuple2[int64, any]{A: 1}
	tuple.B = tuple
	items := []any{nil}
	items[0] = tvmffi.Of(items...)
	pairs := []tvmffi.Pair[string, any]{{Key: "k"}}
	pairs[0].Value = tvmffi.PairsOf(pairs...)
	type pointer *pointer
	var q pointer
	q = &q
	for what, c := range map[string]struct {
		value any
		part  string
	}{
		"slice":   {slice, "element 1: the []interface {} contains itself"},
		"map":     {m, `value of key "self": element 0: the map[string]interface {} contains itself`},
		"pointer": {p, "the *interface {} contains itself"},
		"type":    {chain, "element 0: the tvmffi_test.deep contains itself"},
		"tuple":   {tuple, "contains itself"},
		"of":      {tvmffi.Of(items...), "element 0: the []interface {} contains itself"},
		"pairs":   {tvmffi.PairsOf(pairs...), "contains itself"},
		"name":    {q, "contains itself"},
	} {
		_, err := runtimetest.Call("calls.echo", c.value)
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: the error is %v, want one with %q", what, err, c.part)
		}
		_, err = tvmffi.AnyOf(c.value)
		runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	}
	_, err := tvmffi.NewArray(slice...)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	_, err = tvmffi.NewMap(tvmffi.MapOf(m))
	runtimetest.WantError(t, err, tvmffi.ErrValue, "contains itself")
	// The same value twice is not a cycle, and depth has its limit.
	twice := []any{1}
	v := runtimetest.MustCall(t, "calls.echo", []any{twice, twice, map[string]any{"x": twice}})
	v.Release()
	var far any
	for range 999 {
		far = []any{far}
	}
	v = runtimetest.MustCall(t, "calls.echo", far)
	v.Release()
	far = []any{[]any{far}}
	_, err = runtimetest.Call("calls.echo", far)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "the value is nested deeper than 1000 levels")
}

func TestSequences(t *testing.T) {
	runtimetest.Balanced(t)
	for _, n := range []int{0, 1, 3, 64, 65, 1000} {
		ints, floats, bools, texts, small := make([]int64, n), make([]float64, n), make([]bool, n), make([]string, n), make([]int32, n)
		anys := make([]any, n)
		for i := range n {
			ints[i], floats[i], bools[i], small[i] = int64(i)-3, float64(i)/2, i%3 == 0, int32(-i)
			texts[i] = strings.Repeat("é\x00", i%5) + fmt.Sprint(i)
			anys[i] = []any{ints[i], floats[i], bools[i], texts[i], nil}[i%5]
		}
		checkSequences(t, ints)
		checkSequences(t, floats)
		checkSequences(t, bools)
		checkSequences(t, texts)
		checkSequences(t, small)
		checkSequences(t, anys)
	}
	a := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](1, true, 1.5, "text", nil))
	for x, want := range map[any]bool{int64(1): true, true: true, 1.5: true, "text": true, nil: true, int64(2): false, false: false, 1.0: false, "Text": false} {
		if has := runtimetest.Must[bool](t)(a.Contains(x)); has != want {
			t.Errorf("contains %v: %v", x, has)
		}
	}
	ones := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](1))
	for x, want := range map[any]bool{int64(1): true, true: false, 1.0: false} {
		if has := runtimetest.Must[bool](t)(ones.Contains(x)); has != want {
			t.Errorf("1 is %T: %v", x, has)
		}
	}
	both := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.Concat(a, nil, ones, a))
	if both.Len() != 11 || both.At(5) != int64(1) || both.At(9) != "text" {
		t.Errorf("Concat gives %v", both)
	}
	a.Release()
	_, err := tvmffi.Concat(ones, a)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "Array: the receiver was released")
	both.Release()
	ones.Release()
}

// An element that must be there is there, or the library's error says so.
func TestMustGet(t *testing.T) {
	runtimetest.Balanced(t)
	m := runtimetest.Must[*tvmffi.Map[string, int64]](t)(tvmffi.NewMap(tvmffi.MapOf(map[string]int64{"a": 1})))
	d := runtimetest.Must[*tvmffi.Dict[float64, string]](t)(tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[float64, string]{Key: 0.5, Value: "half"})))
	if m.MustGet("a") != 1 || d.MustGet(0.5) != "half" {
		t.Error("what is there")
	}
	runtimetest.WantPanic(t, tvmffi.ErrKey, "KeyError: Dict: there is no key \"1\"", func() { d.MustGet(1) })
	_, err := runtimetest.Call("ffi.MapGetItem", m, "b")
	runtimetest.WantError(t, err, tvmffi.ErrKey, "key is not in Map")
	_, err = runtimetest.Call("ffi.DictGetItem", d, 1.0)
	runtimetest.WantError(t, err, tvmffi.ErrKey, "key is not in Map") // so says the library
	m.Release()
	d.Release()
}

func TestMapMethods(t *testing.T) {
	runtimetest.Balanced(t)
	numbers := runtimetest.Must[*tvmffi.Map[any, any]](t)(tvmffi.NewMap(tvmffi.PairsOf(
		tvmffi.Pair[any, any]{Key: 1, Value: "int"}, tvmffi.Pair[any, any]{Key: true, Value: "bool"}, tvmffi.Pair[any, any]{Key: 1.5, Value: "float"})))
	for key, want := range map[any]string{1: "int", true: "bool", 1.5: "float"} {
		if v, ok := numbers.Get(key); !ok || v != want {
			t.Errorf("the key %v gives %v, want %v", key, v, want)
		}
	}
	runtimetest.WantPanic(t, tvmffi.ErrType, "Go type chan int", func() { numbers.Get(make(chan int)) })
	numbers.Release()
	// Values that are objects go with the loop, whatever they are.
	b := runtimetest.MakeBox(t, 1)
	boxes := make([]tvmffi.Pair[int64, *runtimetest.Box], 100)
	for i := range boxes {
		boxes[i] = tvmffi.Pair[int64, *runtimetest.Box]{Key: int64(i), Value: b}
	}
	held := runtimetest.Must[*tvmffi.Map[int64, *runtimetest.Box]](t)(tvmffi.NewMap(tvmffi.PairsOf(boxes...)))
	var lent *runtimetest.Box
	for x := range held.Values() {
		if lent = x; x.I64() != 1 {
			t.Error("a borrowed value")
		}
		break
	}
	if memstat.UseCount(b) != 101 {
		t.Errorf("use count %d", memstat.UseCount(b))
	}
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "Retain keeps", func() { lent.I64() })
	held.Release()
	if memstat.UseCount(b) != 1 {
		t.Errorf("use count %d", memstat.UseCount(b))
	}
	b.Release()
}
