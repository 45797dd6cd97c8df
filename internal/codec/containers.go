package codec

import (
	"math"
	"reflect"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// The codecs of *Array[T], *List[T], *Map[K, V] and *Dict[K, V], whose elements have types. What
// converts values decides when the container is read whether its elements fit, as C++ does. So no
// read of an element fails later.

// ContainerCodec returns the codec of pointers to containers of a class, whose parts are of the
// given types. create makes one. nil is None.
func ContainerCodec(class *fields.Type, create *calls.Func, parts []reflect.Type) *Codec {
	c := ObjectCodec(class)
	c.Parts, c.Empty = parts, create
	tests := sync.OnceValue(func() []func(abi.Any) bool { return testsOf(parts) })
	share, shape := c.Decode, crossing.Sequence
	if len(parts) == 2 {
		shape = crossing.Mapping
	}
	c.Decode = func(v abi.Any, from objects.Reading, p unsafe.Pointer) error {
		converts := from.Loose || from.Numbers
		if !converts && !from.Strict || crossing.ClassOf(v.TypeIndex) != shape || v.Bits == 0 {
			return share(v, from, p)
		}
		ok, err := class.Accepts(v.TypeIndex)
		if err != nil {
			return err
		}
		if ok && allFit(v, parts, tests()) {
			return share(v, from, p)
		}
		if !ok && !converts {
			return share(v, from, p) // which says so
		}
		if ok && (!converts || crossing.Mutable(v.TypeIndex)) { // a copy would not see what others write
			if err := firstMisfit(v, c, tests()); err != nil {
				return err
			}
			return share(v, from, p) // they have written meanwhile, and all fits now
		}
		made, err := convertParts(v, from, c, tests())
		if err != nil {
			return err
		}
		*(**objects.Object)(p) = from.WrapOwned(made)
		return nil
	}
	c.misfit = func(v abi.Any) error {
		if allFit(v, parts, tests()) {
			return nil
		}
		return firstMisfit(v, c, tests())
	}
	return c
}

// Misfit returns an error that names the first part of the live container o that is not what its
// type c says. It returns nil for a c that is not the codec of a container.
func Misfit(o *objects.Object, c *Codec) error {
	if c.misfit == nil {
		return nil
	}
	return c.misfit(abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())})
}

// SameKeys is the error for a map of which two keys become the key of a Go map.
func SameKeys(kind *MapKind, key any) error {
	return failure.Errorf(failure.KindValue, "two keys of the %s are the key %v of the Go map: range over the %s", kind.Class.Key, key, kind.Name)
}

// showKey returns a borrowed key for an error.
func showKey(key abi.Any) string {
	if text, ok := capi.StringOf(key); ok {
		return Quote(text)
	}
	switch key.TypeIndex {
	case abi.TypeInt:
		return Quote(int64(key.Bits))
	case abi.TypeFloat:
		return Quote(math.Float64frombits(key.Bits))
	case abi.TypeBool:
		return Quote(key.Bits != 0)
	}
	return "of type " + capi.KeyOf(key.TypeIndex)
}

// firstMisfit returns the error of the first part that is not what the type of the container says.
func firstMisfit(v abi.Any, c *Codec, tests []func(abi.Any) bool) (err error) {
	defer Catch(&err)
	eachPart(v, func(place func() string, i int, x abi.Any) bool {
		if tests[i](x) {
			return true
		}
		switch err = readPart(x, c.Parts[i]); {
		case err != nil:
		case x.TypeIndex == abi.TypeFloat: // which only a float32 rounds
			f := math.Float64frombits(x.Bits)
			err = failure.Errorf(failure.KindType, "%v (%#x) is not a float32, which would be %v (%#x): take a container of float64, or Convert a copy",
				f, x.Bits, float64(float32(f)), math.Float64bits(float64(float32(f))))
		default:
			err = WrongType(Of(c.Parts[i]).Name, x)
		}
		err = failure.Annotate(place(), err)
		return false
	})
	return err
}

// readPart returns the error of reading a borrowed value as a t.
func readPart(v abi.Any, t reflect.Type) error {
	var loan objects.BorrowScope
	defer loan.End()
	return Of(t).Decode(v, objects.ReadBorrowed(&loan).Checking(), reflect.New(t).UnsafePointer())
}

// convertParts makes a container of the type c of the parts of another one. Parts that fit stay the
// same values.
func convertParts(v abi.Any, from objects.Reading, c *Codec, tests []func(abi.Any) bool) (handle uintptr, err error) {
	defer Catch(&err)
	if from, err = Descend(from); err != nil {
		return 0, err
	}
	loan := objects.BorrowScope{Counted: crossing.Mutable(v.TypeIndex)}
	defer loan.End()
	inner := objects.Reading{Inner: &loan, Depth: from.Depth, Loose: from.Loose, Numbers: from.Numbers}
	n := 0
	t, err := Packed(c.Empty, 0, func(p *calls.Pack) (err error) {
		eachPart(v, func(place func() string, i int, x abi.Any) bool {
			n++
			switch {
			case !tests[i](x):
			case loan.Counted: // the container may lose the part before the call
				retain(x)
				p.Put(values.AnyView{Value: x, Owned: true})
				return true
			default:
				p.Any(x)
				return true
			}
			read := reflect.New(c.Parts[i]).UnsafePointer()
			if err = Of(c.Parts[i]).Decode(x, inner, read); err == nil {
				err = Pack(p, Of(c.Parts[i]), read, nil)
			}
			if err != nil {
				err = failure.Annotate(place(), err)
			}
			return err == nil
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	handle = uintptr(t.Value.Bits)
	if kind := MapKindOf(t.Value.TypeIndex); kind != nil && kind.Len(objects.Static(handle)) != n/2 {
		objects.DecRef(handle)
		return 0, failure.Errorf(failure.KindValue, "two keys of the %s are the same %s", capi.KeyOf(v.TypeIndex), Of(c.Parts[0]).Name)
	}
	return handle, nil
}

// eachPart calls each with the parts of a borrowed container: i is 0 for elements and keys, and 1
// for the values of entries. place names the part in an error.
func eachPart(v abi.Any, each func(place func() string, i int, x abi.Any) bool) {
	if all, ok := Elements(v); ok {
		at := 0
		place := func() string { return "element " + Itoa(at) }
		for ; at < len(all); at++ {
			if !each(place, 0, all[at]) {
				return
			}
		}
		return
	}
	var key abi.Any
	ofKey := func() string { return "a key" }
	ofValue := func() string { return "value of key " + showKey(key) }
	ReadEntries(v, func(k, x abi.Any) bool {
		key = k
		return each(ofKey, 0, k) && each(ofValue, 1, x)
	})
}
