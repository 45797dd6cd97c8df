package tvmffi_test

import (
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestArrayOfCpp(t *testing.T) {
	runtimetest.Balanced(t)
	for _, n := range []int64{0, 1, 10_000} {
		big := runtimetest.Get[*tvmffi.Array[string]](t, "calls.strings", n)
		if big.Len() != int(n) || n > 0 && big.At(int(n-1)) != fmt.Sprint("the string with the number ", n-1) {
			t.Errorf("%d strings", n)
		}
		big.Release()
	}
}

// One long string among short ones costs its size, not the size of many such.
func TestLongTextAmongShort(t *testing.T) {
	runtimetest.Load(t)
	texts := slices.Repeat([]string{"short"}, 64)
	texts[0] = strings.Repeat("long", 1<<18)
	a := runtimetest.Must[*tvmffi.Array[string]](t)(tvmffi.NewArray(texts...))
	defer a.Release()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, s := range a.All() {
		if s != texts[i] {
			t.Fatalf("text %d has %d bytes", i, len(s))
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("reading a text of 1 MiB and 63 short ones takes %d bytes", n)
	}
}

func TestArrayOfObjects(t *testing.T) {
	runtimetest.Balanced(t)
	a := runtimetest.Get[*tvmffi.Array[*runtimetest.Box]](t, "calls.boxes", 5)
	before := runtimetest.LiveBoxes(t)
	var kept, lent *runtimetest.Box
	for i, b := range a.All() {
		if b.I64() != int64(i) || memstat.UseCount(b) != 2 {
			t.Errorf("element %d has %d references, want one of the array and one of the loop", b.I64(), memstat.UseCount(b))
		}
		if i == 2 {
			lent, kept = b, tvmffi.Retain(b)
		}
	}
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "for a step of a loop (tvmffi.Retain keeps an object)", func() { lent.I64() })
	at := a.At(2)
	if !tvmffi.Same(at, kept) || memstat.UseCount(at) != 3 {
		t.Errorf("use count %d", memstat.UseCount(at))
	}
	s := runtimetest.Must[[]*runtimetest.Box](t)(a.Slice())
	a.Release()
	at.Release()
	if runtimetest.LiveBoxes(t) != before || s[4].I64() != 4 || kept.I64() != 2 {
		t.Error("slices own their elements")
	}
	for _, b := range s {
		b.Release()
	}
	if n := before - runtimetest.LiveBoxes(t); n != 4 {
		t.Errorf("%d boxes ended", n)
	}
	kept.Release()
	// A break and a panic in the loop end the loan too.
	a = runtimetest.Get[*tvmffi.Array[*runtimetest.Box]](t, "calls.boxes", 2)
	for _, b := range a.All() {
		lent = b
		break
	}
	if memstat.UseCount(lent) != 0 {
		t.Error("borrowed after break")
	}
	func() {
		defer func() { recover() }()
		for _, b := range a.All() {
			lent = b
			panic("in the loop")
		}
	}()
	if memstat.UseCount(lent) != 0 {
		t.Error("borrowed after a panic")
	}
	a.Release()
	runtimetest.MustCall(t, "calls.release_on_thread", runtimetest.Must[*tvmffi.Array[*runtimetest.Box]](t)(tvmffi.As[*tvmffi.Array[*runtimetest.Box]](runtimetest.MustCall(t, "calls.boxes", 50))))
	runtimetest.DropGarbage(t)
}

func TestWrongElements(t *testing.T) {
	runtimetest.Balanced(t)
	a := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(tvmffi.Of[any](1, "two", nil)))
	ints := runtimetest.Unchecked[*tvmffi.Array[int64]](t, a)
	if ints.At(0) != 1 {
		t.Error("the good element")
	}
	runtimetest.WantPanic(t, tvmffi.ErrType, "TypeError: Array[1]: expected int, got ffi.SmallStr", func() { ints.At(1) })
	runtimetest.WantPanic(t, tvmffi.ErrType, "TypeError: Array[1]: expected int, got ffi.SmallStr", func() {
		for range ints.All() {
		}
	})
	_, err := ints.Slice()
	runtimetest.WantError(t, err, tvmffi.ErrType, "TypeError: Array[1]: expected int, got ffi.SmallStr")
	a.Release()
	_, err = tvmffi.NewArray[any](1, make(chan int))
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 1: Go type chan int")
	_, err = tvmffi.NewArray[any]([]any{1, []any{make(chan int)}})
	runtimetest.WantError(t, err, tvmffi.ErrType, "element 0: element 1: element 0: Go type chan int")
	_, err = tvmffi.NewMap(tvmffi.MapOf(map[string]any{"a": 1, "b": make(chan int)}))
	runtimetest.WantError(t, err, tvmffi.ErrType, `value of key "b": Go type chan int`)
	m := runtimetest.Unchecked[*tvmffi.Map[string, string]](t, runtimetest.MustCall(t, "calls.table", 2))
	runtimetest.WantPanic(t, tvmffi.ErrType, `TypeError: Map["key 0"]: expected ffi.String, got int`, func() { m.Get("key 0") })
	runtimetest.WantPanic(t, tvmffi.ErrType, `TypeError: Map["key 0"]: expected ffi.String, got int`, func() {
		for range m.All() {
		}
	})
	_, err = m.Map()
	runtimetest.WantError(t, err, tvmffi.ErrType, `Map["key 0"]: expected ffi.String, got int`)
	m.Release()
	keys := runtimetest.Unchecked[*tvmffi.Map[int64, int64]](t, runtimetest.MustCall(t, "calls.table", 2))
	runtimetest.WantPanic(t, tvmffi.ErrType, "Map key 0: expected int, got ", func() {
		for range keys.All() {
		}
	})
	keys.Release()
	_, err = runtimetest.Call("calls.echo_nested", [][]int64{{1}})
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.echo_nested", "Array[index 0: Array[index 0: int]]")
}

// TestWrongElementAnywhere: numbers are read many at a time; each stays with its index.
func TestWrongElementAnywhere(t *testing.T) {
	runtimetest.Balanced(t)
	for n := range 20 {
		want := make([]float64, n)
		for i := range want {
			want[i] = float64(i) + 0.5
		}
		for wrong := range n + 1 {
			items := make([]any, n)
			for i, x := range want {
				items[i] = x
			}
			if wrong < n {
				items[wrong] = "wrong"
			}
			a := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(tvmffi.Of(items...)))
			numbers := runtimetest.Unchecked[*tvmffi.Array[float64]](t, a)
			got := make([]float64, n+1)
			copied, err := numbers.CopyTo(got)
			if copied != wrong || !slices.Equal(got[:wrong], want[:wrong]) || got[wrong] != 0 {
				t.Errorf("%d elements, of which %d is wrong: %d were copied, %v", n, wrong, copied, got)
			}
			if wrong < n {
				runtimetest.WantError(t, err, tvmffi.ErrType, fmt.Sprintf("Array[%d]: expected float, got ", wrong))
			} else if err != nil {
				t.Error(err)
			}
			if less, err := numbers.CopyTo(got[:wrong]); less != wrong || err != nil {
				t.Errorf("%d elements before the wrong one: %d, %v", wrong, less, err)
			}
			all, err := numbers.Slice()
			if (err == nil) != (wrong == n) || err == nil && !slices.Equal(all, want) {
				t.Errorf("%d elements, of which %d is wrong: %v, %v", n, wrong, all, err)
			}
			a.Release()
			numbers.Release()
		}
	}
}

func TestList(t *testing.T) {
	runtimetest.Balanced(t)
	l := runtimetest.Must[*tvmffi.List[int64]](t)(tvmffi.NewList[int64](1, 2))
	for _, step := range []error{l.Append(3), l.Set(0, 10)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	runtimetest.MustCall(t, "calls.append", l, 4) // the callee's write is seen
	if s := runtimetest.Must[[]int64](t)(l.Slice()); !slices.Equal(s, []int64{10, 2, 3, 4}) || l.Len() != 4 || l.At(3) != 4 {
		t.Errorf("the list is %v, want [10 2 3 4]", s)
	}
	same := runtimetest.Get[*tvmffi.List[int64]](t, "calls.echo_list", l)
	if err := same.Append(5); err != nil || l.Len() != 5 {
		t.Error("both refer to one list")
	}
	same.Release()
	// The loop sees elements that it appends, and none that it removes.
	n := 0
	for i, x := range l.All() {
		if n++; i < 3 {
			if err := l.Append(x + 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 8 {
		t.Errorf("%d steps", n)
	}
	n = 0
	for range l.All() {
		if n++; n == 2 {
			if err := l.Clear(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 2 || l.Len() != 0 {
		t.Errorf("%d steps", n)
	}
	for i := range int64(1000) {
		if err := l.Append(i); err != nil {
			t.Fatal(err)
		}
	}
	if l.At(999) != 999 {
		t.Error("1000 elements")
	}
	l.Release()
	runtimetest.WantError(t, l.Append(1), tvmffi.ErrRuntime, "ffi.ListAppend: the receiver was released")
	runtimetest.WantError(t, l.Set(0, 1), tvmffi.ErrRuntime, "ffi.ListSetItem", "was released")
	runtimetest.WantError(t, l.Clear(), tvmffi.ErrRuntime, "ffi.ListClear", "was released")
	var none *tvmffi.List[int64]
	runtimetest.WantError(t, none.Append(1), tvmffi.ErrType, "ffi.ListAppend: the receiver is nil")
	boxes := runtimetest.Must[*tvmffi.List[*runtimetest.Box]](t)(tvmffi.NewList[*runtimetest.Box]())
	b := runtimetest.MakeBox(t, 1)
	if err := boxes.Append(b); err != nil || memstat.UseCount(b) != 2 {
		t.Error(err)
	}
	if err := boxes.Set(0, nil); err != nil || memstat.UseCount(b) != 1 || boxes.At(0) != nil {
		t.Error("a nil element")
	}
	boxes.Release()
	b.Release()
	runtimetest.MustCall(t, "calls.append", tvmffi.Of[int64](1), 1) // the library makes a List of an Array
}

func TestMap(t *testing.T) {
	runtimetest.Balanced(t)
	m := runtimetest.Must[*tvmffi.Map[string, int64]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[string, int64]{Key: "z", Value: 1},
		tvmffi.Pair[string, int64]{Key: "a text of more than seven bytes", Value: 2}, tvmffi.Pair[string, int64]{Key: "z", Value: 3})))
	var keys []string
	for k, v := range m.All() {
		keys = append(keys, fmt.Sprint(k, v))
	}
	if !slices.Equal(keys, []string{"z3", "a text of more than seven bytes2"}) || m.Len() != 2 {
		t.Errorf("order: %q", keys)
	}
	if v, ok := m.Get("none"); ok || v != 0 {
		t.Errorf("an absent key gives %d, %v, want 0, false", v, ok)
	}
	g := runtimetest.Must[map[string]int64](t)(m.Map())
	if !maps.Equal(g, map[string]int64{"z": 3, "a text of more than seven bytes": 2}) {
		t.Errorf("the Go map is %v", g)
	}
	m.Release()
	for _, n := range []int{0, 1, 4, 5, 1000} {
		m := runtimetest.Get[*tvmffi.Map[string, int64]](t, "calls.table", n)
		i := int64(0)
		for k, v := range m.All() {
			if k != fmt.Sprint("key ", i) || v != i {
				t.Fatalf("entry %d of %d: %q, %d", i, n, k, v)
			}
			i++
		}
		if i != int64(n) || m.Len() != n {
			t.Errorf("%d entries of %d", i, n)
		}
		m.Release()
	}
	// MapOf sorts, so that the order is always the same.
	for range 5 {
		v := runtimetest.MustCall(t, "calls.echo", tvmffi.MapOf(map[int64]string{3: "c", -1: "a", 2: "b"}))
		var order []int64
		sorted := runtimetest.Must[*tvmffi.Map[int64, string]](t)(tvmffi.As[*tvmffi.Map[int64, string]](v))
		for k := range sorted.All() {
			order = append(order, k)
		}
		if !slices.Equal(order, []int64{-1, 2, 3}) {
			t.Errorf("the keys are yielded as %v, want [-1 2 3]", order)
		}
		v.Release()
	}
	flags := runtimetest.Must[*tvmffi.Map[bool, int64]](t)(tvmffi.NewMap(tvmffi.MapOf(map[bool]int64{true: 1, false: 0})))
	if v, ok := flags.Get(true); !ok || v != 1 || flags.Len() != 2 {
		t.Error("bool keys")
	}
	flags.Release()
	mixed := runtimetest.Must[*tvmffi.Map[tvmffi.Any, tvmffi.Any]](t)(tvmffi.NewMap(tvmffi.PairsOf[tvmffi.Any, tvmffi.Any]()))
	if mixed.Len() != 0 {
		t.Error("empty")
	}
	mixed.Release()
}

// Keys of every type have an order, so that a Go map gives the same Map each time.
func TestGoMap_order(t *testing.T) {
	runtimetest.Balanced(t)
	type pair struct {
		A string `ffi:"a"`
		B bool   `ffi:"b"`
	}
	arrays, structs, times, complexes, pointers, any1, bigs := map[[2]int]int{}, map[pair]struct{}{}, map[time.Time]int{}, map[complex64]int{}, map[*string]int{}, map[any]int{}, map[*big.Int]struct{}{}
	for i := range 20 {
		text := strconv.Itoa(i * 7 % 20)
		arrays[[2]int{i / 4, -i}] = i
		structs[pair{text, i%2 == 0}] = struct{}{}
		times[time.Unix(int64(i/2), 0).In(time.FixedZone("", i%2))] = i
		complexes[complex(float32(i/3), float32(-i))] = i
		pointers[&text] = i
		any1[[]any{i, text, [1]string{text}, float32(i), nil}[i%5]] = i
		bigs[big.NewInt(int64(100-i))] = struct{}{}
	}
	for _, m := range []any{arrays, structs, times, complexes, pointers, any1, bigs} {
		first := ""
		for range 10 {
			text := runtimetest.Must[string](t)(tvmffi.Repr(m))
			if first == "" {
				first = text
			}
			if text != first {
				t.Errorf("%T was %s, and then %s", m, first, text)
				break
			}
		}
	}
}

func TestMapOfObjects(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 7)
	m := runtimetest.Must[*tvmffi.Map[string, *runtimetest.Box]](t)(tvmffi.NewMap(tvmffi.MapOf(map[string]*runtimetest.Box{"b": b, "none": nil})))
	if n := memstat.UseCount(b); n != 2 {
		t.Errorf("use count %d", n)
	}
	var lent *runtimetest.Box
	for k, v := range m.All() {
		if k == "b" {
			lent = v
		} else if v != nil {
			t.Error("None")
		}
	}
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "tvmffi.Retain keeps", func() { lent.I64() })
	v, ok := m.Get("b")
	if !ok || v.I64() != 7 || memstat.UseCount(b) != 3 {
		t.Errorf("use count %d", memstat.UseCount(b))
	}
	v.Release()
	g := runtimetest.Must[map[string]*runtimetest.Box](t)(m.Map())
	m.Release()
	if g["b"].I64() != 7 || g["none"] != nil || memstat.UseCount(b) != 2 {
		t.Error("a Go map owns its objects")
	}
	g["b"].Release()
	keyed := runtimetest.Must[*tvmffi.Map[*runtimetest.Box, int64]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[*runtimetest.Box, int64]{Key: b, Value: 1})))
	if n, ok := keyed.Get(b); !ok || n != 1 {
		t.Error("an object as a key")
	}
	byBox := runtimetest.Must[map[*runtimetest.Box]int64](t)(keyed.Map())
	for k := range byBox {
		if memstat.UseCount(k) == 0 || k.I64() != 7 {
			t.Error("the keys of a Go map own their objects too")
		}
		k.Release()
	}
	keyed.Release()
	if n := memstat.UseCount(b); n != 1 {
		t.Errorf("use count %d", n)
	}
	b.Release()
}

func TestDict(t *testing.T) {
	runtimetest.Balanced(t)
	d := runtimetest.Must[*tvmffi.Dict[string, int64]](t)(tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"a": 1, "b": 2})))
	if err := d.Set("c", 3); err != nil {
		t.Fatal(err)
	}
	runtimetest.MustCall(t, "calls.put", d, "d", 4)
	if v, ok := d.Get("d"); !ok || v != 4 || d.Len() != 4 {
		t.Errorf("d is %d, %v in a Dict of %d items, want 4 in one of 4", v, ok, d.Len())
	}
	if was, err := d.Delete("a"); err != nil || !was {
		t.Errorf("Delete returned %v, %v, want true", was, err)
	}
	if was, err := d.Delete("a"); err != nil || was {
		t.Errorf("Delete again returned %v, %v, want false", was, err)
	}
	if g := runtimetest.Must[map[string]int64](t)(d.Map()); !maps.Equal(g, map[string]int64{"b": 2, "c": 3, "d": 4}) {
		t.Errorf("the Go map is %v, want b, c and d", g)
	}
	if err := d.Clear(); err != nil || d.Len() != 0 {
		t.Error(err)
	}
	d.Release()
	runtimetest.WantError(t, d.Set("x", 1), tvmffi.ErrRuntime, "ffi.DictSetItem", "was released")
	runtimetest.WantError(t, d.Clear(), tvmffi.ErrRuntime, "ffi.DictClear", "was released")
	var none *tvmffi.Dict[string, int64]
	runtimetest.WantError(t, none.Set("x", 1), tvmffi.ErrType, "ffi.DictSetItem: the receiver is nil")
}

// A dict that changes in the loop gives some entries or an error, and no more.
func TestDictChangesInLoop(t *testing.T) {
	for _, n := range []int{3, 100} {
		for what, change := range map[string]func(d *tvmffi.Dict[int64, string], k int64) error{
			"delete this": func(d *tvmffi.Dict[int64, string], k int64) error { _, err := d.Delete(k); return err },
			"delete next": func(d *tvmffi.Dict[int64, string], k int64) error { _, err := d.Delete(k + 1); return err },
			"clear":       func(d *tvmffi.Dict[int64, string], k int64) error { return d.Clear() },
			"grow": func(d *tvmffi.Dict[int64, string], k int64) error {
				for i := range int64(500) {
					if err := d.Set(1000+i, strings.Repeat("x", 20)); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			runtimetest.Balanced(t)
			g := map[int64]string{}
			for i := range int64(n) {
				g[i] = fmt.Sprint("the value of key ", i)
			}
			d := runtimetest.Must[*tvmffi.Dict[int64, string]](t)(tvmffi.NewDict(tvmffi.MapOf(g)))
			steps := 0
			for k, v := range d.All() {
				if steps++; k < 1000 && v != g[k] {
					t.Errorf("%s: value %q of key %d", what, v, k)
				}
				if err := change(d, k); err != nil {
					t.Errorf("%s fails: %v", what, err)
				}
			}
			if steps == 0 || steps > n {
				t.Errorf("%s: %d steps", what, steps)
			}
			d.Release()
		}
	}
}

func TestTuples(t *testing.T) {
	runtimetest.Balanced(t)
	type six = tvmffi.Tuple6[int64, string, bool, float64, []int64, *int64]
	in := six{A: 1, B: "b", C: true, D: 0.5, E: []int64{1}, F: nil}
	v := runtimetest.MustCall(t, "calls.echo", in)
	if got, err := tvmffi.As[six](v); err != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("the struct came back as %+v, %v, want %+v", got, err, in)
	}
	_, err := tvmffi.As[tvmffi.Tuple2[int64, string]](v)
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected Tuple<int, ffi.String>, got an array of 6 elements")
	_, err = tvmffi.As[tvmffi.Tuple6[int64, int64, bool, float64, []int64, *int64]](v)
	runtimetest.WantError(t, err, tvmffi.ErrType, "tuple element 1: expected int, got ffi.SmallStr")
	v.Release()
	_, err = tvmffi.As[tvmffi.Tuple1[int64]](runtimetest.MustCall(t, "calls.echo", 1))
	runtimetest.WantError(t, err, tvmffi.ErrType, "expected Tuple<int>, got int")
	for _, x := range []any{
		tvmffi.Tuple1[int64]{A: 1}, tvmffi.Tuple3[int64, int64, int64]{A: 1, B: 2, C: 3}, tvmffi.Tuple4[int64, int64, int64, int64]{D: 4},
		tvmffi.Tuple5[int64, int64, int64, int64, int64]{E: 5}, tvmffi.Tuple7[int64, int64, int64, int64, int64, int64, int64]{G: 7},
		tvmffi.Tuple8[int64, int64, int64, int64, int64, int64, int64, string]{H: "eight"},
	} {
		v := runtimetest.MustCall(t, "calls.echo", x)
		if n := v.Value().(*tvmffi.Array[tvmffi.Any]).Len(); n != reflect.TypeOf(x).NumField() {
			t.Errorf("%T: %d elements", x, n)
		}
		v.Release()
	}
	_, err = runtimetest.Call("calls.echo_tuple", tvmffi.Tuple2[string, string]{A: "a", B: "b"})
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.echo_tuple")
	_, err = runtimetest.Call("calls.echo", tvmffi.Tuple2[int64, any]{A: 1, B: make(chan int)})
	runtimetest.WantError(t, err, tvmffi.ErrType, "tuple element 1: Go type chan int")
}

type IntOrString struct{ variantBase }

type variantBase = tvmffi.Variant

func TestVariants(t *testing.T) {
	runtimetest.Balanced(t)
	for _, x := range []IntOrString{{tvmffi.VariantOf[int64](3)}, {tvmffi.VariantOf("text of more than seven bytes")}, {}} {
		name := "calls.echo_variant"
		if x == (IntOrString{}) {
			name = "calls.echo"
		}
		v := runtimetest.MustCall(t, name, x)
		got := runtimetest.Must[IntOrString](t)(tvmffi.As[IntOrString](v))
		i, isInt := tvmffi.VariantAs[int64](got.variantBase)
		s, isString := tvmffi.VariantAs[string](got.variantBase)
		wi, wasInt := tvmffi.VariantAs[int64](x.variantBase)
		ws, wasString := tvmffi.VariantAs[string](x.variantBase)
		if i != wi || s != ws || isInt != wasInt || isString != wasString {
			t.Errorf("%v came back as %v", x, got)
		}
		v.Release()
	}
	_, err := runtimetest.Call("calls.echo_variant", IntOrString{tvmffi.VariantOf(1.5)})
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.echo_variant")
	b := runtimetest.MakeBox(t, 1)
	v := runtimetest.MustCall(t, "calls.echo_variant_box", IntOrString{tvmffi.VariantOf(b)})
	got := runtimetest.Must[IntOrString](t)(tvmffi.As[IntOrString](v))
	if x, ok := tvmffi.VariantAs[*runtimetest.Box](got.variantBase); !ok || !tvmffi.Same(x, b) || got.TypeKey() != "calls.Box" {
		t.Error("an object in a variant")
	} else {
		x.Release()
	}
	v.Release()
	b.Release()
	runtimetest.DropGarbage(t)
}

func TestNestedContainers(t *testing.T) {
	runtimetest.Balanced(t)
	type deep = map[string][][]tvmffi.Tuple2[int64, *string]
	s := "a text of more than seven bytes"
	in := deep{"x": {{{A: 1, B: &s}}, {}}, "y": {}}
	v := runtimetest.MustCall(t, "calls.echo", in)
	if got, err := tvmffi.As[deep](v); err != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("the value came back as %v, %v, want %v", got, err, in)
	}
	m := runtimetest.Must[*tvmffi.Map[string, *tvmffi.Array[*tvmffi.Array[tvmffi.Any]]]](t)(tvmffi.As[*tvmffi.Map[string, *tvmffi.Array[*tvmffi.Array[tvmffi.Any]]]](v))
	x, _ := m.Get("x")
	row := x.At(0)
	if x.Len() != 2 || row.Len() != 1 {
		t.Error("nested handles")
	}
	row.Release()
	x.Release()
	v.Release()
	leaf := []any{}
	for range 200 {
		leaf = []any{leaf}
	}
	v = runtimetest.MustCall(t, "calls.echo", leaf)
	v.Release()
	// A parameter takes a container by handle, and hands on its reference only for
	// the call.
	a := runtimetest.Get[*tvmffi.Array[int64]](t, "calls.ints", 3)
	var arg tvmffi.ArrayArg[int64] = a
	out := runtimetest.MustCall(t, "calls.echo_ints", arg)
	if same, err := tvmffi.As[*tvmffi.Array[int64]](out); err != nil || !tvmffi.Same(same, a) || memstat.UseCount(a) != 2 {
		t.Error("by handle")
	}
	out.Release()
	a.Release()
}

func TestShape(t *testing.T) {
	runtimetest.Balanced(t)
	s := runtimetest.Must[*tvmffi.Shape](t)(tvmffi.NewShape(2, 3, 4))
	if s.Len() != 3 || s.At(2) != 4 || !slices.Equal(s.Slice(), []int64{2, 3, 4}) {
		t.Errorf("the shape is %v, want [2 3 4]", s.Slice())
	}
	runtimetest.WantPanic(t, tvmffi.ErrIndex, "Shape: index 3 out of range with 3 dimensions", func() { s.At(3) })
	runtimetest.WantPanic(t, tvmffi.ErrIndex, "Shape: index -1 out of range with 3 dimensions", func() { s.At(-1) })
	echo := runtimetest.Get[*tvmffi.Shape](t, "calls.echo_shape", s)
	if !tvmffi.Same(echo, s) {
		t.Error("a shape goes by handle")
	}
	echo.Release()
	s.Release()
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "Shape.Len: the receiver was released", func() { s.Len() })
	var none *tvmffi.Shape
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "Shape.Slice: the receiver is nil", func() { none.Slice() })
	empty := runtimetest.Must[*tvmffi.Shape](t)(tvmffi.NewShape())
	if scalar := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1}, empty.Slice()...)); scalar.NDim() != 0 {
		t.Errorf("a tensor of the empty shape is %v", scalar)
	} else {
		scalar.Release()
	}
	if empty.Len() != 0 || len(empty.Slice()) != 0 {
		t.Error("no dimensions")
	}
	empty.Release()
	var _ tvmffi.ArrayArg[int64] = s
}

func TestGenericResults(t *testing.T) {
	runtimetest.Balanced(t)
	var c bindrt.Call1
	c.Begin(runtimetest.GlobalFunc("calls.table", ""), 1)
	c.Int(0, 2)
	if g, err := bindrt.Do[map[string]int64](&c.Call); err != nil || g["key 1"] != 1 {
		t.Errorf("Result returned %v, %v, want a map with key 1", g, err)
	}
	var d bindrt.Call1
	d.Begin(runtimetest.GlobalFunc("calls.boxes", ""), 1)
	d.Int(0, 2)
	_, err := bindrt.Do[[]int64](&d.Call)
	runtimetest.WantError(t, err, tvmffi.ErrType, "calls.boxes: result: element 0: expected int, got calls.Box")
}
