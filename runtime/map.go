package tvmffi

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Map is an ffi.Map: an immutable map that keeps the order of insertion.
type Map[K comparable, V any] struct{ objectBase }

// Dict is an ffi.Dict: a mutable map that everybody who refers to it shares.
type Dict[K comparable, V any] struct{ objectBase }

// mapKind holds the functions of a kind of map.
type mapKind struct {
	name                               string
	class                              core.Type
	create, size, get, count, iterator core.Func
}

var (
	maps = mapKind{
		name: "Map", class: core.Type{Key: "ffi.Map"}, create: core.Func{Name: "ffi.Map"}, size: core.Func{Name: "ffi.MapSize"},
		get: core.Func{Name: "ffi.MapGetItem"}, count: core.Func{Name: "ffi.MapCount"}, iterator: core.Func{Name: "ffi.MapForwardIterFunctor"},
	}
	dicts = mapKind{
		name: "Dict", class: core.Type{Key: "ffi.Dict"}, create: core.Func{Name: "ffi.Dict"}, size: core.Func{Name: "ffi.DictSize"},
		get: core.Func{Name: "ffi.DictGetItem"}, count: core.Func{Name: "ffi.DictCount"}, iterator: core.Func{Name: "ffi.DictForwardIterFunctor"},
	}
	dictSetItem = core.Func{Name: "ffi.DictSetItem"}
	dictErase   = core.Func{Name: "ffi.DictErase"}
	dictClear   = core.Func{Name: "ffi.DictClear"}
)

// TVMFFIType identifies the type to the runtime.
func (*Map[K, V]) TVMFFIType(*Map[K, V]) *core.Type { return &maps.class }

// TVMFFIType identifies the type to the runtime.
func (*Dict[K, V]) TVMFFIType(*Dict[K, V]) *core.Type { return &dicts.class }

// MapArg is a parameter that takes a map of K to V: a container from an earlier
// call, by handle, or Go values from [MapOf] or [PairsOf].
type MapArg[K comparable, V any] interface {
	temporaryOrObject
	isMapOf(K, V)
}

// MapLike is a parameter that takes a map whose keys or values are interfaces,
// such as the Ref of an object type; see [ArrayLike].
type MapLike[K, V any] interface {
	temporaryOrObject
	isMap()
}

func (*Map[K, V]) isMapOf(K, V) {}
func (*Map[K, V]) isMap()       {}
func (*Map[K, V]) isContainer() {}

// Pair is a key with its value.
type Pair[K, V any] struct {
	Key   K
	Value V
}

// Pairs are Go values that become a Map for the time of a call.
type Pairs[K, V any] struct{ items []Pair[K, V] }

func (Pairs[K, V]) isMapOf(K, V) {}
func (Pairs[K, V]) isMap()       {}
func (Pairs[K, V]) isContainer() {}

func (p Pairs[K, V]) encode() (core.Temp, error) { return encodePairs(&maps.create, p.items) }

// PairsOf collects keys and values, in this order, for a parameter that takes a
// map. If a key occurs twice, the last one wins.
func PairsOf[K, V any](items ...Pair[K, V]) Pairs[K, V] { return Pairs[K, V]{items} }

// MapOf makes pairs of a Go map, sorted by key so that the order of the result is
// always the same.
func MapOf[K interface{ ~string | ~int64 | ~bool }, V any](m map[K]V) Pairs[K, V] {
	items := make([]Pair[K, V], 0, len(m))
	for k, v := range m {
		items = append(items, Pair[K, V]{k, v})
	}
	slices.SortFunc(items, func(a, b Pair[K, V]) int { return compareKeys(any(a.Key), any(b.Key)) })
	return Pairs[K, V]{items}
}

// NewMap makes a Map of pairs, which are copied.
func NewMap[K comparable, V any](pairs Pairs[K, V]) (*Map[K, V], error) {
	return newMapOf[*Map[K, V]](&maps.create, pairs.items)
}

// NewDict makes a Dict of pairs, which are copied.
func NewDict[K comparable, V any](pairs Pairs[K, V]) (*Dict[K, V], error) {
	return newMapOf[*Dict[K, V]](&dicts.create, pairs.items)
}

func newMapOf[P any, K, V any](f *core.Func, items []Pair[K, V]) (P, error) {
	t, err := encodePairs(f, items)
	if err != nil {
		var none P
		return none, err
	}
	return wrap[P](core.Own(uintptr(t.Value.Bits))), nil
}

func encodePairs[K, V any](f *core.Func, items []Pair[K, V]) (core.Temp, error) {
	return build(f, 2*len(items), func(i int) (core.Temp, error) {
		item := items[i/2]
		if i%2 == 0 {
			t, err := encode(item.Key)
			return t, inElement("key "+quote(item.Key), err)
		}
		t, err := encode(item.Value)
		return t, inElement("value of key "+quote(item.Key), err)
	})
}

// compareKeys orders two keys of one type.
func compareKeys(a, b any) int {
	switch x := baseOf(a).(type) {
	case string:
		return cmp.Compare(x, baseOf(b).(string))
	case int64:
		return cmp.Compare(x, baseOf(b).(int64))
	case bool:
		if y := baseOf(b).(bool); x != y {
			if y {
				return -1
			}
			return 1
		}
	}
	return 0
}

func (k *mapKind) len(o *core.Object) int {
	var c core.Call1
	c.Begin(&k.size, 1)
	c.Self(0, o)
	if err := c.Do(); err != nil {
		panic(err)
	}
	n, err := c.IntResult()
	if err != nil {
		panic(err)
	}
	return int(n)
}

// lookup reads the value of a key; it panics if o is nil or has ended, or if the
// key cannot be packed.
func lookup[K, V any](k *mapKind, o *core.Object, key K) (value V, ok bool) {
	t, err := encode(key)
	var c core.Call2
	c.Begin(&k.count, 2)
	c.Self(0, o)
	c.Put(1, core.Temp{Value: t.Value, Keep: t.Keep}, err)
	if t.Owned {
		defer release(t.Value)
	}
	if err := c.Do(); err != nil {
		panic(err)
	}
	if n, err := c.IntResult(); err != nil || n == 0 {
		return value, false
	}
	var g core.Call2
	g.Begin(&k.get, 2)
	g.Self(0, o)
	g.Put(1, core.Temp{Value: t.Value, Keep: t.Keep}, nil)
	if err := g.Do(); err != nil {
		panic(err)
	}
	value, err = take[V](g.Take())
	if err != nil {
		panic(inElement(k.name+"["+quote(key)+"]", err))
	}
	return value, true
}

// entries ranges over a map. The functor of the library answers 0 with the key,
// 1 with the value, and 2 by advancing, with false at the end.
func entries[K, V any](k *mapKind, o *core.Object) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		n := k.len(o)
		if n == 0 {
			return
		}
		var c core.Call1
		c.Begin(&k.iterator, 1)
		c.Self(0, o)
		if err := c.Do(); err != nil {
			panic(err)
		}
		functor := core.Own(uintptr(c.Take().Bits))
		defer functor.Release()
		ask := func(what int64) abi.Any {
			var c core.Call1
			c.BeginFunction(functor, 1)
			c.Int(0, what)
			if err := c.Do(); err != nil {
				panic(err)
			}
			return c.Take()
		}
		for i := range n {
			step := func() bool {
				var loan core.Loan
				defer loan.End()
				key, value := ask(0), ask(1)
				defer release(key)
				defer release(value)
				kk, err := element[K](&key, &loan)
				if err != nil {
					panic(inElement(k.name+" key "+itoa(i), err))
				}
				vv, err := element[V](&value, &loan)
				if err != nil {
					panic(inElement(k.name+"["+quote(kk)+"]", err))
				}
				return yield(kk, vv)
			}
			if !step() || i == n-1 || ask(2).Bits == 0 {
				return
			}
		}
	}
}

// goMap copies a map; objects get references of their own.
func goMap[K comparable, V any](k *mapKind, o *core.Object) (m map[K]V, err error) {
	if o == nil {
		return nil, nil
	}
	defer catch(&err)
	m = make(map[K]V)
	for lent, value := range entries[Any, Any](k, o) {
		key, err := valueOf[K](lent)
		if err != nil {
			return nil, inElement(k.name+" key "+itoa(len(m)), err)
		}
		v, err := valueOf[V](value)
		if err != nil {
			return nil, inElement(k.name+"["+quote(lent)+"]", err)
		}
		m[key] = v
	}
	return m, nil
}

// valueOf reads a T from an Any whose object, if it has one, is borrowed.
func valueOf[T any](a Any) (T, error) {
	t, err := a.view()
	if err != nil {
		var none T
		return none, err
	}
	if t.Owned {
		return take[T](t.Value)
	}
	return decode[T](t.Value)
}

// Len returns the number of entries. It panics with an *Error if m is nil or was
// released, as Get and All do.
func (m *Map[K, V]) Len() int { return maps.len(ref(m)) }

// Get returns the value of a key and whether there is one. It panics with an
// *Error if the value is no V.
func (m *Map[K, V]) Get(key K) (V, bool) { return lookup[K, V](&maps, ref(m), key) }

// All ranges over the entries in the order of insertion. Objects are borrowed
// until the next step; [Retain] keeps one.
func (m *Map[K, V]) All() iter.Seq2[K, V] { return entries[K, V](&maps, ref(m)) }

// Len returns the number of entries. It panics with an *Error if d is nil or was
// released, as Get and All do.
func (d *Dict[K, V]) Len() int { return dicts.len(ref(d)) }

// Get returns the value of a key and whether there is one. It panics with an
// *Error if the value is no V.
func (d *Dict[K, V]) Get(key K) (V, bool) { return lookup[K, V](&dicts, ref(d), key) }

// All ranges over the entries in the order of insertion. Objects are borrowed
// until the next step. The dict must not change in the loop.
func (d *Dict[K, V]) All() iter.Seq2[K, V] { return entries[K, V](&dicts, ref(d)) }

// Set stores a value under a key.
func (d *Dict[K, V]) Set(key K, value V) error {
	var c core.Call3
	c.Begin(&dictSetItem, 3)
	c.Self(0, ref(d))
	k, err := encode(key)
	c.Put(1, k, err)
	v, err := encode(value)
	c.Put(2, v, err)
	return c.Do()
}

// Delete removes a key and reports whether it was there.
func (d *Dict[K, V]) Delete(key K) (bool, error) {
	if _, ok := lookup[K, Any](&dicts, ref(d), key); !ok {
		return false, nil
	}
	var c core.Call2
	c.Begin(&dictErase, 2)
	c.Self(0, ref(d))
	k, err := encode(key)
	c.Put(1, k, err)
	return true, c.Do()
}

// Clear removes all entries.
func (d *Dict[K, V]) Clear() error {
	var c core.Call1
	c.Begin(&dictClear, 1)
	c.Self(0, ref(d))
	return c.Do()
}

// Map copies the entries into a Go map; objects get references of their own.
func (m *Map[K, V]) Map() (map[K]V, error) { return goMap[K, V](&maps, ref(m)) }

// Map copies the entries into a Go map; objects get references of their own.
func (d *Dict[K, V]) Map() (map[K]V, error) { return goMap[K, V](&dicts, ref(d)) }
