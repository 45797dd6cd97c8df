package tvmffi

import (
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Tuple1 to Tuple8 are the Tuple of that many elements: an Array of fixed length
// whose elements have types of their own.
type (
	// Tuple1 is a tuple of one element.
	Tuple1[A any] struct{ A A }
	// Tuple2 is a tuple of two elements.
	Tuple2[A, B any] struct {
		A A
		B B
	}
	// Tuple3 is a tuple of three elements.
	Tuple3[A, B, C any] struct {
		A A
		B B
		C C
	}
	// Tuple4 is a tuple of four elements.
	Tuple4[A, B, C, D any] struct {
		A A
		B B
		C C
		D D
	}
	// Tuple5 is a tuple of five elements.
	Tuple5[A, B, C, D, E any] struct {
		A A
		B B
		C C
		D D
		E E
	}
	// Tuple6 is a tuple of six elements.
	Tuple6[A, B, C, D, E, F any] struct {
		A A
		B B
		C C
		D D
		E E
		F F
	}
	// Tuple7 is a tuple of seven elements.
	Tuple7[A, B, C, D, E, F, G any] struct {
		A A
		B B
		C C
		D D
		E E
		F F
		G G
	}
	// Tuple8 is a tuple of eight elements.
	Tuple8[A, B, C, D, E, F, G, H any] struct {
		A A
		B B
		C C
		D D
		E E
		F F
		G G
		H H
	}
)

// tupleValue is implemented by the tuples.
type tupleValue interface{ isTuple() }

func (Tuple1[A]) isTuple()                      {}
func (Tuple2[A, B]) isTuple()                   {}
func (Tuple3[A, B, C]) isTuple()                {}
func (Tuple4[A, B, C, D]) isTuple()             {}
func (Tuple5[A, B, C, D, E]) isTuple()          {}
func (Tuple6[A, B, C, D, E, F]) isTuple()       {}
func (Tuple7[A, B, C, D, E, F, G]) isTuple()    {}
func (Tuple8[A, B, C, D, E, F, G, H]) isTuple() {}

func tupleCodec(t reflect.Type) *codec {
	items := make([]*codec, t.NumField())
	names := make([]string, len(items))
	for i := range items {
		items[i] = codecOf(t.Field(i).Type)
		names[i] = items[i].name
	}
	name := "Tuple<" + strings.Join(names, ", ") + ">"
	at := func(p unsafe.Pointer, i int) unsafe.Pointer { return unsafe.Add(p, t.Field(i).Offset) }
	return &codec{
		name: name,
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			return build(&newArray, len(items), func(i int) (core.Temp, error) {
				temp, err := items[i].encode(at(p, i))
				return temp, inElement("tuple element "+itoa(i), err)
			})
		},
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
			all, err := sequence(v, name)
			if err != nil {
				return err
			}
			if len(all) != len(items) {
				return errorf(core.KindType, "expected %s, got an array of %d elements", name, len(all))
			}
			for i, c := range items {
				if err := c.decode(all[i], from, at(p, i)); err != nil {
					return inElement("tuple element "+itoa(i), err)
				}
			}
			return nil
		},
	}
}

// sequence views the elements of a borrowed Array or List.
func sequence(v abi.Any, want string) ([]abi.Any, error) {
	if v.TypeIndex != abi.TypeArray && v.TypeIndex != abi.TypeList {
		return nil, wrongType(want, v)
	}
	cell := core.At[abi.SeqCell](uintptr(v.Bits) + abi.ObjectSize)
	if cell.Size == 0 {
		return nil, nil
	}
	return unsafe.Slice(core.At[abi.Any](cell.Data), cell.Size), nil
}

// sliceCodec converts between Arrays and Go slices and arrays; a List is read
// too.
func sliceCodec(t reflect.Type) *codec {
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
		return bytesCodec
	}
	// The codec of the element is looked up on use: []T may occur in T.
	name := "ffi.Array of " + t.Elem().String()
	return &codec{
		name: name,
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			v := reflect.NewAt(t, p).Elem()
			item := codecOf(t.Elem())
			return build(&newArray, v.Len(), func(i int) (core.Temp, error) {
				temp, err := item.encode(v.Index(i).Addr().UnsafePointer())
				return temp, inElement("element "+itoa(i), err)
			})
		},
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) error {
			all, err := sequence(v, name)
			if err != nil {
				return err
			}
			item := codecOf(t.Elem())
			out := reflect.NewAt(t, p).Elem()
			if t.Kind() == reflect.Slice {
				out.Set(reflect.MakeSlice(t, len(all), len(all)))
			} else if t.Len() != len(all) {
				return errorf(core.KindType, "expected %s, got an array of %d elements", t, len(all))
			}
			for i := range all {
				if err := item.decode(all[i], from, out.Index(i).Addr().UnsafePointer()); err != nil {
					return inElement("element "+itoa(i), err)
				}
			}
			return nil
		},
	}
}

// goMapCodec packs a Go map as a Map, sorted by key, and reads a Map or a Dict.
func goMapCodec(t reflect.Type) *codec {
	name := "ffi.Map for " + t.String()
	return &codec{
		name: name,
		encode: func(p unsafe.Pointer) (core.Temp, error) {
			m := reflect.NewAt(t, p).Elem()
			var items []Pair[reflect.Value, reflect.Value]
			for i := m.MapRange(); i.Next(); {
				items = append(items, Pair[reflect.Value, reflect.Value]{i.Key(), i.Value()})
			}
			sortPairs(items)
			return build(&maps.create, 2*len(items), func(i int) (core.Temp, error) {
				item := items[i/2]
				value, place := item.Key, "key "+quote(item.Key)
				if i%2 == 1 {
					value, place = item.Value, "value of key "+quote(item.Key)
				}
				holder := reflect.New(value.Type())
				holder.Elem().Set(value)
				temp, err := codecOf(value.Type()).encode(holder.UnsafePointer())
				return temp, inElement(place, err)
			})
		},
		decode: func(v abi.Any, _ core.Lender, p unsafe.Pointer) (err error) {
			kind := &maps
			switch v.TypeIndex {
			case abi.TypeMap:
			case abi.TypeDict:
				kind = &dicts
			default:
				return wrongType(name, v)
			}
			defer catch(&err)
			core.IncRef(uintptr(v.Bits))
			o := core.Own(uintptr(v.Bits))
			defer o.Release()
			out := reflect.MakeMap(t)
			for key, value := range entries[Any, Any](kind, o) {
				k, x := reflect.New(t.Key()), reflect.New(t.Elem())
				if err := decodeAny(key, k); err != nil {
					return inElement("a key", err)
				}
				if err := decodeAny(value, x); err != nil {
					return inElement("value of key "+quote(key), err)
				}
				out.SetMapIndex(k.Elem(), x.Elem())
			}
			reflect.NewAt(t, p).Elem().Set(out)
			return nil
		},
	}
}

// decodeAny reads a into what p points to.
func decodeAny(a Any, p reflect.Value) error {
	t, err := a.view()
	if err != nil {
		return err
	}
	err = codecOf(p.Type().Elem()).decode(t.Value, nil, p.UnsafePointer())
	if t.Owned {
		release(t.Value)
	}
	runtime.KeepAlive(t.Keep)
	return err
}
