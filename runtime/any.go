package tvmffi

import (
	"fmt"
	"math"
	"math/big"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Any is a value of any type, such as the result of a packed function. An Any may be
// copied. It holds numbers itself and has its own copy of strings and bytes. All copies
// of an Any share one reference to its object. The zero Any is None.
type Any struct {
	index  abi.TypeIndex
	bits   uint64
	str    string // of strings and bytes
	object *objects.Object
}

// An Any and its record have one layout.
const _ = -(unsafe.Sizeof(Any{}) ^ unsafe.Sizeof(objects.Value{})) - (unsafe.Offsetof(Any{}.object) ^ unsafe.Offsetof(objects.Value{}.Object))

func anyOf(v abi.Any, from objects.Reading) Any { return codec.ShowAny[Any](v, from) }

func takeAny(v abi.Any) Any { return codec.TakeAnyAs[Any](v) }

func (a Any) view() (values.AnyView, error) { return codec.ViewOf(codec.RecordOfAny(&a)) }

// AnyOf returns an Any that holds x. T may be any type that a function can take. It
// returns an error of kind ErrType for other types.
func AnyOf[T any](x T) (Any, error) {
	t, err := codec.Encode(x)
	if err != nil {
		return Any{}, err
	}
	if err := t.CheckEscape(); err != nil {
		return Any{}, err
	}
	a := anyOf(t.Value, objects.ReadOwned())
	if o, ok := t.Keep.(*objects.Object); ok && a.object != nil && o.ReadOnly() {
		a.object.SetReadOnly()
	}
	if t.Owned {
		codec.Release(t.Value)
	}
	runtime.KeepAlive(t.Keep)
	runtime.KeepAlive(x)
	return a, nil
}

// IsNone reports whether a is None.
func (a Any) IsNone() bool { return a.index == abi.TypeNone }

// TypeKey returns the key of the type of the value, such as "int", "ffi.String"
// or "garden.Rose".
func (a Any) TypeKey() string {
	if a.object != nil {
		return TypeKey(codec.Wrap[*Object](a.object))
	}
	return capi.KeyOf(a.index)
}

// Release ends the reference to the object now. All copies of a share that reference.
// Release does nothing if a holds no object.
func (a Any) Release() { a.object.Release() }

// Value returns the value in its natural Go type: nil, int64, *big.Int for an int beyond
// int64, bool, float64, string, []byte, DataType, Device, Pointer, *Function, *Tensor, *Module, *Array[Any],
// *List[Any], *Map[Any, Any], *Dict[Any, Any], *Shape, *Error or *Object. In an exported library it is also what the
// Python package gives for a value of any type: a time.Time, time.Duration, complex128, a set or a constant.
func (a Any) Value() any {
	switch a.index {
	case abi.TypeNone:
		return nil
	case abi.TypeInt:
		return int64(a.bits)
	case abi.TypeBool:
		return a.bits != 0
	case abi.TypeFloat:
		return math.Float64frombits(a.bits)
	case abi.TypeStr:
		return a.str
	case abi.TypeBytes:
		return []byte(a.str)
	case abi.TypeDataType:
		return dataTypeOf(a.bits)
	case abi.TypeDevice:
		return deviceOf(a.bits)
	case abi.TypeOpaquePtr:
		return Pointer{uintptr(a.bits)}
	case abi.TypeFunction:
		return codec.Wrap[*Function](a.object)
	case abi.TypeTensor:
		return codec.Wrap[*Tensor](a.object)
	case abi.TypeModule:
		return codec.Wrap[*Module](a.object)
	case abi.TypeArray:
		return codec.Wrap[*Array[Any]](a.object)
	case abi.TypeList:
		return codec.Wrap[*List[Any]](a.object)
	case abi.TypeMap:
		return codec.Wrap[*Map[Any, Any]](a.object)
	case abi.TypeDict:
		return codec.Wrap[*Dict[Any, Any]](a.object)
	case abi.TypeShape:
		return codec.Wrap[*Shape](a.object)
	case abi.TypeBigInt:
		if a.object.Handle() != 0 {
			n, _ := codec.Decode[*big.Int](a.object.View()) // which has no other content
			runtime.KeepAlive(a.object)
			return n
		}
	case abi.TypeError:
		if h := a.object.Handle(); h != 0 {
			objects.IncRef(h)
			runtime.KeepAlive(a.object)
			return failure.ErrorOf(h)
		}
	}
	if a.object.Handle() != 0 {
		if x, ok, err := codec.DecodeTyped(a.object.View(), objects.ReadOwned()); ok && err == nil {
			runtime.KeepAlive(a.object)
			return x
		}
	}
	if a.object != nil {
		return codec.Wrap[*Object](a.object)
	}
	return nil
}

// String returns the value as fmt.Sprint prints it, and "None" for None.
func (a Any) String() string {
	if v := a.Value(); v != nil {
		return fmt.Sprint(v)
	}
	return "None"
}

// As returns the value of a as a T if it is one. Unlike [Convert], it does not convert
// an int to a float or a string to a data type. An object is a T if its type is T or
// derives from T; the result shares the reference of a. A container is a T if its elements are
// what T says, which As looks at all of, also inside slices, maps and structs. A float is an element or a key of
// the type float32 if it is one bit for bit; Convert makes a container of the nearest ones. Elsewhere, also in Go slices, maps and
// structs, a float32 is the nearest one, which is 0 for 1e-300. A struct ignores an entry that it has no field for. The error is of
// kind ErrType for a value of another type, and ErrOverflow for a number that does not fit T.
func As[T any](a Any) (T, error) {
	if x, ok := held[T](a); ok {
		return x, nil
	}
	return read[T](a, objects.ReadOwned().Checking())
}

// held returns the value of a as a T if that is one of the frequent types which a holds itself.
func held[T any](a Any) (x T, ok bool) {
	switch p := any(&x).(type) {
	case *int64:
		if ok = a.index == abi.TypeInt; ok {
			*p = int64(a.bits)
		}
	case *float64:
		if ok = a.index == abi.TypeFloat; ok {
			*p = math.Float64frombits(a.bits)
		}
	case *bool:
		if ok = a.index == abi.TypeBool; ok {
			*p = a.bits != 0
		}
	case *string:
		if ok = a.index == abi.TypeStr && a.object == nil; ok {
			*p = a.str
		}
	}
	return x, ok
}

// Convert returns the value of a as a T, with the conversions that the library makes for
// parameters: bool to int, int and bool to float, int to bool, string to DataType and
// Device. They apply inside slices, arrays, maps, tuples, structs and pointers too; an
// error names the path to the value that cannot be converted. If the elements of an Array or a Map are not
// what T says, the result is a new Array or Map. A List and a Dict, which may change, are not copied to
// one of another type: that is an error. Convert does not convert the content of a Variant. An entry of a Map that
// a struct has no field for is an error, as it is in an argument.
func Convert[T any](a Any) (T, error) { return read[T](a, objects.ReadOwned().Converting()) }

// read returns the value of a as a T. from says who owns its objects.
func read[T any](a Any, from objects.Reading) (T, error) {
	if a.object != nil {
		var x T
		if shared, err := shareObject(a.object, from, &x); shared || err != nil {
			return x, err
		}
	}
	t, err := a.view()
	if err != nil {
		var none T
		return none, err
	}
	if a.object.BorrowedMemory() {
		from.Inner = sharing{a.object} // it cannot get a reference of its own
	}
	x, err := codec.DecodeFrom[T](t.Value, from)
	if t.Owned {
		codec.Release(t.Value)
	}
	runtime.KeepAlive(a.object)
	return x, err
}

// sharing is an objects.Lender for one tensor, over memory that somebody else lends.
type sharing struct{ tensor *objects.Object }

// Borrow returns the tensor.
func (s sharing) Borrow(uintptr) *objects.Object { return s.tensor }

// Adopt drops the reference and returns the tensor.
func (s sharing) Adopt(handle uintptr) *objects.Object {
	objects.DecRef(handle)
	return s.tensor
}

// shareObject stores o at p if T is a pointer to an object type and o is of that type.
// It reports false for other types T, and for a container that from converts.
func shareObject[T any](o *objects.Object, from objects.Reading, p *T) (shared bool, err error) {
	class := codec.ClassFor[T]()
	if class == nil {
		return false, nil
	}
	if why, ended := o.Ended(); ended {
		return true, failure.Errorf(failure.KindRuntime, "the object %s", why)
	}
	ok, err := class.Accepts(o.TypeIndex())
	if ok && err == nil {
		err = codec.Misfit(o, codec.For[T]())
	} else if err == nil {
		err = failure.Errorf(failure.KindType, "expected %s, got %s", class.Key, capi.KeyOf(o.TypeIndex()))
	}
	runtime.KeepAlive(o)
	switch {
	case err == nil:
		*p = codec.Wrap[T](o)
	case from.Loose:
		return false, nil
	}
	return true, err
}
