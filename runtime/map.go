package tvmffi

import (
	"cmp"
	"iter"
	"reflect"
	"runtime"
	"slices"
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
	passMapsWithMapOf(K, V)
}

// MapLike is a parameter that takes a map whose keys or values are interfaces,
// such as the Ref of an object type; see [ArrayLike].
type MapLike[K, V any] interface {
	temporaryOrObject
	passMapsByMapOf()
}

func (*Map[K, V]) passMapsWithMapOf(K, V) {}
func (*Map[K, V]) passMapsByMapOf()       {}
func (*Map[K, V]) theContainer()          {}

// Pair is a key with its value.
type Pair[K, V any] struct {
	Key   K
	Value V
}

// Pairs are Go values that become a Map for the time of a call.
type Pairs[K, V any] struct{ items []Pair[K, V] }

func (Pairs[K, V]) passMapsWithMapOf(K, V) {}
func (Pairs[K, V]) passMapsByMapOf()       {}
func (Pairs[K, V]) theContainer()          {}

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

// len returns the number of entries; it panics if o is nil or has ended.
func (k *mapKind) len(o *core.Object) int {
	if o.Handle() != 0 && core.MapsReadable() {
		n := core.MapSize(o.Handle())
		runtime.KeepAlive(o)
		return n
	}
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

// missing returns the object that stands for a value that is not there; the first
// reference is kept for ever. Nothing is locked while the library is asked, which
// may wait for the Registry.
func missing() (uintptr, error) {
	if m := missingObject.Load(); m != 0 {
		return m, nil
	}
	var c core.Call1
	c.Begin(&getMissing, 0)
	if err := c.Do(); err != nil {
		return 0, err
	}
	m := uintptr(c.Take().Bits)
	if !missingObject.CompareAndSwap(0, m) {
		core.DecRef(m)
	}
	return missingObject.Load(), nil
}

var missingObject atomic.Uintptr

var getMissing = core.Func{Name: "ffi.GetInvalidObject"}

// tableKey returns the key by which a table is read in Go, if it is a text or a
// scalar.
func tableKey[K any](key *K) (k core.MapKey, ok bool) {
	switch p := any(key).(type) {
	case *string:
		return core.TextKey(*p), true
	case *int64:
		return core.ScalarKey(abi.TypeInt, uint64(*p)), true
	case *int:
		return core.ScalarKey(abi.TypeInt, uint64(*p)), true
	case *bool:
		return core.ScalarKey(abi.TypeBool, boolBits(*p)), true
	}
	return k, false
}

// readable reports whether the table of o may be read: not if o is nil or has
// ended, which the functions of the library report.
func readable(o *core.Object) bool { return o.Handle() != 0 && core.MapsReadable() }

// lookup reads the value of a key; it panics if o is nil or has ended, or if the
// key cannot be packed.
func lookup[K, V any](k *mapKind, o *core.Object, key K) (value V, ok bool) {
	if table, plain := tableKey(&key); plain && readable(o) {
		at := core.MapFind(o.Handle(), &table)
		if at == nil {
			return value, false
		}
		value, err := element[V](at, nil)
		runtime.KeepAlive(o)
		if err != nil {
			panic(inElement(k.name+"["+quote(key)+"]", err))
		}
		return value, true
	}
	v, ok := ask(k, o, key)
	if !ok {
		return value, false
	}
	value, err := element[V](&v, nil)
	release(v)
	if err != nil {
		panic(inElement(k.name+"["+quote(key)+"]", err))
	}
	return value, true
}

// ask looks a key up through the library; the value is owned.
func ask[K any](k *mapKind, o *core.Object, key K) (abi.Any, bool) {
	var c core.Call8
	c.Begin(&k.find, 2)
	c.Self(0, o)
	packArgument(&c.Call, 1, key)
	if err := c.Do(); err != nil {
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
			return v, false
		}
	}
	return v, true
}

// mustLookup is lookup of a key that must be there.
func mustLookup[K, V any](k *mapKind, o *core.Object, key K) V {
	value, ok := lookup[K, V](k, o, key)
	if !ok {
		panic(errorf(core.KindKey, "%s: there is no key %s", k.name, quote(key)))
	}
	return value
}

func hasKey[K any](k *mapKind, o *core.Object, key K) bool {
	if table, plain := tableKey(&key); plain && readable(o) {
		found := core.MapFind(o.Handle(), &table) != nil
		runtime.KeepAlive(o)
		return found
	}
	var c core.Call8
	c.Begin(&k.count, 2)
	c.Self(0, o)
	packArgument(&c.Call, 1, key)
	if err := c.Do(); err != nil {
		panic(err)
	}
	n, err := c.IntResult()
	if err != nil {
		panic(err)
	}
	return n > 0
}

// entry reads the value of a key as it is, owned.
func (k *mapKind) entry(o *core.Object, key string) (abi.Any, bool) {
	if !readable(o) {
		return ask(k, o, key)
	}
	table := core.TextKey(key)
	at := core.MapFind(o.Handle(), &table)
	if at == nil {
		return abi.Any{}, false
	}
	retain(*at)
	return *at, true
}

// read calls each with the entries, borrowed, and how many there are from that one
// on, until it returns false. Those of a map that may change are all read before.
// The map lives until read returns, even if it is released meanwhile.
func (k *mapKind) read(o *core.Object, each func(e *abi.MapEntry, left int) bool) {
	if !readable(o) {
		k.readThrough(o, each)
		return
	}
	handle := o.Handle()
	core.IncRef(handle)
	runtime.KeepAlive(o) // until here; the caller may not use it again
	defer core.DecRef(handle)
	walk := core.NewMapWalk(handle)
	if !k.shared {
		for walk.Left > 0 && each(walk.Next(), walk.Left+1) {
		}
		return
	}
	all := make([]abi.MapEntry, walk.Left)
	for i := range all {
		all[i] = *walk.Next()
		retain(all[i].Key)
		retain(all[i].Value)
	}
	eachOf(all, each)
}

// retain adds a reference to the object in v, if there is one.
func retain(v abi.Any) {
	if v.TypeIndex.IsObject() {
		core.IncRef(uintptr(v.Bits))
	}
}

// eachOf calls each with owned entries and releases them.
func eachOf(all []abi.MapEntry, each func(e *abi.MapEntry, left int) bool) {
	defer func() {
		r := core.NewReleaser()
		for _, e := range all {
			r.ReleaseValue(e.Key)
			r.ReleaseValue(e.Value)
		}
		r.Close()
	}()
	for i := range all {
		if !each(&all[i], len(all)-i) {
			return
		}
	}
}

// readThrough is read by the iterator of the library.
func (k *mapKind) readThrough(o *core.Object, each func(e *abi.MapEntry, left int) bool) {
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
	defer cursor.Close()
	all := make([]abi.MapEntry, 0, n)
	for len(all) < n {
		next, err := cursor.Next()
		if err != nil {
			eachOf(all, func(*abi.MapEntry, int) bool { return false })
			panic(err)
		}
		for i := 0; i < len(next); i += 3 {
			all = append(all, abi.MapEntry{Key: next[i], Value: next[i+1]})
		}
	}
	eachOf(all, each)
}

// textReader reads elements as Ts. Short strings of about the same place share one
// piece of memory.
type textReader[T any] struct {
	room   []byte
	isText bool
}

func newTextReader[T any]() (r textReader[T]) {
	_, r.isText = any((*T)(nil)).(*string)
	return r
}

// sharedTexts is how many strings share a piece of memory, about. A longer one than
// longText has its own, so that one long string among short ones costs its size.
const (
	sharedTexts = 64
	longText    = 256
)

// read reads a value, the first of so many that are left.
func (r *textReader[T]) read(v *abi.Any, left int, from core.Lender) (x T, err error) {
	if r.isText {
		if t, ok := core.BorrowText(v); ok {
			if len(t) > longText {
				*as[string](&x) = string(t)
				return x, nil
			}
			if len(t) > len(r.room) {
				r.room = make([]byte, len(t)*min(left, sharedTexts))
			}
			*as[string](&x) = unsafe.String(unsafe.SliceData(r.room), copy(r.room, t))
			r.room = r.room[len(t):]
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
		keys, values := newTextReader[K](), newTextReader[V]()
		k.read(o, func(e *abi.MapEntry, left int) bool {
			key, err := keys.read(&e.Key, left, &loan)
			if err != nil {
				panic(inElement(k.name+" key "+itoa(seen), err))
			}
			value, err := values.read(&e.Value, left, &loan)
			if err != nil {
				panic(inElement(k.name+"["+quote(key)+"]", err))
			}
			if !yield(key, value) {
				return false
			}
			loan.End()
			seen++
			return k.goesOn(o, left)
		})
	}
}

// goesOn ends the loop over a map that was released in it.
func (k *mapKind) goesOn(o *core.Object, left int) bool {
	if left > 1 {
		alive(o, k.name)
	}
	return true
}

// halves ranges over the keys or the values of a map.
func halves[T any](k *mapKind, o *core.Object, what string, half func(*abi.MapEntry) *abi.Any) iter.Seq[T] {
	return func(yield func(T) bool) {
		var loan core.Loan
		defer loan.End()
		seen := 0
		r := newTextReader[T]()
		k.read(o, func(e *abi.MapEntry, left int) bool {
			x, err := r.read(half(e), left, &loan)
			if err != nil {
				panic(inElement(k.name+" "+what+" "+itoa(seen), err))
			}
			if !yield(x) {
				return false
			}
			loan.End()
			seen++
			return k.goesOn(o, left)
		})
	}
}

func keysOf[K any](k *mapKind, o *core.Object) iter.Seq[K] {
	return halves[K](k, o, "key", func(e *abi.MapEntry) *abi.Any { return &e.Key })
}

func valuesOf[V any](k *mapKind, o *core.Object) iter.Seq[V] {
	return halves[V](k, o, "value", func(e *abi.MapEntry) *abi.Any { return &e.Value })
}

// hashableKey is hashable for a key that does not escape elsewhere.
func hashableKey[K any](key K) error { return hashable(reflect.ValueOf(&key).Elem()) }

// goMap copies a map; objects get references of their own.
func goMap[K comparable, V any](k *mapKind, o *core.Object) (m map[K]V, err error) {
	if o == nil {
		return nil, nil
	}
	defer catch(&err)
	m = make(map[K]V, k.len(o))
	kind := reflect.TypeFor[K]().Kind()
	open := kind == reflect.Interface || kind == reflect.Struct || kind == reflect.Array
	keys, values := newTextReader[K](), newTextReader[V]()
	k.read(o, func(e *abi.MapEntry, left int) bool {
		key, failed := keys.read(&e.Key, left, nil)
		if failed != nil {
			err = inElement(k.name+" key "+itoa(len(m)), failed)
			return false
		}
		if open {
			if err = hashableKey(key); err != nil {
				return false
			}
		}
		value, failed := values.read(&e.Value, left, nil)
		if failed != nil {
			err = inElement(k.name+"["+quote(key)+"]", failed)
			m[key] = value // with the others, which are released
			return false
		}
		m[key] = value
		return true
	})
	if err != nil {
		abandon(reflect.ValueOf(m))
		return nil, err
	}
	return m, nil
}

// Len returns the number of entries. It panics with an *Error if m is nil or was
// released, as Get, MustGet, Has and All do.
func (m *Map[K, V]) Len() int { return maps.len(ref(m)) }

// Get returns the value of a key and whether there is one. It panics with an
// *Error if the value is no V.
func (m *Map[K, V]) Get(key K) (V, bool) { return lookup[K, V](&maps, ref(m), key) }

// MustGet returns the value of a key. It panics with an *Error, of kind ErrKey if
// there is no such key.
func (m *Map[K, V]) MustGet(key K) V { return mustLookup[K, V](&maps, ref(m), key) }

// Has reports whether there is a key.
func (m *Map[K, V]) Has(key K) bool { return hasKey(&maps, ref(m), key) }

// All ranges over the entries in the order of insertion. Objects are borrowed
// until the next step; [Retain] keeps one. About 64 short strings share one piece of
// memory.
func (m *Map[K, V]) All() iter.Seq2[K, V] { return entries[K, V](&maps, ref(m)) }

// Keys ranges over the keys as All does.
func (m *Map[K, V]) Keys() iter.Seq[K] { return keysOf[K](&maps, ref(m)) }

// Values ranges over the values as All does.
func (m *Map[K, V]) Values() iter.Seq[V] { return valuesOf[V](&maps, ref(m)) }

// Map copies the entries into a Go map; objects get references of their own.
func (m *Map[K, V]) Map() (map[K]V, error) { return goMap[K, V](&maps, ref(m)) }
