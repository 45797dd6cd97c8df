package tvmffi

import (
	"iter"
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// objectBase is an Object under a name that is not exported. Containers embed it, so that
// users cannot copy the state of an object out of a container.
type objectBase = Object

// Array is an ffi.Array: an immutable sequence. T is the type of its elements. The library does not
// know T. Arguments of Go funcs, [As], [Convert] and [ParseJSON] look at all elements when they make an
// Array; a result of generated code is what the library declares, and each read checks the element
// that it returns.
type Array[T any] struct {
	_ [0]*Array[T] // see Object
	objectBase
}

var (
	typeArray     = fields.Type{Key: "ffi.Array"}
	arrayContains = calls.Func{Name: "ffi.ArrayContains"}
)

// TVMFFIType identifies the type to the runtime.
func (*Array[T]) TVMFFIType(*Array[T]) *fields.Type { return &typeArray }

// ArrayArg is a parameter that takes an array of E. The argument is an *[Array], or a
// *[Shape] if E is int64, which is passed by reference, or Go values that [Of] collects,
// which are copied. In generated code nil is the empty array, unless the parameter is
// optional: then nil is None.
type ArrayArg[E any] interface {
	theArray()
	passSlicesWithOf(E)
}

// ArrayLike is a parameter that takes an array of E, where E is an interface: the Ref of
// an object type, or another parameter type. Go cannot check at compile time that the
// elements of an *Array[T] implement E. The library checks them when it is called, and its
// error names the element.
type ArrayLike[E any] interface {
	theArray()
	passSlicesByOf()
}

// arrayParameter and mapParameter close the parameter interfaces to types of this package.
// If a user passes a slice or a map, the compiler prints the missing method that comes first
// in the alphabet. The names of these methods therefore say what to do.
type (
	arrayParameter interface{ theArray() }
	mapParameter   interface{ theMap() }
)

// temporary is Go data that becomes a container for the time of a call.
type temporary interface {
	encode(outer *codec.Nest) (values.AnyView, error)
}

func (*Array[T]) passSlicesWithOf(T) {}
func (*Array[T]) passSlicesByOf()    {}
func (*Array[T]) theArray()          {}

// Values holds Go values that become an Array for the time of a call. [Of] makes it.
type Values[E any] struct{ items []E }

// Of collects values for a parameter that takes an array. Each call copies them.
func Of[E any](items ...E) Values[E] { return Values[E]{items} }

func (Values[E]) passSlicesWithOf(E) {}
func (Values[E]) passSlicesByOf()    {}
func (Values[E]) theArray()          {}

func (v Values[E]) encode(outer *codec.Nest) (values.AnyView, error) {
	return codec.EncodeArray(v.items, outer)
}

// NewArray returns a new Array with copies of items. It returns an error of kind ErrType
// if T cannot be an element.
func NewArray[T any](items ...T) (*Array[T], error) {
	t, err := codec.EncodeArray(items, nil)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*Array[T]](values.OwnArray(t)), nil
}

// Concat returns a new Array with the elements of all arrays, in order. A nil array counts
// as empty. It returns an error if an array was released.
func Concat[T any](arrays ...*Array[T]) (a *Array[T], err error) {
	defer codec.Catch(&err)
	t, err := codec.Packed(&codec.NewArray, 0, func(p *calls.Pack) error {
		for _, a := range arrays {
			if a == nil {
				continue
			}
			for _, v := range codec.Cells(codec.Ref(a), "Array") {
				p.Any(v)
			}
		}
		return nil
	})
	runtime.KeepAlive(arrays)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*Array[T]](objects.Own(uintptr(t.Value.Bits))), nil
}

// Len returns the number of elements. Len, At and All panic with an *Error if a is nil or
// was released.
func (a *Array[T]) Len() int {
	n := len(codec.Cells(codec.Ref(a), "Array"))
	runtime.KeepAlive(a)
	return n
}

// At returns element i. An object has a reference of its own, which the caller releases.
// At panics with an *Error if i is out of range or the element is not a T.
func (a *Array[T]) At(i int) T { return codec.ElementAt[T](codec.Ref(a), "Array", i) }

// All ranges over the elements with their indices. An object is borrowed until the next
// step; [Retain] keeps it. Up to about 64 short strings share one piece of memory, which
// each of them keeps alive.
func (a *Array[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		// The compiler inlines this loop over numbers into the loop of the caller.
		all, index, handle := codec.Scalars[T](codec.Ref(a))
		i := 0
		for ; i < len(all); i++ {
			v := &all[i]
			if v.TypeIndex != index || *handle == 0 {
				break // not a number, or the array was released in the loop
			}
			x := *codec.Payload[T](v)
			runtime.KeepAlive(a)
			if !yield(i, x) {
				return
			}
		}
		if i < len(all) || all == nil {
			codec.SomeElements(codec.Ref(a), "Array", i, yield)
		}
	}
}

// Slice returns the elements as a new Go slice. Each object has a reference of its own.
// All strings of a []string share one piece of memory, which each of them keeps alive. The
// error is of kind ErrType if an element is not a T.
func (a *Array[T]) Slice() ([]T, error) { return codec.SliceOf[T](codec.Ref(a), "Array") }

// CopyTo copies the first elements to dst and returns their number, which is the smaller
// one of Len and len(dst). Each object has a reference of its own.
func (a *Array[T]) CopyTo(dst []T) (int, error) { return codec.CopyTo(codec.Ref(a), "Array", dst) }

// Contains reports whether an element equals x in type and value: 1, true and 1.0
// differ. Objects other than strings, bytes and ints beyond int64 are equal only to themselves, so an x
// that becomes a new object, such as a slice, is an error.
func (a *Array[T]) Contains(x T) (bool, error) { return contains(&arrayContains, codec.Ref(a), x) }

func contains[T any](f *calls.Func, o *objects.Object, x T) (bool, error) {
	var c calls.Call8
	c.Begin(f, 2)
	c.Self(0, o)
	codec.PackSought(&c.Call, 1, x)
	if err := c.Do(); err != nil {
		return false, err
	}
	return c.BoolResult()
}
