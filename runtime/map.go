package tvmffi

import (
	"cmp"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/maptable"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Map is an ffi.Map: an immutable map that keeps the order of insertion. K and V are the
// types of its keys and values. The library does not know them: see [Array]. It finds an object
// by its identity. So Get and Has never find a key that becomes a new object, such as an array, a
// struct or a complex number, and two equal ones are two keys: range over All.
type Map[K comparable, V any] struct {
	_ [0]*Map[K, V] // see Object
	objectBase
}

// TVMFFIType identifies the type to the runtime.
func (*Map[K, V]) TVMFFIType(*Map[K, V]) *fields.Type { return &codec.Maps.Class }

// MapArg is a parameter that takes a map of K to V. The argument is a *[Map], which is
// passed by reference, or Go values from [MapOf] or [PairsOf], which are copied. In generated
// code nil is the empty map, unless the parameter is optional: then nil is None.
type MapArg[K comparable, V any] interface {
	theMap()
	passMapsWithMapOf(K, V)
}

// MapLike is a parameter that takes a map whose keys or values are interfaces, such as the
// Ref of an object type. [ArrayLike] describes what is checked.
type MapLike[K, V any] interface {
	theMap()
	passMapsByMapOf()
}

func (*Map[K, V]) passMapsWithMapOf(K, V) {}
func (*Map[K, V]) passMapsByMapOf()       {}
func (*Map[K, V]) theMap()                {}

// Pair is a key and its value.
type Pair[K, V any] struct {
	Key   K
	Value V
}

// Pairs holds Go values that become a Map for the time of a call. [MapOf] and [PairsOf]
// make it.
type Pairs[K, V any] struct{ items []Pair[K, V] }

func (Pairs[K, V]) passMapsWithMapOf(K, V) {}
func (Pairs[K, V]) passMapsByMapOf()       {}
func (Pairs[K, V]) theMap()                {}

func (p Pairs[K, V]) encode(outer *codec.Nest) (values.AnyView, error) {
	return encodePairs(&codec.Maps.Create, p.items, outer)
}

// PairsOf collects keys and values for a parameter that takes a map, and keeps their order.
// If a key occurs twice, the last pair wins.
func PairsOf[K, V any](items ...Pair[K, V]) Pairs[K, V] { return Pairs[K, V]{items} }

// MapOf returns the entries of a Go map as pairs, sorted by key, so that their order is
// always the same. For keys of other types, such as objects, use [PairsOf].
func MapOf[K interface{ ~string | ~int64 | ~bool }, V any](m map[K]V) Pairs[K, V] {
	items := make([]Pair[K, V], 0, len(m))
	for k, v := range m {
		items = append(items, Pair[K, V]{k, v})
	}
	sortByKey(items)
	return Pairs[K, V]{items}
}

// sortByKey sorts pairs by their keys.
func sortByKey[K, V any](items []Pair[K, V]) {
	switch reflect.TypeFor[K]().Kind() {
	case reflect.String:
		slices.SortFunc(items, func(a, b Pair[K, V]) int { return cmp.Compare(*codec.As[string](&a.Key), *codec.As[string](&b.Key)) })
	case reflect.Int64:
		slices.SortFunc(items, func(a, b Pair[K, V]) int { return cmp.Compare(*codec.As[int64](&a.Key), *codec.As[int64](&b.Key)) })
	case reflect.Bool:
		slices.SortFunc(items, func(a, b Pair[K, V]) int {
			return cmp.Compare(codec.BoolBits(*codec.As[bool](&a.Key)), codec.BoolBits(*codec.As[bool](&b.Key)))
		})
	}
}

// NewMap returns a new Map with copies of the pairs. If a key occurs twice, the last pair
// wins.
func NewMap[K comparable, V any](pairs Pairs[K, V]) (*Map[K, V], error) {
	return newMapOf[*Map[K, V]](&codec.Maps.Create, pairs.items)
}

func newMapOf[P any, K, V any](f *calls.Func, items []Pair[K, V]) (P, error) {
	t, err := encodePairs(f, items, nil)
	if err != nil {
		var none P
		return none, err
	}
	return codec.Wrap[P](objects.Own(uintptr(t.Value.Bits))), nil
}

func encodePairs[K, V any](f *calls.Func, items []Pair[K, V], outer *codec.Nest) (values.AnyView, error) {
	inner, err := outer.Enter(reflect.TypeFor[[]Pair[K, V]](), unsafe.Pointer(unsafe.SliceData(items)), len(items))
	if err != nil {
		return values.AnyView{}, err
	}
	return codec.Packed(f, 2*len(items), func(p *calls.Pack) error {
		for i := range items {
			item := &items[i]
			if err := codec.PackElement(p, item.Key, inner); err != nil {
				return failure.Annotate("key "+codec.Quote(item.Key), err)
			}
			if err := codec.PackElement(p, item.Value, inner); err != nil {
				return failure.Annotate("value of key "+codec.Quote(item.Key), err)
			}
		}
		return nil
	})
}

// lookup returns the value of a key. It panics if o is nil or has ended, if the key cannot
// be packed, or if the value is not a V.
func lookup[K, V any](k *codec.MapKind, o *objects.Object, key K) (value V, ok bool) {
	if table, plain := codec.TableKey(&key); plain && codec.Readable(o) {
		at := maptable.Find(o.Handle(), &table)
		if at == nil {
			return value, false
		}
		value, err := codec.Element[V](at, objects.ReadOwned())
		runtime.KeepAlive(o)
		if err != nil {
			panic(failure.Annotate(k.Name+"["+codec.Quote(key)+"]", err))
		}
		return value, true
	}
	v, ok := codec.Ask(k, o, key)
	if !ok {
		return value, false
	}
	value, err := codec.Element[V](&v, objects.ReadOwned())
	codec.Release(v)
	if err != nil {
		panic(failure.Annotate(k.Name+"["+codec.Quote(key)+"]", err))
	}
	return value, true
}

// mustLookup is like lookup, but panics if the key does not exist.
func mustLookup[K, V any](k *codec.MapKind, o *objects.Object, key K) V {
	value, ok := lookup[K, V](k, o, key)
	if !ok {
		panic(failure.Errorf(failure.KindKey, "%s: there is no key %s", k.Name, codec.Quote(key)))
	}
	return value
}

func hasKey[K any](k *codec.MapKind, o *objects.Object, key K) bool {
	if table, plain := codec.TableKey(&key); plain && codec.Readable(o) {
		found := maptable.Find(o.Handle(), &table) != nil
		runtime.KeepAlive(o)
		return found
	}
	var c calls.Call8
	c.Begin(&k.Count, 2)
	c.Self(0, o)
	codec.PackSought(&c.Call, 1, key)
	if err := c.Do(); err != nil {
		panic(err)
	}
	n, err := c.IntResult()
	if err != nil {
		panic(err)
	}
	return n > 0
}

// goMap copies a map to a Go map. Each object gets a reference of its own.
func goMap[K comparable, V any](k *codec.MapKind, o *objects.Object) (m map[K]V, err error) {
	if o == nil {
		return nil, nil
	}
	defer codec.Catch(&err)
	m = make(map[K]V, k.Len(o))
	kind := reflect.TypeFor[K]().Kind()
	open := kind == reflect.Interface || kind == reflect.Struct || kind == reflect.Array
	coarse := open || kind == reflect.Float32 || kind == reflect.Float64 || kind == reflect.Complex64 || kind == reflect.Complex128 // 0 == -0
	keys, values := codec.NewStringReader[K](), codec.NewStringReader[V]()
	k.Read(o, func(e *abi.MapEntry, left int) bool {
		key, failed := keys.Read(&e.Key, left, objects.ReadOwned())
		if failed != nil {
			err = failure.Annotate(k.Name+" key "+codec.Itoa(len(m)), failed)
			return false
		}
		if open {
			if err = codec.HashableKey(key); err != nil {
				return false
			}
		}
		if coarse {
			if _, ok := m[key]; ok {
				err = codec.SameKeys(k, key)
				return false
			}
		}
		value, failed := values.Read(&e.Value, left, objects.ReadOwned())
		if failed != nil {
			err = failure.Annotate(k.Name+"["+codec.Quote(key)+"]", failed)
			m[key] = value // it is released with the others
			return false
		}
		m[key] = value
		return true
	})
	if err != nil {
		codec.Abandon(reflect.ValueOf(m))
		return nil, err
	}
	return m, nil
}

// Len returns the number of entries. Len, Get, MustGet, Has and All panic with an *Error
// if m is nil or was released.
func (m *Map[K, V]) Len() int { return codec.Maps.Len(codec.Ref(m)) }

// Get returns the value of a key and reports whether the key exists. An object has a
// reference of its own. Get panics with an *Error if the value is not a V, and, as Has does, if the key is a Go value that
// becomes a new object, such as an array: the library finds objects by their address.
func (m *Map[K, V]) Get(key K) (V, bool) { return lookup[K, V](&codec.Maps, codec.Ref(m), key) }

// MustGet is like Get, but panics with an *Error of kind ErrKey if the key does not exist.
func (m *Map[K, V]) MustGet(key K) V { return mustLookup[K, V](&codec.Maps, codec.Ref(m), key) }

// Has reports whether the key exists.
func (m *Map[K, V]) Has(key K) bool { return hasKey(&codec.Maps, codec.Ref(m), key) }

// All ranges over the entries in the order of insertion. Objects are borrowed until the
// next step; [Retain] keeps one. Up to about 64 short strings share one piece of memory,
// which each of them keeps alive.
func (m *Map[K, V]) All() iter.Seq2[K, V] { return codec.Entries[K, V](&codec.Maps, codec.Ref(m)) }

// Keys ranges over the keys, under the rules of All.
func (m *Map[K, V]) Keys() iter.Seq[K] { return codec.KeysOf[K](&codec.Maps, codec.Ref(m)) }

// Values ranges over the values, under the rules of All.
func (m *Map[K, V]) Values() iter.Seq[V] { return codec.ValuesOf[V](&codec.Maps, codec.Ref(m)) }

// Map returns the entries as a new Go map. Each object has a reference of its own. The
// error is of kind ErrType if a key is not a K or a value is not a V, and ErrValue if Go takes two
// keys for the same, such as 0.0 and -0.0.
func (m *Map[K, V]) Map() (map[K]V, error) { return goMap[K, V](&codec.Maps, codec.Ref(m)) }
