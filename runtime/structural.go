package tvmffi

import (
	"runtime"
	"sync"
	"weak"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

var (
	structuralEqual    = newFeature("ffi.StructuralEqual", "0.1.9")
	structuralHash     = newFeature("ffi.StructuralHash", "0.1.9")
	structuralMismatch = newFeature("ffi.GetFirstStructuralMismatch", "0.1.9")
	structuralKey      = newFeature("ffi.StructuralKey", "0.1.9")
	structuralKeyEqual = newFeature("ffi.StructuralKeyEqual", "0.1.9")
)

// StructuralOption changes how values are compared by their structure.
type StructuralOption uint8

const (
	// MapFreeVars lets variables that neither value defines stand for each other.
	MapFreeVars StructuralOption = 1 << iota
	// SkipTensorContent compares tensors by shape and data type alone.
	SkipTensorContent
)

func flags(options []StructuralOption) (freeVars, skipTensors abi.Any) {
	var all StructuralOption
	for _, o := range options {
		all |= o
	}
	return boolValue(all&MapFreeVars != 0), boolValue(all&SkipTensorContent != 0)
}

// StructuralEqual reports whether x and y have the same structure: the same types,
// elements and fields, where variables are the same if they are defined at the same
// place. It is how a compiler compares programs; [Equal] is how values compare.
// Values that contain themselves or are nested deeper than 1000 levels are
// ErrValue, here and in all functions that go by structure: the library would
// overflow its stack.
func StructuralEqual(x, y any, options ...StructuralOption) (bool, error) {
	freeVars, skipTensors := flags(options)
	return byStructure[bool](structuralEqual, x, y, freeVars, skipTensors)
}

// StructuralHash returns a hash of the structure of x: values that
// [StructuralEqual] finds equal with the same options have the same one.
func StructuralHash(x any, options ...StructuralOption) (uint64, error) {
	var o operands
	defer o.close()
	v, err := o.packBounded(x)
	if err != nil {
		return 0, err
	}
	freeVars, skipTensors := flags(options)
	out, err := structuralHash.call(v, freeVars, skipTensors)
	if err != nil {
		return 0, err
	}
	h, err := take[int64](out)
	return uint64(h), err
}

// byStructure calls f with two values that the library may take apart.
func byStructure[R any](f *feature, x, y any, more ...abi.Any) (result R, err error) {
	return callWithTwo[R](f, (*operands).packBounded, x, y, more)
}

// Mismatch says where two values first differ.
type Mismatch struct {
	// X and Y lead to the places in the two values; they are to be released.
	X, Y *AccessPath
}

// String returns both paths.
func (m *Mismatch) String() string { return m.X.String() + " != " + m.Y.String() }

// Release releases both paths. It does nothing for nil.
func (m *Mismatch) Release() {
	if m != nil {
		ref(m.X).Release()
		ref(m.Y).Release()
	}
}

// StructuralMismatch returns where x and y first differ in structure, nil if they
// do not.
func StructuralMismatch(x, y any, options ...StructuralOption) (*Mismatch, error) {
	freeVars, skipTensors := flags(options)
	pair, err := byStructure[*Tuple2[*AccessPath, *AccessPath]](structuralMismatch, x, y, freeVars, skipTensors)
	if err != nil || pair == nil {
		return nil, err
	}
	return &Mismatch{pair.A, pair.B}, nil
}

// StructuralKey is a value in the role of a map key: two keys are == exactly if
// their values have the same structure. It is the key of a Go map:
//
//	seen := map[tvmffi.StructuralKey]int{}
//	key, err := tvmffi.StructuralKeyOf(function)
//	seen[key]++
//
// The zero key is that of no value. What a key holds must not change: a List or
// Dict inside of it could then equal another. As an argument of a function or a key
// of a Map it is an ffi.StructuralKey. Keys may be used by many goroutines.
type StructuralKey struct{ entry *keyEntry }

// keyEntry is the only one of its structure while a key refers to it.
type keyEntry struct {
	key  *core.Object // ffi.StructuralKey
	hash uint64
}

// keyEntries holds the entries by hash, as unique.Make does.
var keyEntries struct {
	mu      sync.Mutex
	buckets map[uint64][]weak.Pointer[keyEntry]
}

var (
	typeStructuralKey = core.Type{Key: "ffi.StructuralKey"}
	keyHash           = core.Field{Owner: &typeStructuralKey, Name: "hash_i64"}
	keyValue          = core.Field{Owner: &typeStructuralKey, Name: "key"}
)

// StructuralKeyOf returns the key of a value of any type.
func StructuralKeyOf(x any) (StructuralKey, error) {
	var o operands
	defer o.close()
	v, err := o.packBounded(x)
	if err != nil {
		return StructuralKey{}, err
	}
	out, err := structuralKey.call(v)
	if err != nil {
		return StructuralKey{}, err
	}
	fresh := &keyEntry{key: core.Own(uintptr(out.Bits))}
	fresh.hash = uint64(keyHash.Int(fresh.key))
	found, err := internKey(fresh)
	if err != nil || found != fresh {
		fresh.key.Release()
	}
	return StructuralKey{found}, err
}

// internKey returns the entry that equals fresh, which may become it. The library
// compares outside of the lock, because it may call Go.
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
		equal, err := binary[bool](structuralKeyEqual, wrap[*Object](fresh.key), wrap[*Object](next.key))
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
func (k StructuralKey) Hash() uint64 {
	if k.entry == nil {
		return 0
	}
	return k.entry.hash
}

// Value returns the value of the key, an object with a reference of its own; None
// for the zero key.
func (k StructuralKey) Value() Any {
	if k.entry == nil {
		return Any{}
	}
	return takeAny(keyValue.Get(k.entry.key))
}

// String returns the text of the value.
func (k StructuralKey) String() string {
	v := k.Value()
	defer v.Release()
	s, err := Sprint(v)
	if err != nil {
		return err.Error()
	}
	return s
}

// encode makes the key an ffi.StructuralKey.
func (k StructuralKey) encode(*nest) (core.Temp, error) {
	if k.entry == nil {
		return core.Temp{}, nil
	}
	return encodeObject(k.entry.key)
}
