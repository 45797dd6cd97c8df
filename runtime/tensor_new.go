package tvmffi

import (
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/x448/float16"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Element is a Go type whose slices can be the memory of a tensor. The 16-bit and
// 8-bit float types of other packages are uint16 or uint8 underneath: give their
// data type to [TensorOf].
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint |
		~float32 | ~float64 | ~complex64 | ~complex128
}

var elementTypes = [...]DataType{
	reflect.Bool: Bool, reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Float32: Float32, reflect.Float64: Float64, reflect.Complex64: Complex64, reflect.Complex128: Complex128,
	reflect.Int: {abi.DLInt, uint8(8 * unsafe.Sizeof(0)), 1}, reflect.Uint: {abi.DLUInt, uint8(8 * unsafe.Sizeof(0)), 1},
}

// elementType returns the data type of the elements of a []T.
func elementType[T Element]() DataType {
	t := reflect.TypeFor[T]()
	switch t {
	case reflect.TypeFor[float16.Float16]():
		return Float16
	case reflect.TypeFor[BF16]():
		return BFloat16
	}
	return elementTypes[t.Kind()]
}

// FromSlice makes a tensor over the memory of data, without a copy: both sides
// see each other's writes. The shape must have as many elements as data; without
// one it is a vector. data stays alive until native code has released the
// tensor.
func FromSlice[T Element](data []T, shape ...int64) (*Tensor, error) {
	return TensorOf(elementType[T](), data, shape...)
}

// TensorOf is [FromSlice] with a data type of the same size as T, such as
// Float8E5M2 for uint8.
func TensorOf[T Element](dtype DataType, data []T, shape ...int64) (*Tensor, error) {
	if err := fits[T](dtype); err != nil {
		return nil, err
	}
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	n, err := core.Elements(shape)
	if err != nil {
		return nil, err
	}
	if n != int64(len(data)) {
		return nil, failure.Errorf(failure.KindValue, "tensor: shape %v has %d elements, the slice has %d", slices.Clone(shape), n, len(data))
	}
	codec.Heap(data)
	return localTensor(dtype, unsafe.Pointer(unsafe.SliceData(data)), shape, nil)
}

// FromStrided makes a tensor over the memory of data as [FromSlice] does, with
// strides in elements: element (i, j) is data[i*strides[0] + j*strides[1]]. It
// takes the rows of a matrix with a stride, the planes of an image, a column.
func FromStrided[T Element](data []T, shape, strides []int64) (*Tensor, error) {
	dtype := elementType[T]()
	n, err := core.Elements(shape)
	if err != nil {
		return nil, err
	}
	low, high, err := core.Reach(shape, strides)
	if err != nil {
		return nil, err
	}
	if n > 0 && (low < 0 || high >= int64(len(data))) {
		return nil, failure.Errorf(failure.KindValue, "tensor: shape %v with strides %v reaches from element %d to %d, the slice has %d",
			slices.Clone(shape), slices.Clone(strides), low, high, len(data))
	}
	codec.Heap(data)
	return localTensor(dtype, unsafe.Pointer(unsafe.SliceData(data)), shape, strides)
}

// fits returns an error unless slices of T can be the memory of a tensor of dtype.
func fits[T Element](dtype DataType) error {
	var zero T
	if dtype.IsScalable() || dtype.elementBits() != int64(8*unsafe.Sizeof(zero)) {
		return failure.Errorf(failure.KindType, "tensor: elements of %s have %d bits, those of %T have %d", dtype, int(dtype.Bits)*int(dtype.Lanes), zero, 8*unsafe.Sizeof(zero))
	}
	return nil
}

// localTensor makes a tensor over memory of the Go heap.
func localTensor(dtype DataType, data unsafe.Pointer, shape, strides []int64) (*Tensor, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	handle := objects.NewTensor(objects.TensorSpec{
		Data: data, Type: abi.DLDataType(dtype), Device: abi.DLDevice(CPU),
	}, shape, strides)
	return codec.Wrap[*Tensor](objects.Own(handle)), nil
}

// alignment is that of the memory of NewTensor, enough for vector instructions.
const alignment = 64

// NewTensor makes a tensor of zeros in memory of the Go heap, aligned to 64
// bytes. Without a shape it is a scalar.
func NewTensor(dtype DataType, shape ...int64) (*Tensor, error) {
	size, err := dtype.BytesOf(shape)
	if err != nil {
		return nil, err
	}
	if err := roomFor(size); err != nil {
		return nil, err
	}
	memory := make([]byte, max(size, 1)+alignment-1)
	codec.Heap(memory)
	data := unsafe.Pointer(unsafe.SliceData(memory))
	return localTensor(dtype, unsafe.Add(data, -uintptr(data)%alignment), shape, nil)
}

// BytesOf returns the number of bytes of a dense tensor with the data type and a shape.
// It fails if a dimension is negative, the elements have no size, or the result is more
// than any memory has.
func (t DataType) BytesOf(shape []int64) (int64, error) {
	n, err := core.Elements(shape)
	if err != nil {
		return 0, err
	}
	if t.elementBits() == 0 {
		return 0, failure.Errorf(failure.KindType, "tensor: a data type of %d bits and %d lanes has no elements", t.Bits, t.Lanes)
	}
	size, err := t.size(n)
	if err != nil {
		return 0, err
	}
	if size > math.MaxInt64>>16 {
		return 0, failure.Errorf(failure.KindValue, "tensor: %s of shape %v needs %d bytes, more than any memory", t, slices.Clone(shape), size)
	}
	return size, nil
}

// roomFor returns an error for a size that the system refuses: make would end the
// process.
func roomFor(size int64) error {
	const large = 1 << 30
	if size < large {
		return nil
	}
	if err := Load(); err != nil {
		return err
	}
	if size > math.MaxInt64>>16 || !capi.HasRoom(uintptr(size)) {
		return failure.Errorf("MemoryError", "tensor: the system has no memory for %d bytes", size)
	}
	return nil
}

// FromPointer makes a dense tensor over memory that is not of the Go heap: of a
// device, of a file, of a C library. keep is kept alive until native code has
// released the tensor; a cleanup of it (runtime.AddCleanup) can free the memory.
func FromPointer(p Pointer, dtype DataType, device Device, keep any, shape ...int64) (*Tensor, error) {
	size, err := dtype.BytesOf(shape)
	if err != nil {
		return nil, err
	}
	if p.Address == 0 && size > 0 {
		return nil, failure.Errorf(failure.KindValue, "tensor: the address of %d bytes is null", size)
	}
	if err := aligned(p.Address, dtype, device); err != nil {
		return nil, err
	}
	if err := Load(); err != nil {
		return nil, err
	}
	handle := objects.NewTensor(objects.TensorSpec{
		Address: p.Address, Type: abi.DLDataType(dtype), Device: abi.DLDevice(device), Keep: keep,
	}, shape, nil)
	return codec.Wrap[*Tensor](objects.Own(handle)), nil
}

// aligned returns an error if an address does not suit the scalars of dtype.
func aligned(address uintptr, dtype DataType, device Device) error {
	lane := uintptr(dtype.Bits) / 8
	if lane&(lane-1) == 0 && lane > 1 && device.hasAddresses() && address%min(lane, 8) != 0 {
		return failure.Errorf(failure.KindValue, "tensor: address %#x is not aligned to the %d bytes of %s: copy the data", address, min(lane, 8), dtype)
	}
	return nil
}

// lendTensor makes a tensor of a DLTensor*, which a callback got: it ends, like
// the memory, when the callback returns.
func lendTensor(v abi.Any, from objects.Reading) (*objects.Object, error) {
	lender, ok := from.Inner.(interface{ Adopt(uintptr) *objects.Object })
	if !ok || v.Bits == 0 {
		return nil, codec.WrongType(typeTensor.Key, v)
	}
	c := capi.PointerTo[abi.DLTensor](uintptr(v.Bits))
	shape := core.ShapeOf(c)
	if _, err := core.Elements(shape); err != nil {
		return nil, err
	}
	data := c.Data
	if Device(c.Device).hasAddresses() {
		data = address(c)
	}
	handle := objects.NewTensor(objects.TensorSpec{Address: data, Type: c.DType, Device: c.Device}, shape, core.Strides(c))
	return lender.Adopt(handle), nil
}
