package codec

import (
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// isColumn reports whether v is a Tensor that may stand for a slice of elements that cross as tuples of numbers, such as
// times. One row of it has the tuple of one element, so that a million of them need no million of objects.
func isColumn(v abi.Any, elem reflect.Type) bool {
	if v.TypeIndex != abi.TypeTensor {
		return false
	}
	wire := Of(elem).Wire
	return wire != nil && wire.Kind() == reflect.Struct
}

// decodeColumn reads the rows of a Tensor, each of which lies like a value of the wire type, into a slice, which it
// makes, or an array.
func decodeColumn(v abi.Any, out reflect.Value) error {
	t := out.Type()
	item := Of(t.Elem())
	part := item.Wire.Field(0).Type.Kind()
	c := capi.PointerTo[abi.DLTensor](uintptr(v.Bits) + abi.ObjectSize)
	shape, width, at := values.ShapeOf(c), item.Wire.NumField(), c.Data+uintptr(c.ByteOffset)
	want := map[reflect.Kind]string{reflect.Int64: "int64", reflect.Float64: "float64"}[part]
	if len(shape) != 2 || shape[1] != int64(width) || c.DType.String() != want || c.Device.Type != abi.DLCPU || at%8 != 0 || !values.Contiguous(shape, values.Strides(c)) {
		return failure.Errorf(failure.KindType, "expected a sequence of %s, or a Tensor of %s on the host without gaps, with %d columns, got a Tensor of %s with the shape %v",
			t.Elem(), want, width, c.DType, shape)
	}
	n := int(shape[0])
	if t.Kind() == reflect.Slice {
		out.Set(reflect.MakeSlice(t, n, n))
	} else if t.Len() != n {
		return failure.Errorf(failure.KindType, "expected %s, got a column of %d elements", t, n)
	}
	if n == 0 {
		return nil
	}
	from, to := unsafe.Pointer(capi.PointerTo[byte](at)), out.Index(0).Addr().UnsafePointer()
	for i := range n {
		row := unsafe.Add(from, uintptr(i)*item.Wire.Size())
		if err := item.takeWire(row, unsafe.Add(to, uintptr(i)*t.Elem().Size())); err != nil {
			return failure.Annotate("element "+Itoa(i), err)
		}
	}
	return nil
}
