package tvmffi

import (
	"errors"
	"iter"
	"math"
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// List is an ffi.List: a mutable sequence. All references to it, in all languages, share
// its elements. It has no lock: a goroutine must not use it while another one changes it.
// The methods that change a List return an error if it is nil or was released.
type List[T any] struct {
	_ [0]*List[T] // see Object
	objectBase
}

var (
	typeList         = fields.Type{Key: "ffi.List"}
	listAppend       = calls.Func{Name: "ffi.ListAppend"}
	listInsert       = calls.Func{Name: "ffi.ListInsert"}
	listSetItem      = calls.Func{Name: "ffi.ListSetItem"}
	listPop          = calls.Func{Name: "ffi.ListPop"}
	listErase        = calls.Func{Name: "ffi.ListErase"}
	listEraseRange   = calls.Func{Name: "ffi.ListEraseRange"}
	listReplaceSlice = calls.Func{Name: "ffi.ListReplaceSlice"}
	listReverse      = calls.Func{Name: "ffi.ListReverse"}
	listClear        = calls.Func{Name: "ffi.ListClear"}
	listReserve      = calls.Func{Name: "ffi.ListReserve"}
	listContains     = calls.Func{Name: "ffi.ListContains"}
)

// TVMFFIType identifies the type to the runtime.
func (*List[T]) TVMFFIType(*List[T]) *fields.Type { return &typeList }

// NewList returns a new List with copies of items. It returns an error of kind ErrType if
// T cannot be an element.
func NewList[T any](items ...T) (*List[T], error) {
	t, err := codec.EncodeBy(&codec.NewList, items, nil)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*List[T]](objects.Own(uintptr(t.Value.Bits))), nil
}

// Len returns the number of elements. Len, At and All panic with an *Error if l is nil or
// was released.
func (l *List[T]) Len() int {
	n := len(codec.Cells(codec.Ref(l), "List"))
	runtime.KeepAlive(l)
	return n
}

// At returns element i. An object has a reference of its own, which the caller releases.
// At panics with an *Error if i is out of range or the element is not a T.
func (l *List[T]) At(i int) T { return codec.ElementAt[T](codec.Ref(l), "List", i) }

// All ranges over the elements with their indices. Each step reads the list as it is then.
// An object is borrowed until the next step and must not be used after it was removed from
// the list; [Retain] keeps it.
func (l *List[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) { codec.SomeElements(codec.Ref(l), "List", 0, yield) }
}

// Slice returns the elements as a new Go slice. Each object has a reference of its own.
// All strings of a []string share one piece of memory, which each of them keeps alive. The
// error is of kind ErrType if an element is not a T.
func (l *List[T]) Slice() ([]T, error) { return codec.SliceOf[T](codec.Ref(l), "List") }

// CopyTo copies the first elements to dst and returns their number, which is the smaller
// one of Len and len(dst). Each object has a reference of its own.
func (l *List[T]) CopyTo(dst []T) (int, error) { return codec.CopyTo(codec.Ref(l), "List", dst) }

// Contains reports whether an element equals x in type and value: 1, true and 1.0
// differ. Objects other than strings, bytes and ints beyond int64 are equal only to themselves, so an x
// that becomes a new object, such as a slice, is an error.
func (l *List[T]) Contains(x T) (bool, error) { return contains(&listContains, codec.Ref(l), x) }

// Append adds items at the end.
func (l *List[T]) Append(items ...T) error {
	if len(items) == 1 {
		var c calls.Call8
		c.Begin(&listAppend, 2)
		c.Self(0, codec.Ref(l))
		codec.PackArgument(&c.Call, 1, items[0])
		return c.Do()
	}
	n, err := l.size(&listAppend)
	if err != nil || len(items) == 0 {
		return err
	}
	return l.replace(n, n, items)
}

// size returns the number of elements. If l has no object, it returns the error that a
// call of f returns.
func (l *List[T]) size(f *calls.Func) (int, error) {
	if codec.Ref(l).Handle() == 0 {
		var c calls.Call1
		c.Begin(f, 1)
		c.Self(0, codec.Ref(l))
		return 0, c.Do()
	}
	return l.Len(), nil
}

// Insert adds x before element i, or at the end if i is the number of elements. The error
// is of kind ErrIndex if i is out of range.
func (l *List[T]) Insert(i int, x T) error {
	n, err := l.size(&listInsert)
	if err != nil {
		return err
	}
	if err := insertIndex(i, n); err != nil {
		return err
	}
	var c calls.Call8
	c.Begin(&listInsert, 3)
	c.Self(0, codec.Ref(l))
	c.Int(1, int64(i))
	codec.PackArgument(&c.Call, 2, x)
	return c.Do()
}

// insertIndex checks an index before the library does. The library computes an address
// first, and a very large index would overflow it.
func insertIndex(i, n int) error {
	if i < 0 || i > n {
		return failure.Errorf(failure.KindIndex, "Index %d out of bounds [0, %d]", i, n)
	}
	return nil
}

// Set replaces element i. The error is of kind ErrIndex if there is no such element.
func (l *List[T]) Set(i int, x T) error {
	var c calls.Call8
	c.Begin(&listSetItem, 3)
	c.Self(0, codec.Ref(l))
	c.Int(1, int64(i))
	codec.PackArgument(&c.Call, 2, x)
	return c.Do()
}

// Pop removes the last element and returns it. An object has a reference of its own. The
// error is of kind ErrIndex if the list is empty. An element that is not a T is an error of
// kind ErrType, but Pop removes it.
func (l *List[T]) Pop() (T, error) {
	n, err := l.size(&listPop)
	if err != nil {
		var none T
		return none, err
	}
	return l.PopAt(n - 1)
}

// PopAt is like [List.Pop] for element i. The error is of kind ErrIndex if there is no such
// element.
func (l *List[T]) PopAt(i int) (x T, err error) {
	var c calls.Call2
	c.Begin(&listPop, 2)
	c.Self(0, codec.Ref(l))
	c.Int(1, int64(i))
	if err := c.Do(); err != nil {
		return x, err
	}
	x, err = codec.Take[T](c.Take())
	return x, failure.Annotate("List["+codec.Itoa(i)+"]", err)
}

// Delete removes element i. The error is of kind ErrIndex if there is no such element.
func (l *List[T]) Delete(i int) error {
	var c calls.Call2
	c.Begin(&listErase, 2)
	c.Self(0, codec.Ref(l))
	c.Int(1, int64(i))
	return c.Do()
}

// DeleteRange removes the elements i to j-1. The error is of kind ErrIndex if they do not
// exist. An empty range removes nothing and is not an error.
func (l *List[T]) DeleteRange(i, j int) error {
	var c calls.Call3
	c.Begin(&listEraseRange, 3)
	c.Self(0, codec.Ref(l))
	c.Int(1, int64(i))
	c.Int(2, int64(j))
	return c.Do()
}

// Replace replaces the elements i to j-1 by items, which may be more or fewer. The error is
// of kind ErrIndex if the range is not inside the list.
func (l *List[T]) Replace(i, j int, items ...T) error {
	n, err := l.size(&listReplaceSlice)
	if err != nil {
		return err
	}
	if i == j {
		err = insertIndex(i, n)
	} else if i < 0 || j > n || i > j {
		err = failure.Errorf(failure.KindIndex, "Erase range [%d, %d) out of bounds %d", i, j, n)
	}
	if err != nil {
		return err
	}
	return l.replace(i, j, items)
}

func (l *List[T]) replace(i, j int, items []T) error {
	t, err := codec.EncodeBy(&codec.NewList, items, nil)
	var c calls.Call4
	c.Begin(&listReplaceSlice, 4)
	c.Self(0, codec.Ref(l))
	c.Int(1, int64(i))
	c.Int(2, int64(j))
	c.Put(3, t, err)
	return c.Do()
}

// Reverse reverses the order of the elements.
func (l *List[T]) Reverse() error { return l.do(&listReverse) }

// Clear removes all elements.
func (l *List[T]) Clear() error { return l.do(&listClear) }

func (l *List[T]) do(f *calls.Func) error {
	var c calls.Call1
	c.Begin(f, 1)
	c.Self(0, codec.Ref(l))
	return c.Do()
}

// Reserve makes room for a total of n elements. A library that does not support it does
// nothing. The error is of kind ErrValue if n is negative or too large.
func (l *List[T]) Reserve(n int) error {
	if n < 0 || n > math.MaxInt32*1024 {
		return failure.Errorf(failure.KindValue, "ffi.ListReserve: the number of elements is %d, expected 0 to %d", n, math.MaxInt32*1024)
	}
	if _, err := l.size(&listReserve); err != nil {
		return err
	}
	if _, err := listReserve.Handle(); errors.Is(err, ErrAttribute) {
		return nil
	}
	var c calls.Call2
	c.Begin(&listReserve, 2)
	c.Self(0, codec.Ref(l))
	c.Int(1, int64(n))
	return c.Do()
}
