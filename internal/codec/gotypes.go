package codec

import (
	"cmp"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// The codecs of Go slices, arrays and maps.

// Sequence is [Elements] with an error that names what was expected.
func Sequence(v abi.Any, want string) ([]abi.Any, error) {
	all, ok := Elements(v)
	if !ok {
		return nil, WrongType(want, v)
	}
	return all, nil
}

// sliceCodec converts between Arrays and Go slices and arrays; a List is read
// too.
func sliceCodec(t reflect.Type) *Codec {
	// The codec of the element is looked up on use: []T may occur in T.
	name := "ffi.Array of " + t.Elem().String()
	nests := sync.OnceValue(func() bool { return Recursive(t) })
	c := &Codec{
		Name: name,
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			if isColumn(v, t.Elem()) {
				return decodeColumn(v, reflect.NewAt(t, p).Elem())
			}
			all, err := Sequence(v, name)
			if err != nil {
				return err
			}
			if nests() {
				if from, err = Descend(from); err != nil {
					return err
				}
			}
			return decodeSlice(all, from, reflect.NewAt(t, p).Elem())
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		return encodeSlice(reflect.NewAt(t, p), outer)
	})
}

// decodeSlice reads the elements of a sequence into a slice, which it makes, or an array.
func decodeSlice(all []abi.Any, from objects.Reading, out reflect.Value) error {
	t := out.Type()
	if t.Kind() == reflect.Slice {
		out.Set(reflect.MakeSlice(t, len(all), len(all)))
	} else if t.Len() != len(all) {
		return failure.Errorf(failure.KindType, "expected %s, got an array of %d elements", t, len(all))
	}
	item := Of(t.Elem())
	for i := readAll(all, from.Loose || from.Numbers, out.Addr().Interface()); i < len(all); i++ {
		if err := item.Decode(all[i], from, out.Index(i).Addr().UnsafePointer()); err != nil {
			Abandon(out)
			return failure.Annotate("element "+Itoa(i), err)
		}
	}
	return nil
}

// encodeSlice packs what p, a pointer to a slice or an array, points to. The common
// slices are packed without reflection.
func encodeSlice(p reflect.Value, outer *Nest) (values.AnyView, error) {
	switch s := p.Interface().(type) {
	case *[]int64:
		return EncodeArray(*s, outer)
	case *[]int:
		return EncodeArray(*s, outer)
	case *[]int32:
		return EncodeArray(*s, outer)
	case *[]float64:
		return EncodeArray(*s, outer)
	case *[]float32:
		return EncodeArray(*s, outer)
	case *[]bool:
		return EncodeArray(*s, outer)
	case *[]string:
		return EncodeArray(*s, outer)
	}
	v := p.Elem()
	t, n, inner := v.Type(), v.Len(), outer
	if t.Kind() == reflect.Slice {
		var err error
		if inner, err = outer.Enter(t, v.UnsafePointer(), n); err != nil {
			return values.AnyView{}, err
		}
	}
	item := Of(t.Elem())
	return PackedIn(inner, &NewArray, n, func(args *calls.Pack) error {
		for i := range n {
			if err := Pack(args, item, v.Index(i).Addr().UnsafePointer(), inner); err != nil {
				return failure.Annotate("element "+Itoa(i), err)
			}
		}
		return nil
	})
}

// Abandon releases the objects in a value that was read in part, before an error:
// nobody gets it.
func Abandon(v reflect.Value) {
	if !v.CanInterface() {
		return
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Struct:
			for i := range v.Len() {
				Abandon(v.Index(i))
			}
		}
	case reflect.Map:
		for all := v.MapRange(); all.Next(); {
			Abandon(all.Key())
			Abandon(all.Value())
		}
	case reflect.Pointer, reflect.Interface:
		if x, ok := v.Interface().(objects.Ref); ok {
			objects.StateOf(x).Release()
		} else if !v.IsNil() {
			Abandon(v.Elem())
		}
	case reflect.Struct:
		if c := Of(v.Type()); c.Abandon != nil {
			c.Abandon(v)
		}
	}
}

// goMapCodec packs a Go map as a Map, sorted by key, and reads a Map or a Dict.
func goMapCodec(t reflect.Type) *Codec {
	name := "ffi.Map for " + t.String()
	nests := sync.OnceValue(func() bool { return Recursive(t) })
	c := &Codec{
		Name: name,
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) (err error) {
			kind := MapKindOf(v.TypeIndex)
			if kind == nil {
				return WrongType(name, v)
			}
			plain := objects.Reading{Loose: from.Loose, Numbers: from.Numbers, Strict: from.Strict}
			from = from.Collected() // a Go map owns its objects
			if nests() {
				if from, err = Descend(from); err != nil {
					return err
				}
			}
			o := objects.Static(uintptr(v.Bits)) // the caller keeps it alive
			return decodeMap(kind, o, plain, from, reflect.NewAt(t, p).Elem())
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		return encodeMap(reflect.NewAt(t, p).Elem(), outer)
	})
}

// decodeMap reads the entries of a Map or a Dict into a Go map, which it makes: keys as
// plain says, values as from says.
func decodeMap(kind *MapKind, o *objects.Object, plain, from objects.Reading, to reflect.Value) (err error) {
	defer Catch(&err)
	t := to.Type()
	out := reflect.MakeMap(t)
	keys, values := Of(t.Key()), Of(t.Elem())
	kind.Read(o, func(e *abi.MapEntry, _ int) bool {
		k, x := reflect.New(t.Key()), reflect.New(t.Elem())
		if err = keys.Decode(e.Key, plain, k.UnsafePointer()); err != nil {
			err = failure.Annotate("a key", err)
			return false
		}
		if err = hashable(k.Elem()); err != nil {
			if from.Plain { // no Map is at hand
				err = failure.Annotate("a key", WrongType("a value that Go compares by ==, such as a text or a number", e.Key))
			}
			return false
		}
		if err = values.Decode(e.Value, from, x.UnsafePointer()); err != nil {
			Abandon(k.Elem())
			err = failure.Annotate("value of key "+Quote(k.Elem().Interface()), err)
			return false
		}
		before := out.Len()
		if out.SetMapIndex(k.Elem(), x.Elem()); out.Len() == before {
			err = SameKeys(kind, k.Elem())
		}
		return err == nil
	})
	if err != nil {
		Abandon(out)
		return err
	}
	to.Set(out)
	return nil
}

// DecodePlain reads an Array as a []any, and a Map as a map[string]any or, if not all keys are
// strings, as a map[any]any, in which a key that is a container stays an object. It returns false
// for other values.
func DecodePlain(v abi.Any, from objects.Reading) (any, bool, error) {
	class := crossing.ClassOf(v.TypeIndex)
	if !class.Container() || crossing.Mutable(v.TypeIndex) {
		return nil, false, nil
	}
	from, err := Descend(from)
	if err != nil {
		return nil, true, err
	}
	if class == crossing.Sequence {
		items, err := DecodeFrom[[]any](v, from)
		return items, true, err
	}
	all, err := DecodeFrom[map[any]any](v, from)
	if err != nil {
		return nil, true, err
	}
	texts := make(map[string]any, len(all))
	for k, x := range all {
		text, ok := k.(string)
		if !ok {
			return all, true, nil
		}
		texts[text] = x
	}
	return texts, true, nil
}

// encodeMap packs a Go map as a Map, sorted by key.
func encodeMap(m reflect.Value, outer *Nest) (values.AnyView, error) {
	t := m.Type()
	inner, err := outer.Enter(t, m.UnsafePointer(), m.Len())
	if err != nil {
		return values.AnyView{}, err
	}
	if t.Key() == reflect.TypeFor[string]() {
		switch p := m.Addr().UnsafePointer(); t.Elem() { // without reflection
		case reflect.TypeFor[int64]():
			return encodeTexts(*(*map[string]int64)(p), inner)
		case reflect.TypeFor[int]():
			return encodeTexts(*(*map[string]int)(p), inner)
		case reflect.TypeFor[float64]():
			return encodeTexts(*(*map[string]float64)(p), inner)
		case reflect.TypeFor[string]():
			return encodeTexts(*(*map[string]string)(p), inner)
		case reflect.TypeFor[any]():
			return encodeTexts(*(*map[string]any)(p), inner)
		}
	}
	sorted := sortedEntries(m)
	keys, elems := Of(t.Key()), Of(t.Elem())
	made, err := PackedIn(inner, &Maps.Create, 2*len(sorted), func(args *calls.Pack) error {
		for _, e := range sorted {
			key, value := reflect.New(t.Key()), reflect.New(t.Elem())
			key.Elem().Set(e.Key)
			if err := Pack(args, keys, key.UnsafePointer(), inner); err != nil {
				return failure.Annotate("key "+Quote(e.Key), err)
			}
			value.Elem().Set(e.Value)
			if err := Pack(args, elems, value.UnsafePointer(), inner); err != nil {
				return failure.Annotate("value of key "+Quote(e.Key), err)
			}
		}
		return nil
	})
	if err == nil && made.Owned && Maps.Len(objects.Static(uintptr(made.Value.Bits))) != len(sorted) {
		Release(made.Value) // such as any(1) and any(int64(1)), or two NaNs
		return values.AnyView{}, failure.Errorf(failure.KindValue, "two keys of the %s are the same key of an ffi.Map", t)
	}
	return made, err
}

// encodeTexts is encodeMap for the common maps.
func encodeTexts[V any](m map[string]V, inner *Nest) (values.AnyView, error) {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return PackedIn(inner, &Maps.Create, 2*len(keys), func(args *calls.Pack) error {
		for _, key := range keys {
			if err := args.String(key); err != nil {
				return failure.Annotate("key "+Quote(key), err)
			}
			if err := PackElement(args, m[key], inner); err != nil {
				return failure.Annotate("value of key "+Quote(key), err)
			}
		}
		return nil
	})
}

// mapEntry is an entry of a Go map.
type mapEntry struct{ Key, Value reflect.Value }

// sortedEntries returns the entries of a Go map, in order where keys have one, so that
// the same map gives the same Map. NaN, which no lookup finds, is among them.
func sortedEntries(m reflect.Value) []mapEntry {
	entries := make([]mapEntry, 0, m.Len())
	for all := m.MapRange(); all.Next(); {
		entries = append(entries, mapEntry{all.Key(), all.Value()})
	}
	slices.SortFunc(entries, func(a, b mapEntry) int { return compareValues(a.Key, b.Key) })
	return entries
}

// hashable returns an error if k, in an interface, cannot be a key of a Go map.
func hashable(k reflect.Value) error {
	if k.Comparable() {
		return nil
	}
	return failure.Errorf(failure.KindType, "a key: %s cannot be a key of a Go map, which compares keys by ==: range over the Map", dynamic(k))
}

// dynamic returns the type of what v, perhaps an interface, holds.
func dynamic(v reflect.Value) reflect.Type {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v.Type()
}

func compareValues(a, b reflect.Value) int {
	if a.Kind() == reflect.Interface {
		a, b = a.Elem(), b.Elem()
	}
	switch {
	case a.Kind() != b.Kind(): // keys of any type
		return cmp.Compare(a.Kind(), b.Kind())
	case a.Kind() == reflect.Invalid: // both are nil
		return 0
	case a.Kind() == reflect.Array, a.Kind() == reflect.Struct, a.Kind() == reflect.Pointer:
		return compareParts(a, b)
	case a.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.CanComplex():
		x, y := a.Complex(), b.Complex()
		return cmp.Or(cmp.Compare(real(x), real(y)), cmp.Compare(imag(x), imag(y)))
	case a.Kind() == reflect.Bool:
		return cmp.Compare(BoolBits(a.Bool()), BoolBits(b.Bool()))
	}
	return 0
}

// compareParts compares arrays, structs and pointers of one kind by what they hold. Objects have no order.
func compareParts(a, b reflect.Value) int {
	if a.Type() != b.Type() { // of an interface
		return cmp.Compare(a.Type().String(), b.Type().String())
	}
	if a.CanInterface() {
		switch x := a.Interface().(type) {
		case time.Time:
			y := b.Interface().(time.Time)
			_, east := x.Zone()
			_, other := y.Zone()
			return cmp.Or(x.Compare(y), cmp.Compare(east, other))
		case *big.Int:
			if y := b.Interface().(*big.Int); x != nil && y != nil {
				return x.Cmp(y)
			}
		}
	}
	order := 0
	switch a.Kind() {
	case reflect.Array:
		for i := 0; order == 0 && i < a.Len(); i++ {
			order = compareValues(a.Index(i), b.Index(i))
		}
	case reflect.Struct:
		for i := 0; order == 0 && i < a.NumField(); i++ {
			order = compareValues(a.Field(i), b.Field(i))
		}
	case reflect.Pointer:
		if order = cmp.Compare(BoolBits(!a.IsNil()), BoolBits(!b.IsNil())); order == 0 && !a.IsNil() {
			switch a.Elem().Kind() {
			case reflect.Struct, reflect.Pointer, reflect.Interface: // an object, or without an end
			default:
				order = compareValues(a.Elem(), b.Elem())
			}
		}
	}
	return order
}
