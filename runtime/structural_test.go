package tvmffi_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func TestStructuralEqual(t *testing.T) {
	loadProgram(t)
	x, y := newVar(t, "x"), newVar(t, "y")
	// fun x: x is fun y: y; a free variable is only itself, unless free ones are mapped.
	f, g, h := newFunc(t, []any{x}, []any{x, 1}), newFunc(t, []any{y}, []any{y, 1}), newFunc(t, []any{x}, []any{y, 1})
	one, two := must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1})), must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{2}))
	for _, c := range []struct {
		x, y    any
		options []structural.Option
		want    bool
	}{
		{1, 1, nil, true}, {1, 2, nil, false}, {"a", "a", nil, true}, {nil, nil, nil, true}, {nil, 1, nil, false}, {[]any{1, "x"}, []any{1, "x"}, nil, true}, {[]any{1}, []any{1, 2}, nil, false},
		{map[string]any{"a": []any{1}}, map[string]any{"a": []any{1}}, nil, true}, {(*Func)(nil), f, nil, false},
		{f, g, nil, true}, {f, h, nil, false}, {x, y, nil, false}, {x, y, []structural.Option{structural.MapFreeVars}, true}, {f, h, []structural.Option{structural.MapFreeVars}, false},
		{one, two, nil, false}, {one, two, []structural.Option{structural.SkipTensorContent}, true}, {[]any{x, one}, []any{y, two}, []structural.Option{structural.MapFreeVars, structural.SkipTensorContent}, true},
	} {
		got, err := structural.Equal(c.x, c.y, c.options...)
		if got != c.want || err != nil {
			t.Errorf("StructuralEqual(%v, %v, %v) = %v, %v", c.x, c.y, c.options, got, err)
		}
		m, err := structural.FirstMismatch(c.x, c.y, c.options...)
		if (m == nil) != c.want || err != nil {
			t.Errorf("StructuralMismatch(%v, %v, %v) = %v, %v", c.x, c.y, c.options, m, err)
		}
		m.Release()
		if c.want {
			a, b := must[uint64](t)(structural.Hash(c.x, c.options...)), must[uint64](t)(structural.Hash(c.y, c.options...))
			if a != b {
				t.Errorf("the hashes of %v and %v differ", c.x, c.y)
			}
		}
	}
	m := must[*structural.Mismatch](t)(structural.FirstMismatch(f, h))
	if m.String() != "<root>.body[0] != <root>.body[0]" {
		t.Error(m)
	}
	m.Release()
	for _, o := range []interface{ Release() }{f, g, h, x, y, one, two} {
		o.Release()
	}
}

// What would end the process is refused.
func TestStructural_refused(t *testing.T) {
	loadProgram(t)
	l := loop(t)
	ring, next := chain(t, 1), chain(t, 1)
	for _, err := range []error{ring.SetNext(next), next.SetNext(ring)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	deep := chain(t, 20000)
	for _, c := range []struct {
		x    any
		want string
	}{{l, "the value contains itself, in ffi.List"}, {ring, "the value contains itself, in program.Link"}, {map[string]any{"k": []any{ring}}, "contains itself"}, {deep, "nested deeper than 1000 levels"}} {
		_, err := structural.Equal(1, c.x)
		wantError(t, err, tvmffi.ErrValue, c.want)
		_, err = structural.Hash(c.x)
		wantError(t, err, tvmffi.ErrValue, c.want)
		_, err = structural.FirstMismatch(c.x, 1)
		wantError(t, err, tvmffi.ErrValue, c.want)
		_, err = structural.KeyOf(c.x)
		wantError(t, err, tvmffi.ErrValue, c.want)
		_, err = jsongraph.Marshal(c.x, nil)
		want := "Cycle detected during serialization: a "
		if c.x == any(deep) {
			want = c.want
		}
		wantError(t, err, tvmffi.ErrValue, want)
	}
	untie(t, l)
	if err := next.SetNext(nil); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*Link{ring, next, deep} {
		o.Release()
		_, err := structural.Hash(o)
		wantError(t, err, tvmffi.ErrRuntime, "was released")
	}
	// A value that is met often is visited once: this one has 2^60 paths.
	wide := newList(t, 1)
	lists := []*tvmffi.List[any]{wide}
	for range 60 {
		wide = newList(t, wide, wide)
		lists = append(lists, wide)
	}
	if _, err := jsongraph.Marshal(wide, nil); err != nil {
		t.Error(err)
	}
	for _, l := range lists {
		l.Release()
	}
}

func TestStructuralKey(t *testing.T) {
	loadProgram(t)
	drop(t)
	of := func(x any) structural.Key { return must[structural.Key](t)(structural.KeyOf(x)) }
	x, y := newVar(t, "x"), newVar(t, "y")
	f, g := newFunc(t, []any{x}, []any{x}), newFunc(t, []any{y}, []any{y})
	counts := map[structural.Key]int{}
	for _, v := range []any{f, g, []any{1, "x"}, []any{1, "x"}, []any{1, "y"}, 1, 1, nil, "a", "a", []byte("a")} {
		counts[of(v)]++
	}
	if counts[of(f)] != 2 || counts[of([]any{1, "x"})] != 2 || counts[of(1)] != 2 || counts[of("a")] != 2 || len(counts) != 7 {
		t.Error(counts)
	}
	if k := of([]any{1, "x"}); k.String() != `(1, "x")` || k.Hash() != of([]any{1, "x"}).Hash() || k == (structural.Key{}) {
		t.Error(k)
	}
	v := of(f).Value()
	if got := must[*Func](t)(tvmffi.As[*Func](v)); !tvmffi.Same(got, f) {
		t.Error("the value of a key is another")
	}
	v.Release()
	zero := structural.Key{}
	if zero.Hash() != 0 || !zero.Value().IsNone() || zero.String() != "None" {
		t.Error(zero)
	}
	// As an argument it is an ffi.StructuralKey.
	m := must[*tvmffi.Map[structural.Key, int64]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[structural.Key, int64]{Key: of(f), Value: 1}, tvmffi.Pair[structural.Key, int64]{Key: of(g), Value: 2})))
	if n, ok := m.Get(of(g)); m.Len() != 1 || n != 2 || !ok {
		t.Error(m)
	}
	m.Release()
	// Many goroutines get the same key.
	var wg sync.WaitGroup
	keys := make([]structural.Key, 8)
	for i := range keys {
		wg.Go(func() { keys[i], _ = structural.KeyOf([]any{"shared", 1}) })
	}
	wg.Wait()
	for _, k := range keys {
		if k != keys[0] || k == zero {
			t.Error("the keys differ")
		}
	}
	for _, o := range []interface{ Release() }{f, g, x, y} {
		o.Release()
	}
	_, err := structural.KeyOf(f)
	wantError(t, err, tvmffi.ErrRuntime, "was released")
	clear(counts)
	clear(keys)
}

func TestAccessPath(t *testing.T) {
	loadProgram(t)
	step := func(kind structural.AccessKind, key any) structural.AccessStep {
		return structural.AccessStep{Kind: kind, Key: must[tvmffi.Any](t)(tvmffi.AnyOf(key))}
	}
	for _, c := range []struct {
		steps []structural.AccessStep
		want  string
	}{
		{nil, "<root>"},
		{[]structural.AccessStep{step(structural.AccessField, "foo"), step(structural.AccessItem, 2), step(structural.AccessKey, "k")}, `<root>.foo[2]["k"]`},
		{[]structural.AccessStep{step(structural.AccessKey, 7), step(structural.AccessFieldMissing, "foo")}, `<root>[7][<missing:"foo">]`},
		{[]structural.AccessStep{step(structural.AccessItemMissing, 3)}, `<root>[<missing:3>]`},
		{[]structural.AccessStep{step(structural.AccessKeyMissing, "a key that lies on the heap")}, `<root>[<missing:"a key that lies on the heap">]`},
	} {
		p := must[*structural.AccessPath](t)(structural.NewAccessPath(c.steps...))
		if p.String() != c.want || p.Depth() != len(c.steps) || len(p.Steps()) != len(c.steps) {
			t.Errorf("%v, want %s", p, c.want)
		}
		if text, err := tvmffi.Repr(p); err == nil && text != c.want && tvmffi.TypeKey(p) != text[:min(len(text), len(tvmffi.TypeKey(p)))] {
			t.Errorf("the library prints %s", text) // an older one prints the fields
		}
		if b, err := json.Marshal(p); err != nil || string(b) != string(must[[]byte](t)(json.Marshal(c.want))) {
			t.Errorf("%s, %v", b, err)
		}
		p.Release()
		if p.String() != "<path that was released>" {
			t.Error(p)
		}
	}
	a := must[*structural.AccessPath](t)(structural.NewAccessPath(step(structural.AccessField, "body")))
	b := must[*structural.AccessPath](t)(structural.NewAccessPath(step(structural.AccessField, "body"), step(structural.AccessItem, 1)))
	if a.Equal(b) || !a.Equal(a) || !a.IsPrefixOf(b) || b.IsPrefixOf(a) {
		t.Error("the paths compare wrongly")
	}
	f := newFunc(t, nil, []any{1, map[string]any{"k": "found"}})
	long := must[*structural.AccessPath](t)(structural.NewAccessPath(append(b.Steps(), step(structural.AccessKey, "k"))...))
	if v, err := long.Find(f); err != nil || v.Value() != any("found") {
		t.Error(v, err)
	}
	for _, c := range []struct {
		steps []structural.AccessStep
		kind  error
		want  string
	}{
		{[]structural.AccessStep{step(structural.AccessField, "nope")}, tvmffi.ErrAttribute, `<root>: program.Func has no field "nope"`},
		{[]structural.AccessStep{step(structural.AccessField, "body"), step(structural.AccessItem, 2)}, tvmffi.ErrIndex, "<root>.body: ffi.Array has no item 2"},
		{[]structural.AccessStep{step(structural.AccessField, "body"), step(structural.AccessKey, "k")}, tvmffi.ErrKey, "<root>.body: ffi.Array has no key k"},
		{[]structural.AccessStep{step(structural.AccessItemMissing, 0)}, tvmffi.ErrKey, "lacks what the path names"},
		{[]structural.AccessStep{step(structural.AccessItem, 0)}, tvmffi.ErrIndex, "program.Func has no items"},
	} {
		p := must[*structural.AccessPath](t)(structural.NewAccessPath(c.steps...))
		_, err := p.Find(f)
		wantError(t, err, c.kind, c.want)
		p.Release()
	}
	_, err := structural.NewAccessPath(step(9, 1))
	wantError(t, err, tvmffi.ErrValue, "no kind of step 9")
	_, err = structural.NewAccessPath(step(structural.AccessItem, "x"))
	wantError(t, err, tvmffi.ErrType)
	for _, o := range []interface{ Release() }{a, b, long, f} {
		o.Release()
	}
	wantPanic(t, tvmffi.ErrRuntime, "was released", func() { a.Steps() })
	wantPanic(t, tvmffi.ErrRuntime, "was released", func() { a.Equal(b) })
	wantPanic(t, tvmffi.ErrRuntime, "nil", func() { (*structural.AccessPath)(nil).Depth() })
	if fmt.Sprint((*structural.AccessPath)(nil)) != "None" {
		t.Error("nil")
	}
}

// A path from a stranger may hold a parent that is none.
func TestAccessPath_hostile(t *testing.T) {
	balanced(t)
	p, err := jsongraph.Unmarshal[*structural.AccessPath]([]byte(`{"root_index":1,"nodes":[{"type":"ffi.Array","data":[]},
		{"type":"ffi.reflection.AccessPath","data":{"parent":0,"step":3,"depth":1}},{"type":"int","data":1},
		{"type":"ffi.reflection.AccessStep","data":{"kind":1,"key":2}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	wantPanic(t, tvmffi.ErrType, "ffi.Array", func() { p.Steps() })
	wantPanic(t, tvmffi.ErrType, "ffi.Array", func() { p.Equal(p) })
	if p.String() == "" {
		t.Error("no text")
	}
	_, err = p.Find(1)
	wantError(t, err, tvmffi.ErrType, "ffi.Array")
	p.Release()
}
