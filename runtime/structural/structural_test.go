package structural_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func TestStructuralEqual(t *testing.T) {
	runtimetest.LoadProgram(t)
	x, y := runtimetest.NewVar(t, "x"), runtimetest.NewVar(t, "y")
	// The function x -> x equals y -> y. A free variable equals only itself, unless free
	// variables are mapped.
	f, g, h := runtimetest.NewFunc(t, []any{x}, []any{x, 1}), runtimetest.NewFunc(t, []any{y}, []any{y, 1}), runtimetest.NewFunc(t, []any{x}, []any{y, 1})
	one, two := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1})), runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{2}))
	for _, c := range []struct {
		x, y    any
		options []structural.Option
		want    bool
	}{
		{[]any{1}, []any{1, 2}, nil, false}, {(*runtimetest.Func)(nil), f, nil, false},
		{f, g, nil, true}, {f, h, nil, false}, {x, y, nil, false}, {x, y, []structural.Option{structural.MapFreeVars}, true}, {f, h, []structural.Option{structural.MapFreeVars}, false},
		{one, two, nil, false}, {one, two, []structural.Option{structural.SkipTensorContent}, true}, {[]any{x, one}, []any{y, two}, []structural.Option{structural.MapFreeVars, structural.SkipTensorContent}, true},
	} {
		got, err := structural.Equal(c.x, c.y, c.options...)
		if got != c.want || err != nil {
			t.Errorf("Equal(%v, %v, %v) = %v, %v, want %v", c.x, c.y, c.options, got, err, c.want)
		}
		m, err := structural.FirstMismatch(c.x, c.y, c.options...)
		if (m == nil) != c.want || err != nil {
			t.Errorf("FirstMismatch(%v, %v, %v) = %v, %v, want nil = %v", c.x, c.y, c.options, m, err, c.want)
		}
		m.Release()
		if c.want {
			a, b := runtimetest.Must[uint64](t)(structural.Hash(c.x, c.options...)), runtimetest.Must[uint64](t)(structural.Hash(c.y, c.options...))
			if a != b {
				t.Errorf("the hashes of %v and %v differ", c.x, c.y)
			}
		}
	}
	m := runtimetest.Must[*structural.Mismatch](t)(structural.FirstMismatch(f, h))
	if m.String() != "<root>.body[0] != <root>.body[0]" {
		t.Errorf("the mismatch is %v, want the first item of both bodies", m)
	}
	m.Release()
	for _, o := range []interface{ Release() }{f, g, h, x, y, one, two} {
		o.Release()
	}
}

// Values are equal, and have one key and hash, if their rows are equal.
func TestStructuralEqual_values(t *testing.T) {
	runtimetest.Balanced(t)
	ids, keys, hashes := map[structural.Key]string{}, map[string]structural.Key{}, map[string]uint64{}
	var last any
	lastID := ""
	runtimetest.Values(t, func(r values.Row, x any) {
		if r.Value == any(values.Loop{}) {
			return
		}
		id := runtimetest.Identity(r, x)
		again, release, err := runtimetest.Value(r.Value)
		key, failed := structural.KeyOf(x)
		if err != nil || failed != nil {
			t.Fatal(r.Name, err, failed)
		}
		if other, ok := ids[key]; ok && other != id {
			t.Errorf("%s has the key of %s", r.Name, other)
		}
		if other, ok := keys[id]; ok && (other != key || other.Hash() != key.Hash()) {
			t.Errorf("%s has the key %v, and an equal value %v", r.Name, key, other)
		}
		ids[key], keys[id] = id, key
		if text, err := tvmffi.Repr(x); err == nil && key.String() != text {
			t.Errorf("the key of %s is printed as %v, want %s", r.Name, key, text)
		}
		hash, err := structural.Hash(x)
		if other, ok := hashes[id]; err != nil || ok && other != hash {
			t.Errorf("%s has the hash %d, and an equal value %d; %v", r.Name, hash, other, err)
		}
		hashes[id] = hash
		if eq, err := structural.Equal(x, again); !eq || err != nil {
			t.Errorf("%s does not equal its copy: %v", r.Name, err)
		}
		m, err := structural.FirstMismatch(x, last)
		if eq, failed := structural.Equal(x, last); eq != (id == lastID) || (m == nil) != eq || err != nil || failed != nil {
			t.Errorf("%s equals the row before it: %v, %v, %v, %v", r.Name, eq, m, err, failed)
		}
		m.Release()
		release()
		if last, lastID = nil, "None"+`{"type":"None"}`; !strings.HasPrefix(r.Key, "ffi.") || r.Key == "ffi.String" {
			last, lastID = x, id
		}
	})
	clear(ids)
	clear(keys)
	runtimetest.DropGarbage(t)
}

// Values that would end the process are refused.
func TestStructural_refused(t *testing.T) {
	runtimetest.LoadProgram(t)
	l := runtimetest.NewLoop(t)
	ring, next := runtimetest.NewChain(t, 1), runtimetest.NewChain(t, 1)
	for _, err := range []error{ring.SetNext(next), next.SetNext(ring)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	levels := 20000
	if runtime.GOOS == "windows" { // the library frees it by recursion, and there are 2 MB of stack
		levels = 5000
	}
	deep := runtimetest.NewChain(t, levels)
	for _, c := range []struct {
		x    any
		want string
	}{{l, "the value contains itself, in ffi.List"}, {ring, "the value contains itself, in program.Link"}, {map[string]any{"k": []any{ring}}, "contains itself"}, {deep, "nested deeper than 1000 levels"}} {
		_, err := structural.Equal(1, c.x)
		runtimetest.WantError(t, err, tvmffi.ErrValue, c.want)
		_, err = structural.Hash(c.x)
		runtimetest.WantError(t, err, tvmffi.ErrValue, c.want)
		_, err = structural.FirstMismatch(c.x, 1)
		runtimetest.WantError(t, err, tvmffi.ErrValue, c.want)
		_, err = structural.KeyOf(c.x)
		runtimetest.WantError(t, err, tvmffi.ErrValue, c.want)
		_, err = jsongraph.Marshal(c.x, nil)
		want := "Cycle detected during serialization: a "
		if c.x == any(deep) {
			want = c.want
		}
		runtimetest.WantError(t, err, tvmffi.ErrValue, want)
	}
	runtimetest.EndLoop(t, l)
	if err := next.SetNext(nil); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*runtimetest.Link{ring, next, deep} {
		o.Release()
		_, err := structural.Hash(o)
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	}
	// A value that is met often is visited once: this one has 2^60 paths.
	wide := runtimetest.NewList(t, 1)
	lists := []*tvmffi.List[any]{wide}
	for range 60 {
		wide = runtimetest.NewList(t, wide, wide)
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
	runtimetest.LoadProgram(t)
	runtimetest.DropGarbage(t)
	of := func(t *testing.T, x any) structural.Key {
		return runtimetest.Must[structural.Key](t)(structural.KeyOf(x))
	}
	x, y := runtimetest.NewVar(t, "x"), runtimetest.NewVar(t, "y")
	f, g := runtimetest.NewFunc(t, []any{x}, []any{x}), runtimetest.NewFunc(t, []any{y}, []any{y})
	t.Run("equal objects have one key, with its object", func(t *testing.T) {
		if k := of(t, f); k != of(t, g) || k == of(t, x) || k.Hash() != of(t, g).Hash() {
			t.Errorf("the key of %v is %v, with hash %d, want that of %v", f, k, k.Hash(), g)
		}
		v := of(t, f).Value()
		if got := runtimetest.Must[*runtimetest.Func](t)(tvmffi.As[*runtimetest.Func](v)); !tvmffi.Same(got, f) {
			t.Error("the value of a key is another object than the function")
		}
		v.Release()
	})
	zero := structural.Key{}
	if zero.Hash() != 0 || !zero.Value().IsNone() || zero.String() != "None" {
		t.Errorf("the zero key is %v with hash %d, want None with 0", zero, zero.Hash())
	}
	t.Run("as an argument it is an ffi.StructuralKey", func(t *testing.T) {
		m := runtimetest.Must[*tvmffi.Map[structural.Key, int64]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[structural.Key, int64]{Key: of(t, f), Value: 1}, tvmffi.Pair[structural.Key, int64]{Key: of(t, g), Value: 2})))
		if n, ok := m.Get(of(t, g)); m.Len() != 1 || n != 2 || !ok {
			t.Errorf("the map is %v, want one item with the value 2", m)
		}
		m.Release()
	})
	t.Run("many goroutines get the same key", func(t *testing.T) {
		var wg sync.WaitGroup
		keys := make([]structural.Key, 8)
		for i := range keys {
			wg.Go(func() { keys[i], _ = structural.KeyOf([]any{"shared", 1}) })
		}
		wg.Wait()
		for _, k := range keys {
			if k != keys[0] || k == zero {
				t.Errorf("a goroutine got the key %v, want %v", k, keys[0])
			}
		}
		clear(keys)
	})
	for _, o := range []interface{ Release() }{f, g, x, y} {
		o.Release()
	}
	_, err := structural.KeyOf(f)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
}

func TestAccessPath(t *testing.T) {
	runtimetest.LoadProgram(t)
	step := func(t *testing.T, kind structural.AccessKind, key any) structural.AccessStep {
		return structural.AccessStep{Kind: kind, Key: runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(key))}
	}
	t.Run("text and steps", func(t *testing.T) {
		for _, c := range []struct {
			steps []structural.AccessStep
			want  string
		}{
			{nil, "<root>"},
			{[]structural.AccessStep{step(t, structural.AccessField, "foo"), step(t, structural.AccessItem, 2), step(t, structural.AccessKey, "k")}, `<root>.foo[2]["k"]`},
			{[]structural.AccessStep{step(t, structural.AccessKey, 7), step(t, structural.AccessFieldMissing, "foo")}, `<root>[7][<missing:"foo">]`},
			{[]structural.AccessStep{step(t, structural.AccessItemMissing, 3)}, `<root>[<missing:3>]`},
			{[]structural.AccessStep{step(t, structural.AccessKeyMissing, "a key that lies on the heap")}, `<root>[<missing:"a key that lies on the heap">]`},
		} {
			p := runtimetest.Must[*structural.AccessPath](t)(structural.NewAccessPath(c.steps...))
			if p.String() != c.want || p.Depth() != len(c.steps) || len(p.Steps()) != len(c.steps) {
				t.Errorf("%v, want %s", p, c.want)
			}
			if text, err := tvmffi.Repr(p); err == nil && text != c.want && tvmffi.TypeKey(p) != text[:min(len(text), len(tvmffi.TypeKey(p)))] {
				t.Errorf("the library prints %s, want the same as String", text) // an older one prints the fields
			}
			if b, err := json.Marshal(p); err != nil || string(b) != string(runtimetest.Must[[]byte](t)(json.Marshal(c.want))) {
				t.Errorf("json.Marshal gives %s, %v, want %q", b, err, c.want)
			}
			p.Release()
			if p.String() != "<path that was released>" {
				t.Errorf("a released path prints %v, want <path that was released>", p)
			}
		}
	})
	a := runtimetest.Must[*structural.AccessPath](t)(structural.NewAccessPath(step(t, structural.AccessField, "body")))
	b := runtimetest.Must[*structural.AccessPath](t)(structural.NewAccessPath(step(t, structural.AccessField, "body"), step(t, structural.AccessItem, 1)))
	if a.Equal(b) || !a.Equal(a) || !a.IsPrefixOf(b) || b.IsPrefixOf(a) {
		t.Error("Equal or IsPrefixOf of .body and .body[1] is wrong")
	}
	f := runtimetest.NewFunc(t, nil, []any{1, map[string]any{"k": "found"}})
	long := runtimetest.Must[*structural.AccessPath](t)(structural.NewAccessPath(append(b.Steps(), step(t, structural.AccessKey, "k"))...))
	if v, err := long.Find(f); err != nil || v.Value() != any("found") {
		t.Errorf("Find returned %v, %v, want the text found", v, err)
	}
	t.Run("paths that do not fit", func(t *testing.T) {
		for _, c := range []struct {
			steps []structural.AccessStep
			kind  error
			want  string
		}{
			{[]structural.AccessStep{step(t, structural.AccessField, "nope")}, tvmffi.ErrAttribute, `<root>: program.Func has no field "nope"`},
			{[]structural.AccessStep{step(t, structural.AccessField, "body"), step(t, structural.AccessItem, 2)}, tvmffi.ErrIndex, "<root>.body: ffi.Array has no item 2"},
			{[]structural.AccessStep{step(t, structural.AccessField, "body"), step(t, structural.AccessKey, "k")}, tvmffi.ErrKey, "<root>.body: ffi.Array has no key k"},
			{[]structural.AccessStep{step(t, structural.AccessItemMissing, 0)}, tvmffi.ErrKey, "lacks what the path names"},
			{[]structural.AccessStep{step(t, structural.AccessItem, 0)}, tvmffi.ErrIndex, "program.Func has no items"},
		} {
			p := runtimetest.Must[*structural.AccessPath](t)(structural.NewAccessPath(c.steps...))
			_, err := p.Find(f)
			runtimetest.WantError(t, err, c.kind, c.want)
			p.Release()
		}
	})
	t.Run("steps", func(t *testing.T) {
		_, err := structural.NewAccessPath(step(t, 9, 1))
		runtimetest.WantError(t, err, tvmffi.ErrValue, "no kind of step 9")
		_, err = structural.NewAccessPath(step(t, structural.AccessItem, "x"))
		runtimetest.WantError(t, err, tvmffi.ErrType)
	})
	for _, o := range []interface{ Release() }{a, b, long, f} {
		o.Release()
	}
	t.Run("released and nil", func(t *testing.T) {
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() { a.Steps() })
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() { a.Equal(b) })
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, "nil", func() { (*structural.AccessPath)(nil).Depth() })
		if fmt.Sprint((*structural.AccessPath)(nil)) != "None" {
			t.Errorf("a nil path prints %v, want None", (*structural.AccessPath)(nil))
		}
	})
}

// The parent of a path that was read from a text may be another object.
func TestAccessPath_hostile(t *testing.T) {
	runtimetest.Balanced(t)
	p, err := jsongraph.Unmarshal[*structural.AccessPath]([]byte(`{"root_index":1,"nodes":[{"type":"ffi.Array","data":[]},
		{"type":"ffi.reflection.AccessPath","data":{"parent":0,"step":3,"depth":1}},{"type":"int","data":1},
		{"type":"ffi.reflection.AccessStep","data":{"kind":1,"key":2}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	runtimetest.WantPanic(t, tvmffi.ErrType, "ffi.Array", func() { p.Steps() })
	runtimetest.WantPanic(t, tvmffi.ErrType, "ffi.Array", func() { p.Equal(p) })
	if p.String() == "" {
		t.Error("String of a path without steps is empty")
	}
	_, err = p.Find(1)
	runtimetest.WantError(t, err, tvmffi.ErrType, "ffi.Array")
	p.Release()
}
