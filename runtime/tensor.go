package tvmffi

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Tensor is an ffi.Tensor: an n-dimensional array in the memory of a device. Shapes are in
// elements, one number for each dimension; strides are in elements too, not in bytes.
//
// The methods that describe a tensor panic with an *Error if it is nil or was released. The
// methods that make another tensor, and the functions that read or write elements, return
// an error instead. Several goroutines may read a tensor at once. The program must order
// writes itself, as for a Go slice.
type Tensor struct {
	_ [0]*Tensor // see Object
	objectBase
}

var typeTensor = fields.Type{Key: "ffi.Tensor"}

// TVMFFIType identifies the type to the runtime.
func (*Tensor) TVMFFIType(*Tensor) *fields.Type { return &typeTensor }

// cell returns the DLTensor inside the object. It panics with an *Error if t is nil or has
// ended.
func (t *Tensor) cell() *abi.DLTensor {
	o := codec.Ref(t)
	codec.Alive(o, "Tensor")
	return capi.PointerTo[abi.DLTensor](o.Handle() + abi.ObjectSize)
}

// address returns the address of the first element, on devices that have addresses.
func address(c *abi.DLTensor) uintptr { return c.Data + uintptr(c.ByteOffset) }

// Shape returns a copy of the shape: the size of each dimension, in elements.
func (t *Tensor) Shape() []int64 {
	c := t.cell()
	s := slices.Clone(values.ShapeOf(c))
	runtime.KeepAlive(t)
	return s
}

// Strides returns a copy of the strides: for each dimension, the distance from one index to
// the next, in elements.
func (t *Tensor) Strides() []int64 {
	s := slices.Clone(values.Strides(t.cell()))
	runtime.KeepAlive(t)
	return s
}

// NDim returns the number of dimensions.
func (t *Tensor) NDim() int {
	n := int(t.cell().NDim)
	runtime.KeepAlive(t)
	return n
}

// Size returns the size of dimension dim, in elements. A negative dim counts from the end:
// -1 is the last dimension. Size panics with an *Error if there is no such dimension.
func (t *Tensor) Size(dim int) int64 {
	c := t.cell()
	shape := values.ShapeOf(c)
	i, err := dimension(dim, len(shape))
	if err != nil {
		panic(err)
	}
	n := shape[i]
	runtime.KeepAlive(t)
	return n
}

// dimension returns dim as an index from 0 to n-1. A negative dim counts from the end.
func dimension(dim, n int) (int, error) {
	i := dim
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return 0, failure.Errorf(failure.KindIndex, "tensor: dimension %d is out of range with %d dimensions", dim, n)
	}
	return i, nil
}

// DataType returns the type of the elements.
func (t *Tensor) DataType() DataType {
	d := DataType(t.cell().DType)
	runtime.KeepAlive(t)
	return d
}

// Device returns the device to which the memory belongs.
func (t *Tensor) Device() Device {
	d := Device(t.cell().Device)
	runtime.KeepAlive(t)
	return d
}

// Len returns the number of elements.
func (t *Tensor) Len() int64 {
	c := t.cell()
	n := values.Product(values.ShapeOf(c))
	runtime.KeepAlive(t)
	return n
}

// NBytes returns the size in bytes that the elements have when they lie in row-major order
// without gaps. It panics with an *Error if the data type is a scalable vector.
func (t *Tensor) NBytes() int64 { return t.DataType().Size(t.Len()) }

// DataPointer returns the address of the first element. The address is valid as long as the
// tensor is. On devices whose memory has no addresses, such as Vulkan, DataPointer returns
// the handle of the buffer, to which [Tensor.ByteOffset] is not added.
func (t *Tensor) DataPointer() Pointer {
	c := t.cell()
	p := Pointer{c.Data}
	if c.Device.HasAddresses() {
		p.Address = address(c)
	}
	runtime.KeepAlive(t)
	return p
}

// ByteOffset returns the distance in bytes from the data pointer that native code sees to
// the first element. It is 0 for all tensors that were made in Go, including views, because
// kernels often ignore it.
func (t *Tensor) ByteOffset() uint64 {
	n := t.cell().ByteOffset
	runtime.KeepAlive(t)
	return n
}

// Contiguous reports whether the elements lie in row-major order without gaps. A
// tensor without elements is contiguous.
func (t *Tensor) Contiguous() bool {
	c := t.cell()
	dense := values.Contiguous(values.ShapeOf(c), values.Strides(c))
	runtime.KeepAlive(t)
	return dense
}

// ReadOnly reports whether the memory must not be written. That is so for a tensor that
// [FromDLPack] made of memory marked as read-only, and for its views. The library
// does not keep the mark, so a tensor that went through native code has lost it.
func (t *Tensor) ReadOnly() bool { return codec.Ref(t).ReadOnly() }

// String returns the data type, the shape and the device, such as "float32[3, 4]@cpu:0". It
// never panics.
func (t *Tensor) String() string {
	if codec.Ref(t).Handle() == 0 {
		return codec.Wrap[*Object](codec.Ref(t)).String()
	}
	return fmt.Sprintf("%s[%s]@%s", t.DataType(), strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Shape()), " ", ", "), "[]"), t.Device())
}

// Format writes the text of [Tensor.String]. For %+v it also writes the elements, without
// those in the middle of a large tensor. A precision, as in %+.3v, applies to floats.
func (t *Tensor) Format(f fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(f, "%q", t.String())
	case verb == 'v' && f.Flag('+') && codec.Ref(t).Handle() != 0:
		precision, ok := f.Precision()
		if !ok {
			precision = -1
		}
		io.WriteString(f, t.String()+"\n"+t.elements(precision))
	default:
		io.WriteString(f, t.String())
	}
}
