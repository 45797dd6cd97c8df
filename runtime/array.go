package tvmffi

import (
	"iter"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// objectBase is embedded under a name that is not exported, so that the state of
// an object cannot be copied out of a container.
type objectBase = Object

// Array is an ffi.Array: an immutable sequence. T is the type of its elements;
// it is a claim that each read checks.
type Array[T any] struct{ objectBase }

// List is an ffi.List: a mutable sequence that everybody who refers to it shares.
type List[T any] struct{ objectBase }

var (
	typeArray = core.Type{Key: "ffi.Array"}
	typeList  = core.Type{Key: "ffi.List"}
	newArray  = core.Func{Name: "ffi.Array"}
	newList   = core.Func{Name: "ffi.List"}
)

// TVMFFIType identifies the type to the runtime.
func (*Array[T]) TVMFFIType(*Array[T]) *core.Type { return &typeArray }

// TVMFFIType identifies the type to the runtime.
func (*List[T]) TVMFFIType(*List[T]) *core.Type { return &typeList }

// ArrayArg is a parameter that takes an array of E: a container from an earlier
// call, by handle, or Go values that [Of] collects.
type ArrayArg[E any] interface {
	temporaryOrObject
	isArrayOf(E)
}

// ArrayLike is a parameter that takes an array of elements that are E, an
// interface: the Ref of an object type, or another parameter type. Go cannot
// check at compile time that the elements of an *Array[T] are such; the library
// does, and its error names the element.
type ArrayLike[E any] interface {
	temporaryOrObject
	isArray()
}

// temporaryOrObject closes the parameter interfaces to types of this package.
type temporaryOrObject interface{ isContainer() }

// temporary is Go data that becomes a container for the time of a call.
type temporary interface {
	encode() (core.Temp, error)
}

func (*Array[T]) isArrayOf(T)  {}
func (*Array[T]) isArray()     {}
func (*Array[T]) isContainer() {}

// Values are Go values that become an Array for the time of a call.
type Values[E any] struct{ items []E }

// Of collects values for a parameter that takes an array. They are copied when
// the call is made.
func Of[E any](items ...E) Values[E] { return Values[E]{items} }

func (Values[E]) isArrayOf(E)  {}
func (Values[E]) isArray()     {}
func (Values[E]) isContainer() {}

func (v Values[E]) encode() (core.Temp, error) { return encodeSequence(&newArray, v.items) }

// NewArray makes an Array of values, which are copied.
func NewArray[T any](items ...T) (*Array[T], error) { return newSequence[*Array[T]](&newArray, items) }

// NewList makes a List of values, which are copied.
func NewList[T any](items ...T) (*List[T], error) { return newSequence[*List[T]](&newList, items) }

func newSequence[P any, E any](f *core.Func, items []E) (P, error) {
	t, err := encodeSequence(f, items)
	if err != nil {
		var none P
		return none, err
	}
	return wrap[P](core.Own(uintptr(t.Value.Bits))), nil
}

// encodeSequence makes a container by calling f with the items.
func encodeSequence[E any](f *core.Func, items []E) (core.Temp, error) {
	c := codecOf(reflect.TypeFor[E]())
	return build(f, len(items), func(i int) (core.Temp, error) {
		t, err := c.encode(unsafe.Pointer(&items[i]))
		return t, inElement("element "+itoa(i), err)
	})
}

// build makes a container by calling f with n packed values.
func build(f *core.Func, n int, item func(i int) (core.Temp, error)) (core.Temp, error) {
	fn, err := f.Handle()
	if err != nil {
		return core.Temp{}, err
	}
	v, err := apply(fn, n, item)
	return core.Temp{Value: v, Owned: true}, err
}

// apply calls a Function object with n packed values.
func apply(fn uintptr, n int, item func(i int) (core.Temp, error)) (abi.Any, error) {
	values, temps := make([]abi.Any, n), make([]core.Temp, 0, n)
	defer func() {
		for _, t := range temps {
			if t.Owned {
				release(t.Value)
			}
		}
	}()
	for i := range values {
		t, err := item(i)
		if err != nil {
			return abi.Any{}, err
		}
		values[i], temps = t.Value, append(temps, t)
	}
	v, err := core.Apply(fn, values)
	runtime.KeepAlive(temps)
	return v, err
}

// cells views the elements of an Array or a List.
func cells(o *core.Object, what string) []abi.Any {
	if o.Handle() == 0 {
		why := "is nil"
		if reason, ended := o.Ended(); ended {
			why = reason
		}
		panic(errorf(core.KindRuntime, "%s: the object %s", what, why))
	}
	cell := core.At[abi.SeqCell](o.Handle() + abi.ObjectSize)
	if cell.Size == 0 {
		return nil
	}
	return unsafe.Slice(core.At[abi.Any](cell.Data), cell.Size)
}

// element reads a cell. The scalars are read without the codec.
func element[T any](v *abi.Any, from core.Lender) (T, error) {
	var x T
	switch p := any(&x).(type) {
	case *int64:
		if v.TypeIndex == abi.TypeInt {
			*p = int64(v.Bits)
			return x, nil
		}
	case *float64:
		if v.TypeIndex == abi.TypeFloat {
			*p = *(*float64)(unsafe.Pointer(&v.Bits))
			return x, nil
		}
	case *string:
		if text, ok := core.TextOf(*v); ok && (v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeSmallStr) {
			*p = text
			return x, nil
		}
	}
	return elementByCodec[T](v, from)
}

func elementByCodec[T any](v *abi.Any, from core.Lender) (T, error) {
	x := new(T)
	err := codecFor[T]().decode(*v, from, unsafe.Pointer(x))
	return *x, err
}

func elementAt[T any](o *core.Object, what string, i int) T {
	all := cells(o, what)
	if i < 0 || i >= len(all) {
		panic(errorf(core.KindIndex, "%s: index %d out of range with %d elements", what, i, len(all)))
	}
	x, err := element[T](&all[i], nil)
	if err != nil {
		panic(inElement(what+"["+itoa(i)+"]", err))
	}
	runtime.KeepAlive(o)
	return x
}

func allElements[T any](o *core.Object, what string) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		var loan core.Loan
		defer loan.End()
		for i := 0; ; i++ {
			// The cells are looked at anew: a List may change in the loop.
			all := cells(o, what)
			if i >= len(all) {
				return
			}
			x, err := element[T](&all[i], &loan)
			if err != nil {
				panic(inElement(what+"["+itoa(i)+"]", err))
			}
			if !yield(i, x) {
				return
			}
			loan.End()
		}
	}
}

func sliceOf[T any](o *core.Object, what string) (s []T, err error) {
	if why, ended := o.Ended(); ended {
		return nil, errorf(core.KindRuntime, "%s: the object %s", what, why)
	}
	if o == nil {
		return nil, nil
	}
	all := cells(o, what)
	s = make([]T, len(all))
	for i := range all {
		if s[i], err = element[T](&all[i], nil); err != nil {
			return nil, inElement(what+"["+itoa(i)+"]", err)
		}
	}
	runtime.KeepAlive(o)
	return s, nil
}

// Len returns the number of elements. It panics with an *Error if a is nil or was
// released, as At and All do.
func (a *Array[T]) Len() int { return len(cells(ref(a), "Array")) }

// At returns element i, an object with a reference of its own. It panics with an
// *Error if i is out of range or the element is no T.
func (a *Array[T]) At(i int) T { return elementAt[T](ref(a), "Array", i) }

// All ranges over the elements. An object is borrowed until the next step;
// [Retain] keeps it.
func (a *Array[T]) All() iter.Seq2[int, T] { return allElements[T](ref(a), "Array") }

// Slice copies the elements; objects get references of their own.
func (a *Array[T]) Slice() ([]T, error) { return sliceOf[T](ref(a), "Array") }

// Len returns the number of elements. It panics with an *Error if l is nil or was
// released, as At and All do.
func (l *List[T]) Len() int { return len(cells(ref(l), "List")) }

// At returns element i, an object with a reference of its own. It panics with an
// *Error if i is out of range or the element is no T.
func (l *List[T]) At(i int) T { return elementAt[T](ref(l), "List", i) }

// All ranges over the elements, those that are there when each step is made. An
// object is borrowed until the next step; [Retain] keeps it.
func (l *List[T]) All() iter.Seq2[int, T] { return allElements[T](ref(l), "List") }

// Slice copies the elements; objects get references of their own.
func (l *List[T]) Slice() ([]T, error) { return sliceOf[T](ref(l), "List") }

var (
	listAppend  = core.Func{Name: "ffi.ListAppend"}
	listSetItem = core.Func{Name: "ffi.ListSetItem"}
	listClear   = core.Func{Name: "ffi.ListClear"}
)

// Append adds an element at the end.
func (l *List[T]) Append(x T) error {
	var c core.Call2
	c.Begin(&listAppend, 2)
	c.Self(0, ref(l))
	t, err := encode(x)
	c.Put(1, t, err)
	return c.Do()
}

// Set replaces element i, which must exist.
func (l *List[T]) Set(i int, x T) error {
	var c core.Call3
	c.Begin(&listSetItem, 3)
	c.Self(0, ref(l))
	c.Int(1, int64(i))
	t, err := encode(x)
	c.Put(2, t, err)
	return c.Do()
}

// Clear removes all elements.
func (l *List[T]) Clear() error {
	var c core.Call1
	c.Begin(&listClear, 1)
	c.Self(0, ref(l))
	return c.Do()
}
