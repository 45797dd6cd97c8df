package tvmffi_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// sequence is what an Array and a List have in common.
type sequence[T any] interface {
	Len() int
	At(i int) T
	All() iter.Seq2[int, T]
	Slice() ([]T, error)
	CopyTo(dst []T) (int, error)
	Contains(x T) (bool, error)
	Release()
}

// kind is a kind of containers: one with the wanted entries, and none.
type kind[C any] struct {
	name    string
	c, none C
}

func sequences[T any](t *testing.T, items []T) []kind[sequence[T]] {
	return []kind[sequence[T]]{
		{"Array", runtimetest.Must[*tvmffi.Array[T]](t)(tvmffi.NewArray(items...)), (*tvmffi.Array[T])(nil)},
		{"List", runtimetest.Must[*tvmffi.List[T]](t)(tvmffi.NewList(items...)), (*tvmffi.List[T])(nil)},
	}
}

func checkSequences[T comparable](t *testing.T, items []T) {
	t.Helper()
	v := runtimetest.MustCall(t, "calls.echo", items)
	if s := runtimetest.Must[[]T](t)(tvmffi.As[[]T](v)); !slices.Equal(s, items) {
		t.Errorf("%T: echo %v", items, s)
	}
	v.Release()
	for _, k := range sequences(t, items) {
		s, n, steps := k.c, len(items), 0
		for i, x := range s.All() {
			if i != steps || x != items[i] || s.At(i) != x {
				t.Errorf("%s of %T: element %d is %v", k.name, items, i, x)
			}
			steps++
		}
		for i := range s.All() {
			if i == 1 {
				break
			}
		}
		dst := make([]T, n+1)
		copied, err := s.CopyTo(dst)
		all, failed := s.Slice()
		if err != nil || failed != nil || s.Len() != n || steps != n || copied != n || !slices.Equal(dst[:n], items) || !slices.Equal(all, items) {
			t.Errorf("%s of %d: Len %d, %d steps, %d copied, %v, %v, %v, want %v", k.name, n, s.Len(), steps, copied, all, err, failed, items)
		}
		if copied, err := s.CopyTo(dst[:n/2]); copied != n/2 || err != nil {
			t.Errorf("%s: CopyTo half of it copied %d, %v", k.name, copied, err)
		}
		for _, i := range []int{-1, n, 1 << 40} {
			runtimetest.WantPanic(t, tvmffi.ErrIndex, fmt.Sprintf("IndexError: %s: index %d out of range with %d elements", k.name, i, n), func() { s.At(i) })
		}
		if a, ok := s.(*tvmffi.Array[T]); ok { // C++ may take an array apart that Go has built
			both := runtimetest.Must[*tvmffi.Array[T]](t)(tvmffi.Concat(a, a))
			a.Release()
			if both.Len() != 2*n {
				t.Errorf("%T: concat", items)
			}
			both.Release()
		}
		s.Release()
		for name, f := range map[string]func(s sequence[T]){"Len": func(s sequence[T]) { s.Len() }, "At": func(s sequence[T]) { s.At(0) }} {
			runtimetest.WantPanic(t, tvmffi.ErrRuntime, k.name+"."+name+": the receiver was released", func() { f(s) })
			runtimetest.WantPanic(t, tvmffi.ErrRuntime, k.name+"."+name+": the receiver is nil", func() { f(k.none) })
		}
		// Whether All is named is up to the compiler: it may have put All into this func.
		for _, part := range []string{"RuntimeError: " + k.name, ": the receiver was released: release it after its last use"} {
			runtimetest.WantPanic(t, tvmffi.ErrRuntime, part, func() {
				for range s.All() {
					t.Error("an element")
				}
			})
		}
		runtimetest.WantError(t, runtimetest.ErrorOf(s.Slice()), tvmffi.ErrRuntime, k.name+".Slice: the receiver was released")
		runtimetest.WantError(t, runtimetest.ErrorOf(s.CopyTo(dst)), tvmffi.ErrRuntime, "was released")
		runtimetest.WantError(t, runtimetest.ErrorOf(s.Contains(dst[0])), tvmffi.ErrRuntime, "was released")
		if s, err := k.none.Slice(); s != nil || err != nil {
			t.Errorf("Slice of a nil %s returned %v, %v, want nil", k.name, s, err)
		}
	}
}

// mapping is what a Map and a Dict have in common.
type mapping[K comparable, V any] interface {
	Len() int
	Get(key K) (V, bool)
	MustGet(key K) V
	Has(key K) bool
	All() iter.Seq2[K, V]
	Keys() iter.Seq[K]
	Values() iter.Seq[V]
	Map() (map[K]V, error)
	Release()
}

func mappings(t *testing.T, entries map[string]string) []kind[mapping[string, string]] {
	return []kind[mapping[string, string]]{
		{"Map", runtimetest.Must[*tvmffi.Map[string, string]](t)(tvmffi.NewMap(tvmffi.MapOf(entries))), (*tvmffi.Map[string, string])(nil)},
		{"Dict", runtimetest.Must[*tvmffi.Dict[string, string]](t)(tvmffi.NewDict(tvmffi.MapOf(entries))), (*tvmffi.Dict[string, string])(nil)},
	}
}

// TestMappings: a loop that ends early, or by a panic, leaves nothing behind.
func TestMappings(t *testing.T) {
	runtimetest.Balanced(t)
	for _, n := range []int{0, 1, 4, 63, 64, 65, 200} {
		want := map[string]string{}
		for i := range n {
			want[fmt.Sprintf("key %03d%s", i, strings.Repeat("long", i%20))] = strings.Repeat("v", i)
		}
		keys, entries := slices.Sorted(maps.Keys(want)), []string{}
		for _, k := range keys {
			entries = append(entries, want[k])
		}
		for _, k := range mappings(t, want) {
			m := k.c
			if gotKeys, values := slices.Collect(m.Keys()), slices.Collect(m.Values()); !slices.Equal(gotKeys, keys) || !slices.Equal(values, entries) {
				t.Errorf("%s: keys %q, values %q", k.name, gotKeys, values)
			}
			all, err := m.Map()
			if _, ok := m.Get("absent"); ok || m.Has("absent") || m.Len() != n || err != nil || !maps.Equal(all, want) || !maps.Equal(maps.Collect(m.All()), want) {
				t.Errorf("%s: %d entries: %v, %v", k.name, n, all, err)
			}
			for key, v := range want {
				if got, ok := m.Get(key); !ok || got != v || !m.Has(key) || m.MustGet(key) != v {
					t.Errorf("%s: the key %q gives %q, want %q", k.name, key, got, v)
				}
			}
			runtimetest.WantPanic(t, tvmffi.ErrKey, "KeyError: "+k.name+`: there is no key "absent"`, func() { m.MustGet("absent") })
			for range m.All() {
				break
			}
			for range m.Values() {
				break
			}
			func() {
				defer func() { recover() }()
				for range m.All() {
					panic("in the loop")
				}
			}()
			if d, ok := m.(*tvmffi.Dict[string, string]); ok {
				for k := range d.Keys() {
					if was, err := d.Delete(k); err != nil || !was {
						t.Errorf("Delete(%q) in a loop returned %v, %v, want true", k, was, err)
					}
				}
				if d.Len() != 0 {
					t.Errorf("%d entries are left", d.Len())
				}
			}
			m.Release()
			for _, f := range []func(){func() { m.Len() }, func() { m.Get("z") }, func() { m.MustGet("z") }, func() { m.Has("z") }, func() { _ = maps.Collect(m.All()) }, func() { _ = slices.Collect(m.Keys()) }} {
				runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", f)
			}
			runtimetest.WantError(t, runtimetest.ErrorOf(m.Map()), tvmffi.ErrRuntime, "was released")
			runtimetest.WantPanic(t, nil, "is nil", func() { k.none.Len() })
			if g, err := k.none.Map(); g != nil || err != nil {
				t.Errorf("Map of a nil %s returned %v, %v, want nil", k.name, g, err)
			}
		}
	}
}
