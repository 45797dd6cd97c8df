package tvmffi

import (
	"cmp"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Map is an ffi.Map: an immutable map that keeps the order of insertion.
type Map[K comparable, V any] struct{ objectBase }

// mapKind holds the functions of a kind of map.
type mapKind struct {
	name                                string
	class                               core.Type
	create, size, find, count, iterator core.Func
	// shared says that the map may change while it is read.
	shared bool
}

var maps = mapKind{
	name: "Map", class: core.Type{Key: "ffi.Map"}, create: core.Func{Name: "ffi.Map"}, size: core.Func{Name: "ffi.MapSize"},
	find: core.Func{Name: "ffi.MapGetItemOrMissing"}, count: core.Func{Name: "ffi.MapCount"}, iterator: core.Func{Name: "ffi.MapForwardIterFunctor"},
}

// TVMFFIType identifies the type to the runtime.
func (*Map[K, V]) TVMFFIType(*Map[K, V]) *core.Type { return &maps.class }

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

func (p Pairs[K, V]) encode(outer *nest) (core.Temp, error) {
	return encodePairs(&maps.create, p.items, outer)
}

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
	sortByKey(items)
	return Pairs[K, V]{items}
}

// sortByKey orders pairs by their keys, of which K is the type.
func sortByKey[K, V any](items []Pair[K, V]) {
	switch reflect.TypeFor[K]().Kind() {
	case reflect.String:
		slices.SortFunc(items, func(a, b Pair[K, V]) int { return cmp.Compare(*as[string](&a.Key), *as[string](&b.Key)) })
	case reflect.Int64:
		slices.SortFunc(items, func(a, b Pair[K, V]) int { return cmp.Compare(*as[int64](&a.Key), *as[int64](&b.Key)) })
	case reflect.Bool:
		slices.SortFunc(items, func(a, b Pair[K, V]) int {
			return cmp.Compare(boolBits(*as[bool](&a.Key)), boolBits(*as[bool](&b.Key)))
		})
	}
}

// as views a value of a named type as the basic type under it.
func as[B, T any](x *T) *B { return (*B)(unsafe.Pointer(x)) }

// NewMap makes a Map of pairs, which are copied.
func NewMap[K comparable, V any](pairs Pairs[K, V]) (*Map[K, V], error) {
	return newMapOf[*Map[K, V]](&maps.create, pairs.items)
}

func newMapOf[P any, K, V any](f *core.Func, items []Pair[K, V]) (P, error) {
	t, err := encodePairs(f, items, nil)
	if err != nil {
		var none P
		return none, err
	}
	return wrap[P](core.Own(uintptr(t.Value.Bits))), nil
}

func encodePairs[K, V any](f *core.Func, items []Pair[K, V], outer *nest) (core.Temp, error) {
	inner, err := outer.enter(reflect.TypeFor[[]Pair[K, V]](), unsafe.Pointer(unsafe.SliceData(items)), len(items))
	if err != nil {
		return core.Temp{}, err
	}
	return packed(f, 2*len(items), func(p *core.Pack) error {
		for i := range items {
			item := &items[i]
			if err := packElement(p, item.Key, inner); err != nil {
				return inElement("key "+quote(item.Key), err)
			}
			if err := packElement(p, item.Value, inner); err != nil {
				return inElement("value of key "+quote(item.Key), err)
			}
		}
		return nil
	})
}

// sizeOfMap says where the size of a map is read.
var sizeOfMap atomic.Int32

const (
	sizeUnknown = iota
	sizeInMemory
	sizeByFunction
)

// len returns the number of entries; it panics if o is nil or has ended.
func (k *mapKind) len(o *core.Object) int {
	if o.Handle() != 0 && sizeOfMap.Load() == sizeInMemory {
		n := core.MapSize(o.Handle())
		runtime.KeepAlive(o)
		return n
	}
	var c core.Call1
	c.Begin(&k.size, 1)
	c.Self(0, o)
	err := c.Do()
	var n int64
	if err == nil {
		n, err = c.IntResult()
	}
	if err != nil {
		panic(err)
	}
	if n > 0 && sizeOfMap.Load() == sizeUnknown {
		// The layout of maps is no part of the C API, though the Rust crate reads it
		// too: a library that differs is asked.
		if core.MapSize(o.Handle()) == int(n) {
			sizeOfMap.Store(sizeInMemory)
		} else {
			sizeOfMap.Store(sizeByFunction)
		}
	}
	return int(n)
}

// missing is the object that stands for a value that is not there.
var missing = sync.OnceValues(func() (uintptr, error) {
	var c core.Call1
	c.Begin(&getMissing, 0)
	err := c.Do()
	return uintptr(c.Take().Bits), err // kept for ever
})

var getMissing = core.Func{Name: "ffi.GetInvalidObject"}

// lookup reads the value of a key; it panics if o is nil or has ended, or if the
// key cannot be packed.
func lookup[K, V any](k *mapKind, o *core.Object, key K) (V, bool) {
	if text, ok := any(&key).(*string); ok && len(*text) > 60 {
		var c core.Call24
		c.Begin(&k.find, 2)
		return lookupBy[K, V](k, o, &c.Call, key)
	}
	var c core.Call6 // room for 63 bytes of text
	c.Begin(&k.find, 2)
	return lookupBy[K, V](k, o, &c.Call, key)
}

func lookupBy[K, V any](k *mapKind, o *core.Object, c *core.Call, key K) (value V, ok bool) {
	c.Self(0, o)
	packArgument(c, 1, key)
	if s, wantsText := any(&value).(*string); wantsText {
		text, isText, err := c.TryString()
		if err != nil {
			panic(err)
		}
		if isText {
			*s = text
			return value, true
		}
	} else if err := c.Do(); err != nil {
		panic(err)
	}
	v := c.Take()
	if v.TypeIndex.IsObject() {
		nothing, err := missing()
		if err != nil {
			panic(err)
		}
		if uintptr(v.Bits) == nothing {
			release(v)
			return value, false
		}
	}
	value, err := element[V](&v, nil)
	release(v)
	if err != nil {
		panic(inElement(k.name+"["+quote(key)+"]", err))
	}
	return value, true
}

func (k *mapKind) has(c *core.Call) bool {
	if err := c.Do(); err != nil {
		panic(err)
	}
	n, err := c.IntResult()
	if err != nil {
		panic(err)
	}
	return n > 0
}

func hasKey[K any](k *mapKind, o *core.Object, key K) bool {
	var c core.Call8
	c.Begin(&k.count, 2)
	c.Self(0, o)
	packArgument(&c.Call, 1, key)
	return k.has(&c.Call)
}

// read calls each with the entries, many at a time: a key, a value and a word
// without meaning, until it returns false. The entries are borrowed. Those of a
// map that may change are all read before.
func (k *mapKind) read(o *core.Object, each func(entries []abi.Any) bool) {
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
	cursor := core.NewCursor(core.Own(uintptr(c.Take().Bits)), n)
	releaser := core.NewReleaser()
	var entries []abi.Any
	drop := func() {
		for i := 0; i < len(entries); i += 3 {
			releaser.ReleaseValue(entries[i])
			releaser.ReleaseValue(entries[i+1])
		}
		entries = nil
	}
	defer func() {
		drop()
		releaser.Close()
		cursor.Close()
		runtime.KeepAlive(o)
	}()
	for {
		next, err := cursor.Next()
		switch {
		case err != nil:
			panic(err)
		case k.shared && len(next) > 0:
			if entries == nil {
				entries = make([]abi.Any, 0, 3*n)
			}
			entries = append(entries, next...)
			continue
		case k.shared:
			each(entries)
			return
		case len(next) == 0:
			return
		}
		entries = next
		if !each(entries) {
			return
		}
		drop()
	}
}

// column reads the keys (0) or the values (1) of entries as Ts. Strings share
// one piece of memory.
type column[T any] struct {
	entries []abi.Any
	which   int
	text    string
	used    int // of text
	isText  bool
}

func columnOf[T any](entries []abi.Any, which int) column[T] {
	c := column[T]{entries: entries, which: which}
	if _, c.isText = any((*T)(nil)).(*string); c.isText {
		c.text = textOfAll(entries, which, 3)
	}
	return c
}

// at reads the entry at i; the entries must be read in order.
func (c *column[T]) at(i int, from core.Lender) (x T, err error) {
	v := &c.entries[i+c.which]
	if c.isText {
		if t, ok := core.BorrowText(v); ok {
			*as[string](&x) = c.text[c.used : c.used+len(t)]
			c.used += len(t)
			return x, nil
		}
	}
	return element[T](v, from)
}

// entries ranges over a map.
func entries[K, V any](k *mapKind, o *core.Object) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		var loan core.Loan
		defer loan.End()
		seen := 0
		k.read(o, func(entries []abi.Any) bool {
			keys, values := columnOf[K](entries, 0), columnOf[V](entries, 1)
			for i := 0; i < len(entries); i += 3 {
				key, err := keys.at(i, &loan)
				if err != nil {
					panic(inElement(k.name+" key "+itoa(seen), err))
				}
				value, err := values.at(i, &loan)
				if err != nil {
					panic(inElement(k.name+"["+quote(key)+"]", err))
				}
				if !yield(key, value) {
					return false
				}
				loan.End()
				seen++
			}
			return true
		})
	}
}

// half ranges over the keys (0) or the values (1) of a map.
func half[T any](k *mapKind, o *core.Object, which int) iter.Seq[T] {
	return func(yield func(T) bool) {
		var loan core.Loan
		defer loan.End()
		seen := 0
		k.read(o, func(entries []abi.Any) bool {
			c := columnOf[T](entries, which)
			for i := 0; i < len(entries); i += 3 {
				x, err := c.at(i, &loan)
				if err != nil {
					panic(inElement(k.name+[]string{" key ", " value "}[which]+itoa(seen), err))
				}
				if !yield(x) {
					return false
				}
				loan.End()
				seen++
			}
			return true
		})
	}
}

// goMap copies a map; objects get references of their own.
func goMap[K comparable, V any](k *mapKind, o *core.Object) (m map[K]V, err error) {
	if o == nil {
		return nil, nil
	}
	defer catch(&err)
	m = make(map[K]V, k.len(o))
	k.read(o, func(entries []abi.Any) bool {
		keys, values := columnOf[K](entries, 0), columnOf[V](entries, 1)
		for i := 0; i < len(entries); i += 3 {
			key, failed := keys.at(i, nil)
			if failed != nil {
				err = inElement(k.name+" key "+itoa(len(m)), failed)
				return false
			}
			value, failed := values.at(i, nil)
			if failed != nil {
				err = inElement(k.name+"["+quote(key)+"]", failed)
				return false
			}
			m[key] = value
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Len returns the number of entries. It panics with an *Error if m is nil or was
// released, as Get, Has and All do.
func (m *Map[K, V]) Len() int { return maps.len(ref(m)) }

// Get returns the value of a key and whether there is one. It panics with an
// *Error if the value is no V.
func (m *Map[K, V]) Get(key K) (V, bool) { return lookup[K, V](&maps, ref(m), key) }

// Has reports whether there is a key.
func (m *Map[K, V]) Has(key K) bool { return hasKey(&maps, ref(m), key) }

// All ranges over the entries in the order of insertion. Objects are borrowed
// until the next step; [Retain] keeps one. Of strings, up to 64 share one piece of
// memory.
func (m *Map[K, V]) All() iter.Seq2[K, V] { return entries[K, V](&maps, ref(m)) }

// Keys ranges over the keys as All does.
func (m *Map[K, V]) Keys() iter.Seq[K] { return half[K](&maps, ref(m), 0) }

// Values ranges over the values as All does.
func (m *Map[K, V]) Values() iter.Seq[V] { return half[V](&maps, ref(m), 1) }

// Map copies the entries into a Go map; objects get references of their own.
func (m *Map[K, V]) Map() (map[K]V, error) { return goMap[K, V](&maps, ref(m)) }
