package tvmffi

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Tuple1 to Tuple8 are tuples of one to eight elements. A tuple is an ffi.Array of fixed
// length whose elements may differ in type.
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

// tupleValue is implemented by Tuple1 to Tuple8.
type tupleValue interface{ isTuple() }

func (Tuple1[A]) isTuple()                      {}
func (Tuple2[A, B]) isTuple()                   {}
func (Tuple3[A, B, C]) isTuple()                {}
func (Tuple4[A, B, C, D]) isTuple()             {}
func (Tuple5[A, B, C, D, E]) isTuple()          {}
func (Tuple6[A, B, C, D, E, F]) isTuple()       {}
func (Tuple7[A, B, C, D, E, F, G]) isTuple()    {}
func (Tuple8[A, B, C, D, E, F, G, H]) isTuple() {}

// tupleCodec converts between Arrays of fixed length and structs of type t, whose fields
// are the elements.
func tupleCodec(t reflect.Type) *codec.Codec {
	items := make([]*codec.Codec, t.NumField())
	names := make([]string, len(items))
	offsets := make([]uintptr, len(items))
	for i := range items {
		f := t.Field(i)
		items[i], offsets[i] = codec.Of(f.Type), f.Offset
		names[i] = items[i].Name
	}
	name := "Tuple<" + strings.Join(names, ", ") + ">"
	at := func(p unsafe.Pointer, i int) unsafe.Pointer { return unsafe.Add(p, offsets[i]) }
	c := &codec.Codec{
		Name: name,
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
			all, err := codec.Sequence(v, name)
			if err != nil {
				return err
			}
			if len(all) != len(items) {
				return failure.Errorf(failure.KindType, "expected %s, got an array of %d elements", name, len(all))
			}
			for i, c := range items {
				if err := c.Decode(all[i], from, at(p, i)); err != nil {
					for j := range i {
						codec.Abandon(reflect.NewAt(t, p).Elem().Field(j))
					}
					return failure.Annotate("tuple element "+codec.Itoa(i), err)
				}
			}
			return nil
		},
	}
	c.SetScalars(items, offsets)
	return c.Nested(func(p unsafe.Pointer, outer *codec.Nest) (values.AnyView, error) {
		return codec.PackedIn(outer, &codec.NewTuple, len(items), func(args *calls.Pack) error {
			for i, c := range items {
				if err := codec.Pack(args, c, at(p, i), outer); err != nil {
					return failure.Annotate("tuple element "+codec.Itoa(i), err)
				}
			}
			return nil
		})
	})
}

// isResults reports whether t is the struct that package codec makes of several results of a
// func.
func isResults(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Name() == "" && t.NumField() > 1 && t.Field(0).Tag == `tuple:""`
}
