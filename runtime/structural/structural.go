package structural

import (
	"runtime"
	"sync"
	"weak"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var (
	structuralEqual    = codec.NewLibraryFunc("ffi.StructuralEqual", "0.1.9")
	structuralHash     = codec.NewLibraryFunc("ffi.StructuralHash", "0.1.9")
	structuralMismatch = codec.NewLibraryFunc("ffi.GetFirstStructuralMismatch", "0.1.9")
	structuralKey      = codec.NewLibraryFunc("ffi.StructuralKey", "0.1.9")
	structuralKeyEqual = codec.NewLibraryFunc("ffi.StructuralKeyEqual", "0.1.9")
)

// Option changes how values are compared by their structure.
type Option uint8

const (
	// MapFreeVars lets variables that neither value defines stand for each other.
	MapFreeVars Option = 1 << iota
	// SkipTensorContent compares tensors by shape and data type alone.
	SkipTensorContent
)

func flags(options []Option) (freeVars, skipTensors abi.Any) {
	var all Option
	for _, o := range options {
		all |= o
	}
	return codec.BoolValue(all&MapFreeVars != 0), codec.BoolValue(all&SkipTensorContent != 0)
}

// Equal reports whether x and y have the same structure: the same types, elements and fields,
// where variables are the same if they are defined at the same place. Compilers compare
// programs this way; [tvmffi.Equal] compares values by contents. A value that contains itself
// or is nested deeper than 1000 levels is an ErrValue, here and in the other functions that
// recurse: the library would overflow its stack. So is one whose shared parts would be visited
// more than 2^27 times, but for [Walk] and the like, whose callbacks can end them.
func Equal(x, y any, options ...Option) (bool, error) {
	freeVars, skipTensors := flags(options)
	return byStructure[bool](structuralEqual, x, y, freeVars, skipTensors)
}

// Hash returns a hash of the structure of x: values that
// [Equal] finds equal with the same options have the same one.
func Hash(x any, options ...Option) (uint64, error) {
	var o codec.PackedArgs
	defer o.Close()
	v, err := o.Pack(x)
	if err == nil {
		err = codec.Finite(v, false)
	}
	if err != nil {
		return 0, err
	}
	freeVars, skipTensors := flags(options)
	out, err := structuralHash.Call(v, freeVars, skipTensors)
	if err != nil {
		return 0, err
	}
	h, err := codec.Take[int64](out)
	return uint64(h), err
}

// byStructure calls f with two values that the library may recurse into.
func byStructure[R any](f *codec.LibraryFunc, x, y any, more ...abi.Any) (result R, err error) {
	return codec.CallWithTwo[R](f, (*codec.PackedArgs).PackFinite, x, y, more)
}

// Mismatch says where two values first differ.
type Mismatch struct {
	// X and Y lead to the places in the two values; the caller releases them.
	X, Y *AccessPath
}

// String returns both paths.
func (m *Mismatch) String() string { return m.X.String() + " != " + m.Y.String() }

// Release releases both paths. It does nothing for nil.
func (m *Mismatch) Release() {
	if m != nil {
		codec.Ref(m.X).Release()
		codec.Ref(m.Y).Release()
	}
}

// FirstMismatch returns where x and y first differ in structure, nil if they
// do not.
func FirstMismatch(x, y any, options ...Option) (*Mismatch, error) {
	freeVars, skipTensors := flags(options)
	pair, err := byStructure[*tvmffi.Tuple2[*AccessPath, *AccessPath]](structuralMismatch, x, y, freeVars, skipTensors)
	if err != nil || pair == nil {
		return nil, err
	}
	return &Mismatch{pair.A, pair.B}, nil
}

// Key is a map key made from a value: two keys are == exactly if their values have the same
// structure. It is the key of a Go map:
//
//	seen := map[structural.Key]int{}
//	key, err := structural.KeyOf(function)
//	seen[key]++
//
// The zero key equals no value's key. The value of a key must not change, because
// a List or Dict inside it could then equal another. As an argument of a function or a key
// of a Map it is an ffi.StructuralKey. Keys may be used by many goroutines.
type Key struct{ entry *keyEntry }

// keyEntry is the only entry of its structure while a key refers to it.
type keyEntry struct {
	key  *objects.Object // ffi.StructuralKey
	hash uint64
}

// keyEntries holds the entries by hash, as unique.Make does.
var keyEntries struct {
	mu      sync.Mutex
	buckets map[uint64][]weak.Pointer[keyEntry]
}

var (
	typeStructuralKey = fields.Type{Key: "ffi.StructuralKey"}
	keyHash           = fields.Field{Owner: &typeStructuralKey, Name: "hash_i64"}
	keyValue          = fields.Field{Owner: &typeStructuralKey, Name: "key"}
)

// KeyOf returns the key of a value of any type.
func KeyOf(x any) (Key, error) {
	var o codec.PackedArgs
	defer o.Close()
	v, err := o.PackFinite(x)
	if err != nil {
		return Key{}, err
	}
	out, err := structuralKey.Call(v)
	if err != nil {
		return Key{}, err
	}
	fresh := &keyEntry{key: objects.Own(uintptr(out.Bits))}
	fresh.hash = uint64(keyHash.Int(fresh.key))
	found, err := internKey(fresh)
	if err != nil || found != fresh {
		fresh.key.Release()
	}
	return Key{found}, err
}

// internKey returns the entry that equals fresh, which may become it. The library
// compares outside the lock, because it may call Go.
func internKey(fresh *keyEntry) (*keyEntry, error) {
	compared := map[*keyEntry]bool{}
	for {
		var next *keyEntry
		keyEntries.mu.Lock()
		for _, w := range keyEntries.buckets[fresh.hash] {
			if e := w.Value(); e != nil && !compared[e] {
				next = e
				break
			}
		}
		if next == nil {
			addKey(fresh)
			keyEntries.mu.Unlock()
			return fresh, nil
		}
		keyEntries.mu.Unlock()
		compared[next] = true
		equal, err := codec.Binary[bool](structuralKeyEqual, codec.Wrap[*tvmffi.Object](fresh.key), codec.Wrap[*tvmffi.Object](next.key))
		if err != nil {
			return nil, err
		}
		if equal {
			return next, nil
		}
	}
}

// addKey enters e, under the lock, until the collector takes it.
func addKey(e *keyEntry) {
	if keyEntries.buckets == nil {
		keyEntries.buckets = map[uint64][]weak.Pointer[keyEntry]{}
	}
	e.key.LeaveToCollector()
	w := weak.Make(e)
	keyEntries.buckets[e.hash] = append(keyEntries.buckets[e.hash], w)
	runtime.AddCleanup(e, removeKey, keyPlace{e.hash, w})
}

type keyPlace struct {
	hash uint64
	at   weak.Pointer[keyEntry]
}

func removeKey(p keyPlace) {
	keyEntries.mu.Lock()
	defer keyEntries.mu.Unlock()
	bucket := keyEntries.buckets[p.hash]
	for i, w := range bucket {
		if w == p.at {
			bucket[i] = bucket[len(bucket)-1]
			bucket = bucket[:len(bucket)-1]
			break
		}
	}
	if len(bucket) == 0 {
		delete(keyEntries.buckets, p.hash)
	} else {
		keyEntries.buckets[p.hash] = bucket
	}
}

// Hash returns the structural hash of the value; 0 for the zero key.
func (k Key) Hash() uint64 {
	if k.entry == nil {
		return 0
	}
	return k.entry.hash
}

// Value returns the value of the key, an object with its own reference; None for the zero key.
func (k Key) Value() tvmffi.Any {
	if k.entry == nil {
		return tvmffi.Any{}
	}
	return codec.TakeAnyAs[tvmffi.Any](keyValue.Get(k.entry.key))
}

// String returns the text of the value.
func (k Key) String() string {
	v := k.Value()
	defer v.Release()
	s, err := tvmffi.Repr(v)
	if err != nil {
		return err.Error()
	}
	return s
}

// FFIValue returns the ffi.StructuralKey behind k; the zero key is None.
func (k Key) FFIValue() (any, error) {
	if k.entry == nil {
		return nil, nil
	}
	return codec.Wrap[*tvmffi.Object](k.entry.key), nil
}
