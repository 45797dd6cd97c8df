package tvmffi

import (
	"iter"

	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/fields"
)

// Dict is an ffi.Dict: a mutable map that keeps the order of insertion. All references to
// it, in all languages, share its entries. It has no lock: a goroutine must not use it
// while another one changes it.
type Dict[K comparable, V any] struct {
	_ [0]*Dict[K, V] // see Object
	objectBase
}

var (
	dictSetItem = calls.Func{Name: "ffi.DictSetItem"}
	dictErase   = calls.Func{Name: "ffi.DictErase"}
	dictClear   = calls.Func{Name: "ffi.DictClear"}
)

// TVMFFIType identifies the type to the runtime.
func (*Dict[K, V]) TVMFFIType(*Dict[K, V]) *fields.Type { return &codec.Dicts.Class }

// NewDict returns a new Dict with copies of the pairs. If a key occurs twice, the last
// pair wins.
func NewDict[K comparable, V any](pairs Pairs[K, V]) (*Dict[K, V], error) {
	return newMapOf[*Dict[K, V]](&codec.Dicts.Create, pairs.items)
}

// Len returns the number of entries. Len, Get, MustGet, Has and All panic with an *Error
// if d is nil or was released.
func (d *Dict[K, V]) Len() int { return codec.Dicts.Len(codec.Ref(d)) }

// Get returns the value of a key and reports whether the key exists. An object has a
// reference of its own. Get and Has panic, and Delete fails, where those of [Map] panic.
func (d *Dict[K, V]) Get(key K) (V, bool) { return lookup[K, V](&codec.Dicts, codec.Ref(d), key) }

// MustGet is like Get, but panics with an *Error of kind ErrKey if the key does not exist.
func (d *Dict[K, V]) MustGet(key K) V { return mustLookup[K, V](&codec.Dicts, codec.Ref(d), key) }

// Has reports whether the key exists.
func (d *Dict[K, V]) Has(key K) bool { return hasKey(&codec.Dicts, codec.Ref(d), key) }

// All ranges over the entries in the order of insertion. It ranges over the entries that
// exist when the loop begins, so the loop may change the dict. Objects are borrowed until
// the next step; [Retain] keeps one. Up to about 64 short strings share one piece of
// memory, which each of them keeps alive.
func (d *Dict[K, V]) All() iter.Seq2[K, V] { return codec.Entries[K, V](&codec.Dicts, codec.Ref(d)) }

// Keys ranges over the keys, under the rules of All.
func (d *Dict[K, V]) Keys() iter.Seq[K] { return codec.KeysOf[K](&codec.Dicts, codec.Ref(d)) }

// Values ranges over the values, under the rules of All.
func (d *Dict[K, V]) Values() iter.Seq[V] { return codec.ValuesOf[V](&codec.Dicts, codec.Ref(d)) }

// Set stores a value under a key. It replaces the value of a key that exists.
func (d *Dict[K, V]) Set(key K, value V) error {
	var c calls.Call16
	c.Begin(&dictSetItem, 3)
	c.Self(0, codec.Ref(d))
	codec.PackArgument(&c.Call, 1, key)
	codec.PackArgument(&c.Call, 2, value)
	return c.Do()
}

// Delete removes a key and reports whether it existed.
func (d *Dict[K, V]) Delete(key K) (was bool, err error) {
	defer codec.Catch(&err)
	n := 0
	if codec.Ref(d).Handle() != 0 {
		n = d.Len()
	}
	var c calls.Call8
	c.Begin(&dictErase, 2)
	c.Self(0, codec.Ref(d))
	codec.PackSought(&c.Call, 1, key)
	if err := c.Do(); err != nil {
		return false, err
	}
	return d.Len() < n, nil
}

// Clear removes all entries.
func (d *Dict[K, V]) Clear() error {
	var c calls.Call1
	c.Begin(&dictClear, 1)
	c.Self(0, codec.Ref(d))
	return c.Do()
}

// Map returns the entries as a new Go map. Each object has a reference of its own. The
// error is of kind ErrType if a key is not a K or a value is not a V.
func (d *Dict[K, V]) Map() (map[K]V, error) { return goMap[K, V](&codec.Dicts, codec.Ref(d)) }
