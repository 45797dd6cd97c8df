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
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Element is a Go type whose slices can be the memory of a tensor. The 16-bit and 8-bit
// float types of other packages have the underlying types uint16 and uint8; pass their data
// type to [TensorOf].
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

// FromSlice returns a tensor on the host over the memory of data. It copies nothing: a
// write through the slice changes the tensor, and the other way round. The product of shape
// must be len(data); without a shape the tensor has one dimension. The tensor keeps data
// alive until the last reference to it ends, in Go and in native code. The caller owns the
// reference. The error is of kind ErrValue if shape does not fit data. data must be memory of Go: nothing keeps that of
// another tensor, which [Slice] returns. [Tensor.Slice] makes a tensor of a part of another one.
//
// The memory of a slice is aligned to the size of its elements, and often to no more. A kernel
// that relies on more crashes the program. Kernels that TVM compiles for the CPU rely on 64
// bytes: give them a tensor of [NewTensor], filled by [CopyFrom].
func FromSlice[T Element](data []T, shape ...int64) (*Tensor, error) {
	return TensorOf(elementType[T](), data, shape...)
}

// TensorOf is like [FromSlice] with the data type dtype, whose elements must have the size
// of T, such as Float8E5M2 for uint8. The error is of kind ErrType if the sizes differ.
func TensorOf[T Element](dtype DataType, data []T, shape ...int64) (*Tensor, error) {
	if err := fits[T](dtype); err != nil {
		return nil, err
	}
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	n, err := values.Elements(shape)
	if err != nil {
		return nil, err
	}
	if n != int64(len(data)) {
		return nil, failure.Errorf(failure.KindValue, "tensor: shape %v has %d elements, but the slice has %d", slices.Clone(shape), n, len(data))
	}
	codec.Heap(data)
	return localTensor(dtype, unsafe.Pointer(unsafe.SliceData(data)), shape, nil)
}

// FromStrided is like [FromSlice] with strides, in elements: element (i, j) is
// data[i*strides[0] + j*strides[1]]. It can describe the padded rows of a matrix, a plane
// of an image, or a column. The error is of kind ErrValue if an element lies outside data.
func FromStrided[T Element](data []T, shape, strides []int64) (*Tensor, error) {
	dtype := elementType[T]()
	n, err := values.Elements(shape)
	if err != nil {
		return nil, err
	}
	low, high, err := values.Reach(shape, strides)
	if err != nil {
		return nil, err
	}
	if n > 0 && (low < 0 || high >= int64(len(data))) {
		return nil, failure.Errorf(failure.KindValue, "tensor: shape %v with strides %v reaches from element %d to %d, but the slice has %d elements",
			slices.Clone(shape), slices.Clone(strides), low, high, len(data))
	}
	codec.Heap(data)
	return localTensor(dtype, unsafe.Pointer(unsafe.SliceData(data)), shape, strides)
}

// fits returns an error unless T and the elements of dtype have the same size.
func fits[T Element](dtype DataType) error {
	var zero T
	if dtype.IsScalable() || dtype.elementBits() != int64(8*unsafe.Sizeof(zero)) {
		return failure.Errorf(failure.KindType, "tensor: elements of %s have %d bits, but elements of %T have %d", dtype, int(dtype.Bits)*int(dtype.Lanes), zero, 8*unsafe.Sizeof(zero))
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

// alignment is the alignment of the memory of NewTensor in bytes. It suffices for vector
// instructions.
const alignment = 64

// NewTensor returns a contiguous tensor of zeros on the host. Its memory is on the Go heap,
// aligned to 64 bytes. Without a shape it is a scalar: a tensor with no dimensions and one
// element. The caller owns the reference. The error is of kind ErrValue if a dimension is
// negative or the size does not fit, and ErrMemory if the system lacks the memory.
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

// BytesOf returns the size in bytes of a dense tensor with data type t and the given shape.
// It returns an error if a dimension is negative, if the elements have no size, or if no
// memory can be that large.
func (t DataType) BytesOf(shape []int64) (int64, error) {
	n, err := values.Elements(shape)
	if err != nil {
		return 0, err
	}
	if t.elementBits() == 0 {
		return 0, failure.Errorf(failure.KindType, "tensor: elements of a data type of %d bits and %d lanes have no size", t.Bits, t.Lanes)
	}
	size, err := t.size(n)
	if err != nil {
		return 0, err
	}
	if size > math.MaxInt64>>16 {
		return 0, failure.Errorf(failure.KindValue, "tensor: %s of shape %v needs %d bytes, more than any memory has", t, slices.Clone(shape), size)
	}
	return size, nil
}

// roomFor returns an error if the system refuses memory of the given size, because make
// would then end the process.
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

// FromPointer returns a contiguous tensor over memory outside the Go heap: of a device, of
// a file, of a C library. It copies nothing. The tensor keeps the value keep alive until
// the last reference to it ends, in Go and in native code; a cleanup of that value
// (runtime.AddCleanup) can free the memory. The caller owns the reference. The error is of
// kind ErrValue if the address is null or not aligned to the size of the elements.
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

// aligned returns an error if an address is not aligned to the scalars of dtype.
func aligned(address uintptr, dtype DataType, device Device) error {
	lane := uintptr(dtype.Bits) / 8
	if lane&(lane-1) == 0 && lane > 1 && abi.DLDevice(device).HasAddresses() && address%min(lane, 8) != 0 {
		return failure.Errorf(failure.KindValue, "tensor: address %#x is not aligned to the %d bytes of %s: copy the data", address, min(lane, 8), dtype)
	}
	return nil
}
