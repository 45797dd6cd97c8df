package codec

import (
	"iter"
	"reflect"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/maptable"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// MapKind holds the functions of a kind of map.
type MapKind struct {
	index                               abi.TypeIndex
	Name                                string
	Class                               fields.Type
	Create, size, find, Count, iterator calls.Func
	// shared says that the map may change while it is read.
	shared bool
}

// MapKindOf returns the kind of maps of an index, nil for values that are not maps.
func MapKindOf(t abi.TypeIndex) *MapKind {
	switch t {
	case Maps.index:
		return &Maps
	case Dicts.index:
		return &Dicts
	}
	return nil
}

// Maps is the kind of Map objects.
var Maps = MapKind{
	index: abi.TypeMap, Name: "Map", Class: fields.Type{Key: "ffi.Map"}, Create: calls.Func{Name: "ffi.Map"}, size: calls.Func{Name: "ffi.MapSize"},
	find: calls.Func{Name: "ffi.MapGetItemOrMissing"}, Count: calls.Func{Name: "ffi.MapCount"}, iterator: calls.Func{Name: "ffi.MapForwardIterFunctor"},
}

// As views x as a B, which T must be.
func As[B, T any](x *T) *B { return (*B)(unsafe.Pointer(x)) }

// Len returns the number of entries; it panics if o is nil or has ended.
func (k *MapKind) Len(o *objects.Object) int {
	if o.Handle() != 0 && maptable.Readable() {
		n := maptable.Size(o.Handle())
		runtime.KeepAlive(o)
		return n
	}
	var c calls.Call1
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
// reference is kept forever. Nothing is locked while the library is asked, which
// may wait for the Registry.
func missing() (uintptr, error) {
	if m := missingObject.Load(); m != 0 {
		return m, nil
	}
	var c calls.Call1
	c.Begin(&getMissing, 0)
	if err := c.Do(); err != nil {
		return 0, err
	}
	m := uintptr(c.Take().Bits)
	if !missingObject.CompareAndSwap(0, m) {
		objects.DecRef(m)
	}
	return missingObject.Load(), nil
}

var missingObject atomic.Uintptr

var getMissing = calls.Func{Name: "ffi.GetInvalidObject"}

// TableKey returns key as Go reads it in a table. It reports false if key is neither a
// text nor a scalar.
func TableKey[K any](key *K) (k maptable.Key, ok bool) {
	switch p := any(key).(type) {
	case *string:
		return maptable.StringKey(*p), true
	case *int64:
		return maptable.ScalarKey(abi.TypeInt, uint64(*p)), true
	case *int:
		return maptable.ScalarKey(abi.TypeInt, uint64(*p)), true
	case *bool:
		return maptable.ScalarKey(abi.TypeBool, BoolBits(*p)), true
	}
	return k, false
}

// Readable reports whether the table of o may be read: not if o is nil or has
// ended, which the functions of the library report.
func Readable(o *objects.Object) bool { return o.Handle() != 0 && maptable.Readable() }

// entry reads the value of a key as it is, owned.
func (k *MapKind) entry(o *objects.Object, key string) (abi.Any, bool) {
	if !Readable(o) {
		return Ask(k, o, key)
	}
	table := maptable.StringKey(key)
	at := maptable.Find(o.Handle(), &table)
	if at == nil {
		return abi.Any{}, false
	}
	retain(*at)
	return *at, true
}

// Read calls each with every entry, which is borrowed, and the number of entries from
// that one on, until it returns false. Of a map that may change it reads all entries
// before the first call. The map lives until Read returns, even if it is released meanwhile.
func (k *MapKind) Read(o *objects.Object, each func(e *abi.MapEntry, left int) bool) {
	if !Readable(o) {
		k.readThrough(o, each)
		return
	}
	handle := o.Handle()
	objects.IncRef(handle)
	runtime.KeepAlive(o) // until here; the caller may not use it again
	defer objects.DecRef(handle)
	walk := maptable.NewWalk(handle)
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
		objects.IncRef(uintptr(v.Bits))
	}
}

// eachOf calls each with owned entries and releases them.
func eachOf(all []abi.MapEntry, each func(e *abi.MapEntry, left int) bool) {
	defer func() {
		r := objects.NewReleaser()
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
func (k *MapKind) readThrough(o *objects.Object, each func(e *abi.MapEntry, left int) bool) {
	n := k.Len(o)
	if n == 0 {
		return
	}
	var c calls.Call1
	c.Begin(&k.iterator, 1)
	c.Self(0, o)
	if err := c.Do(); err != nil {
		panic(err)
	}
	cursor := maptable.NewCursor(objects.Own(uintptr(c.Take().Bits)), n)
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

// stringReader reads elements as Ts. Short strings of about the same place share one
// piece of memory.
type stringReader[T any] struct {
	room     []byte
	isString bool
}

// NewStringReader makes the reader of the elements of one container.
func NewStringReader[T any]() (r stringReader[T]) {
	_, r.isString = any((*T)(nil)).(*string)
	return r
}

// sharedStrings is how many strings share a piece of memory, about. A longer one than
// longString has its own, so that one long string among short ones costs its size.
const (
	sharedStrings = 64
	longString    = 256
)

// Read reads the next value; left counts it too.
func (r *stringReader[T]) Read(v *abi.Any, left int, from objects.Reading) (x T, err error) {
	if r.isString {
		if t, ok := capi.BorrowString(v); ok {
			if len(t) > longString {
				*As[string](&x) = string(t)
				return x, nil
			}
			if len(t) > len(r.room) {
				r.room = make([]byte, len(t)*min(left, sharedStrings))
			}
			*As[string](&x) = unsafe.String(unsafe.SliceData(r.room), copy(r.room, t))
			r.room = r.room[len(t):]
			return x, nil
		}
	}
	return Element[T](v, from)
}

// Entries ranges over a map.
func Entries[K, V any](k *MapKind, o *objects.Object) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		var loan objects.BorrowScope
		defer loan.End()
		from := objects.ReadBorrowed(&loan)
		seen := 0
		keys, values := NewStringReader[K](), NewStringReader[V]()
		k.Read(o, func(e *abi.MapEntry, left int) bool {
			key, err := keys.Read(&e.Key, left, from)
			if err != nil {
				panic(failure.Annotate(k.Name+" key "+Itoa(seen), err))
			}
			value, err := values.Read(&e.Value, left, from)
			if err != nil {
				panic(failure.Annotate(k.Name+"["+Quote(key)+"]", err))
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
func (k *MapKind) goesOn(o *objects.Object, left int) bool {
	if left > 1 {
		Alive(o, k.Name)
	}
	return true
}

// halves ranges over the keys or the values of a map.
func halves[T any](k *MapKind, o *objects.Object, what string, half func(*abi.MapEntry) *abi.Any) iter.Seq[T] {
	return func(yield func(T) bool) {
		var loan objects.BorrowScope
		defer loan.End()
		from := objects.ReadBorrowed(&loan)
		seen := 0
		r := NewStringReader[T]()
		k.Read(o, func(e *abi.MapEntry, left int) bool {
			x, err := r.Read(half(e), left, from)
			if err != nil {
				panic(failure.Annotate(k.Name+" "+what+" "+Itoa(seen), err))
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

// KeysOf ranges over the keys of a map.
func KeysOf[K any](k *MapKind, o *objects.Object) iter.Seq[K] {
	return halves[K](k, o, "key", func(e *abi.MapEntry) *abi.Any { return &e.Key })
}

// ValuesOf ranges over the values of a map.
func ValuesOf[V any](k *MapKind, o *objects.Object) iter.Seq[V] {
	return halves[V](k, o, "value", func(e *abi.MapEntry) *abi.Any { return &e.Value })
}

// HashableKey is hashable for a key that does not escape elsewhere.
func HashableKey[K any](key K) error { return hashable(reflect.ValueOf(&key).Elem()) }

// Ask looks a key up through the library; the value is owned.
func Ask[K any](k *MapKind, o *objects.Object, key K) (abi.Any, bool) {
	var c calls.Call8
	c.Begin(&k.find, 2)
	c.Self(0, o)
	PackSought(&c.Call, 1, key)
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
			Release(v)
			return v, false
		}
	}
	return v, true
}

// Dicts is the kind of Dict objects, which may change.
var Dicts = MapKind{
	index: abi.TypeDict, Name: "Dict", Class: fields.Type{Key: "ffi.Dict"}, Create: calls.Func{Name: "ffi.Dict"}, size: calls.Func{Name: "ffi.DictSize"},
	find: calls.Func{Name: "ffi.DictGetItemOrMissing"}, Count: calls.Func{Name: "ffi.DictCount"}, iterator: calls.Func{Name: "ffi.DictForwardIterFunctor"},
	shared: true,
}
