package tvmffi

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Tensor is an ffi.Tensor: an n-dimensional array in the memory of a device.
type Tensor struct{ objectBase }

var typeTensor = core.Type{Key: "ffi.Tensor"}

// TVMFFIType identifies the type to the runtime.
func (*Tensor) TVMFFIType(*Tensor) *core.Type { return &typeTensor }

// Element is a Go type whose slices can be the memory of a tensor. The 16-bit and
// 8-bit float types of other packages are uint16 or uint8 underneath: give their
// data type to [TensorOf].
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

var elementTypes = map[reflect.Kind]DataType{
	reflect.Bool: Bool, reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Float32: Float32, reflect.Float64: Float64,
}

// FromSlice makes a tensor over the memory of data, without a copy: both sides
// see each other's writes. The shape must have as many elements as data; without
// one it is a vector. data stays alive until native code has released the
// tensor.
func FromSlice[T Element](data []T, shape ...int64) (*Tensor, error) {
	return TensorOf(elementTypes[reflect.TypeFor[T]().Kind()], data, shape...)
}

// TensorOf is [FromSlice] with a data type of the same size as T, such as
// BFloat16 for uint16.
func TensorOf[T Element](dtype DataType, data []T, shape ...int64) (*Tensor, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	var zero T
	if size := dtype.Size(1); size != int64(unsafe.Sizeof(zero)) || dtype.Bits%8 != 0 {
		return nil, errorf(core.KindType, "tensor: elements of %s have %d bits, those of %T have %d", dtype, int(dtype.Bits)*int(dtype.Lanes), zero, 8*unsafe.Sizeof(zero))
	}
	if shape == nil {
		shape = []int64{int64(len(data))}
	}
	n, err := elements(shape)
	if err != nil {
		return nil, err
	}
	if n != int64(len(data)) {
		return nil, errorf(core.KindValue, "tensor: shape %v has %d elements, the slice has %d", shape, n, len(data))
	}
	heap(data)
	shape = slices.Clone(shape)
	handle, err := core.NewTensor(core.TensorSpec{
		Data: unsafe.Pointer(unsafe.SliceData(data)), Shape: shape, Strides: rowMajor(shape),
		Type: abi.DLDataType(dtype), Device: abi.DLDevice(CPU), Keep: data,
	})
	if err != nil {
		return nil, err
	}
	return wrap[*Tensor](core.Own(handle)), nil
}

func elements(shape []int64) (int64, error) {
	n := int64(1)
	for i, d := range shape {
		if d < 0 {
			return 0, errorf(core.KindValue, "tensor: dimension %d of shape %v is negative", i, shape)
		}
		if d != 0 && n > (1<<62)/d {
			return 0, errorf(core.KindValue, "tensor: shape %v has too many elements", shape)
		}
		n *= d
	}
	return n, nil
}

func rowMajor(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
	return strides
}

// cell returns the DLTensor inside the object. It panics with an *Error if t is
// nil or has ended. The caller keeps t alive.
func (t *Tensor) cell() *abi.DLTensor {
	o := ref(t)
	if o.Handle() == 0 {
		why := "is nil"
		if reason, ended := o.Ended(); ended {
			why = reason
		}
		panic(errorf(core.KindRuntime, "Tensor: the object %s", why))
	}
	return core.At[abi.DLTensor](o.Handle() + abi.ObjectSize)
}

func (t *Tensor) words(at uintptr, n int32) []int64 {
	if at == 0 || n == 0 {
		return []int64{}
	}
	s := slices.Clone(unsafe.Slice(core.At[int64](at), n))
	runtime.KeepAlive(t)
	return s
}

// Shape returns the dimensions. Like the other methods that describe the tensor,
// it panics with an *Error if t is nil or was released.
func (t *Tensor) Shape() []int64 { c := t.cell(); return t.words(c.Shape, c.NDim) }

// Strides returns, for each dimension, the number of elements from one index to
// the next.
func (t *Tensor) Strides() []int64 {
	c := t.cell()
	if c.Strides == 0 {
		return rowMajor(t.Shape())
	}
	return t.words(c.Strides, c.NDim)
}

// DataType returns the type of the elements.
func (t *Tensor) DataType() DataType {
	dtype := DataType(t.cell().DType)
	runtime.KeepAlive(t)
	return dtype
}

// Device returns the device that the memory belongs to.
func (t *Tensor) Device() Device {
	device := Device(t.cell().Device)
	runtime.KeepAlive(t)
	return device
}

// Len returns the number of elements.
func (t *Tensor) Len() int64 {
	n := int64(1)
	for _, d := range t.Shape() {
		n *= d
	}
	return n
}

// Contiguous reports whether the elements lie in row-major order without gaps. A
// tensor without elements is contiguous.
func (t *Tensor) Contiguous() bool {
	shape, strides := t.Shape(), t.Strides()
	if slices.Contains(shape, 0) {
		return true
	}
	want := rowMajor(shape)
	for i := range shape {
		if shape[i] != 1 && strides[i] != want[i] {
			return false
		}
	}
	return true
}

// Slice views the memory of a contiguous tensor on the host as a slice, without
// a copy. The slice is valid as long as t is: it must not be used after Release,
// and t must be kept alive. T must have the size of the elements, and their kind
// unless the data type has no Go type.
func Slice[T Element](t *Tensor) ([]T, error) {
	if _, err := live(t); err != nil {
		return nil, err
	}
	dtype, want := t.DataType(), elementTypes[reflect.TypeFor[T]().Kind()]
	var zero T
	goType := slices.Contains([]uint8{abi.DLInt, abi.DLUInt, abi.DLBool}, dtype.Code) || dtype == Float32 || dtype == Float64
	switch {
	case dtype != want && (goType || dtype.Size(1) != int64(unsafe.Sizeof(zero)) || want.Code != abi.DLUInt):
		return nil, errorf(core.KindType, "tensor of %s: its elements are no %T", dtype, zero)
	case t.Device().Type != abi.DLCPU && t.Device().Type != abi.DLCUDAHost && t.Device().Type != abi.DLCUDAManaged:
		return nil, errorf(core.KindValue, "tensor on %s: its memory is not on the host", t.Device())
	case !t.Contiguous():
		return nil, errorf(core.KindValue, "tensor with shape %v and strides %v is not contiguous", t.Shape(), t.Strides())
	case t.Len() == 0:
		return []T{}, nil
	}
	c := t.cell()
	s := unsafe.Slice(core.At[T](c.Data+uintptr(c.ByteOffset)), t.Len())
	runtime.KeepAlive(t)
	return s, nil
}

// String describes the tensor, such as "float32[3, 4]@cpu:0".
func (t *Tensor) String() string {
	if ref(t).Handle() == 0 {
		return wrap[*Object](ref(t)).String()
	}
	return fmt.Sprintf("%s[%s]@%s", t.DataType(), strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Shape()), " ", ", "), "[]"), t.Device())
}
