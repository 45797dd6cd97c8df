package tvmffi

import (
	"io"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// Slice views the memory of a contiguous tensor on the host as a slice, without
// a copy. The slice is valid as long as t is: it must not be used after Release,
// and t must be kept alive. T must have the size of the elements, and their kind
// unless the data type has no Go type. Memory that is read-only is refused: see
// [ReadSlice].
func Slice[T Element](t *Tensor) ([]T, error) {
	if err := writable(t); err != nil {
		return nil, err
	}
	return ReadSlice[T](t)
}

// ReadSlice is [Slice] for reading: the slice must not be written to, and the
// memory may be read-only.
func ReadSlice[T Element](t *Tensor) ([]T, error) {
	c, err := hostCell(t)
	if err != nil {
		return nil, err
	}
	if err := holds[T](DataType(c.DType)); err != nil {
		return nil, err
	}
	shape, strides := core.ShapeOf(c), core.Strides(c)
	n := core.Product(shape)
	switch {
	case !core.Contiguous(shape, strides):
		return nil, failure.Errorf(failure.KindValue, "tensor with shape %v and strides %v is not contiguous: use ElementsOf, CopyTo or Clone", t.Shape(), t.Strides())
	case n == 0:
		return []T{}, nil
	}
	if err := alignedTo[T](c); err != nil {
		return nil, err
	}
	s := unsafe.Slice(capi.PointerTo[T](address(c)), n)
	runtime.KeepAlive(t)
	return s, nil
}

// hostCell returns the DLTensor of a tensor whose memory the host can read.
func hostCell(t *Tensor) (*abi.DLTensor, error) {
	if _, err := codec.Live(t); err != nil {
		return nil, err
	}
	c := t.cell()
	if d := Device(c.Device); !d.IsHost() {
		return nil, failure.Errorf(failure.KindValue, "tensor on %s: its memory is not on the host: copy it there first", d)
	}
	if c.Data == 0 && core.Product(core.ShapeOf(c)) > 0 {
		return nil, failure.Errorf(failure.KindValue, "tensor %s: its memory is at address 0", t)
	}
	return c, nil
}

func writable(t *Tensor) error {
	if codec.Ref(t).ReadOnly() {
		return failure.Errorf(failure.KindValue, "tensor %s is read-only: read it by ReadSlice or CopyTo, or Clone it", t)
	}
	return nil
}

// holds returns an error unless elements of dtype can be read as T: their kind
// must agree, or T is an unsigned integer as wide as a type that Go does not have.
func holds[T Element](dtype DataType) error {
	var zero T
	want := elementType[T]()
	inGo := dtype.Lanes == 1 && slices.Contains(elementTypes[:], dtype)
	if dtype != want && (inGo || dtype.IsScalable() || dtype.elementBits() != int64(8*unsafe.Sizeof(zero)) || want.Code != abi.DLUInt) {
		hint := ""
		if goType, ok := goTypes[dtype]; ok {
			hint = " but " + goType
		} else if dtype.IsFloat() {
			hint = " (ToFloat32 converts them)"
		}
		return failure.Errorf(failure.KindType, "tensor of %s: its elements are no %T%s", dtype, zero, hint)
	}
	return nil
}

// goTypes are the Go types of elements.
var goTypes = map[DataType]string{
	Bool: "bool", Int8: "int8", Int16: "int16", Int32: "int32", Int64: "int64", Uint8: "uint8", Uint16: "uint16", Uint32: "uint32",
	Uint64: "uint64", Float32: "float32", Float64: "float64", Complex64: "complex64", Complex128: "complex128",
	Float16: "tvmffi.F16 or uint16", BFloat16: "tvmffi.BF16 or uint16",
}

func alignedTo[T Element](c *abi.DLTensor) error {
	var zero T
	if a := unsafe.Alignof(zero); address(c)%a != 0 {
		return failure.Errorf(failure.KindValue, "tensor: address %#x is not aligned to %d bytes, as %T must be: use CopyTo or Clone", address(c), a, zero)
	}
	return nil
}

// Elements reads and writes single elements of a tensor on the host, whatever its
// strides are. It is valid as long as the tensor is.
type Elements[T Element] struct {
	t              *Tensor
	data           uintptr
	shape, strides []int64
	readOnly       bool
}

// ElementsOf checks that the elements of t are of type T, as [Slice] does, and
// gives access to them. The tensor may be read-only; then Set panics.
func ElementsOf[T Element](t *Tensor) (*Elements[T], error) {
	c, err := hostCell(t)
	if err != nil {
		return nil, err
	}
	if err := holds[T](DataType(c.DType)); err != nil {
		return nil, err
	}
	if err := alignedTo[T](c); err != nil {
		return nil, err
	}
	return &Elements[T]{t, address(c), t.Shape(), t.Strides(), t.ReadOnly()}, nil
}

// at returns the element at an index of one number for each dimension.
func (e *Elements[T]) at(index []int64) *T {
	if codec.Ref(e.t).Handle() == 0 {
		e.t.cell() // panics
	}
	if len(index) != len(e.shape) {
		panic(failure.Errorf(failure.KindIndex, "element of %s: %d indices for %d dimensions", e.t, len(index), len(e.shape)))
	}
	offset := int64(0)
	for i, x := range index {
		if uint64(x) >= uint64(e.shape[i]) {
			panic(failure.Errorf(failure.KindIndex, "element of %s: index %d is out of range in dimension %d", e.t, x, i))
		}
		offset += x * e.strides[i]
	}
	var zero T
	return capi.PointerTo[T](e.data + uintptr(offset)*unsafe.Sizeof(zero))
}

// At returns the element at an index of one number for each dimension. It panics
// with an *Error if there is none, or if the tensor was released.
func (e *Elements[T]) At(index ...int64) T {
	x := *e.at(index)
	runtime.KeepAlive(e.t)
	return x
}

// Set changes the element at an index. It panics as At does, and if the tensor is
// read-only.
func (e *Elements[T]) Set(x T, index ...int64) {
	if e.readOnly {
		panic(writable(e.t))
	}
	*e.at(index) = x
	runtime.KeepAlive(e.t)
}

// All returns the elements in row-major order, each with its number.
func (e *Elements[T]) All() func(yield func(int64, T) bool) {
	return func(yield func(int64, T) bool) {
		var zero T
		i := int64(0)
		walk(e.shape, e.strides, func(offset int64) bool {
			if codec.Ref(e.t).Handle() == 0 {
				e.t.cell() // panics
			}
			more := yield(i, *capi.PointerTo[T](e.data + uintptr(offset)*unsafe.Sizeof(zero)))
			i++
			return more
		})
		runtime.KeepAlive(e.t)
	}
}

// walk calls f with the offset of each element in row-major order, until it
// returns false.
func walk(shape, strides []int64, f func(offset int64) bool) {
	if slices.Contains(shape, 0) {
		return
	}
	index := make([]int64, len(shape))
	offset := int64(0)
	for {
		if !f(offset) {
			return
		}
		i := len(shape) - 1
		for ; i >= 0; i-- {
			index[i]++
			offset += strides[i]
			if index[i] < shape[i] {
				break
			}
			offset -= index[i] * strides[i]
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// bytesAt views host memory; a tensor must keep it alive.
func bytesAt(address uintptr, n int64) []byte {
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice(capi.PointerTo[byte](address), n)
}

// bytesOf views a slice as bytes.
func bytesOf[T Element](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(zero))
}

// transfer checks the sizes of a copy between a tensor and a slice.
func transfer[T Element](t *Tensor, n int) (*abi.DLTensor, error) {
	c, err := hostCell(t)
	if err != nil {
		return nil, err
	}
	if err := holds[T](DataType(c.DType)); err != nil {
		return nil, err
	}
	if have := core.Product(core.ShapeOf(c)); have != int64(n) {
		return nil, failure.Errorf(failure.KindValue, "copy: %s has %d elements, the slice has %d", t, have, n)
	}
	return c, nil
}

// CopyTo copies the elements of t, in row-major order, to a slice of as many.
func CopyTo[T Element](t *Tensor, to []T) error {
	c, err := transfer[T](t, len(to))
	if err != nil {
		return err
	}
	move(c, bytesOf(to), true)
	runtime.KeepAlive(t)
	return nil
}

// CopyFrom copies a slice to the elements of t, in row-major order.
func CopyFrom[T Element](t *Tensor, from []T) error {
	c, err := transfer[T](t, len(from))
	if err == nil {
		err = writable(t)
	}
	if err != nil {
		return err
	}
	move(c, bytesOf(from), false)
	runtime.KeepAlive(t)
	return nil
}

// move copies the elements of c, which are whole bytes, to dense memory or back.
func move(c *abi.DLTensor, dense []byte, out bool) {
	shape, strides := core.ShapeOf(c), core.Strides(c)
	item := DataType(c.DType).elementBits() / 8
	run := item
	if n := len(shape); core.Contiguous(shape, strides) {
		shape, strides, run = nil, nil, int64(len(dense))
	} else if strides[n-1] == 1 {
		run, shape, strides = item*shape[n-1], shape[:n-1], strides[:n-1]
	}
	if run == 0 {
		return
	}
	at := int64(0)
	walk(shape, strides, func(offset int64) bool {
		there, here := bytesAt(address(c)+uintptr(offset*item), run), dense[at:at+run]
		if out {
			copy(here, there)
		} else {
			copy(there, here)
		}
		at += run
		return true
	})
}

// Copy copies the elements of from to those of to. Both are on the host and have
// the same shape and data type; they must not overlap.
func Copy(to, from *Tensor) error {
	source, err := hostCell(from)
	if err != nil {
		return failure.Annotate("source", err)
	}
	target, err := hostCell(to)
	if err != nil {
		return failure.Annotate("target", err)
	}
	if source.DType != target.DType || !slices.Equal(core.ShapeOf(source), core.ShapeOf(target)) {
		return failure.Errorf(failure.KindValue, "copy: %s does not fit %s", from, to)
	}
	if err := writable(to); err != nil {
		return err
	}
	defer runtime.KeepAlive(to)
	if core.Contiguous(core.ShapeOf(target), core.Strides(target)) {
		b, err := dense(target, to)
		if err != nil {
			return err
		}
		return from.read(source, b)
	}
	size, err := DataType(target.DType).BytesOf(core.ShapeOf(target))
	if err == nil {
		err = roomFor(size)
	}
	if err != nil {
		return err
	}
	b := make([]byte, size)
	if err := from.read(source, b); err != nil {
		return err
	}
	if DataType(target.DType).elementBits()%8 != 0 {
		return failure.Errorf(failure.KindValue, "copy: the elements of %s with strides %v are no whole bytes", to, to.Strides())
	}
	move(target, b, false)
	return nil
}

// read copies the elements of t, whose cell is c, to dense memory.
func (t *Tensor) read(c *abi.DLTensor, to []byte) error {
	switch dtype := DataType(c.DType); {
	case core.Contiguous(core.ShapeOf(c), core.Strides(c)):
		copy(to, bytesAt(address(c), int64(len(to))))
	case dtype.elementBits()%8 == 0:
		move(c, to, true)
	default:
		return failure.Errorf(failure.KindValue, "copy: the elements of %s with strides %v are no whole bytes", t, t.Strides())
	}
	runtime.KeepAlive(t)
	return nil
}

// Clone copies a tensor on the host to a contiguous one in memory of the Go heap.
func (t *Tensor) Clone() (*Tensor, error) {
	c, err := hostCell(t)
	if err != nil {
		return nil, err
	}
	clone, err := NewTensor(DataType(c.DType), t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := Copy(clone, t); err != nil {
		clone.Release()
		return nil, err
	}
	return clone, nil
}

// dense views the bytes of a contiguous tensor.
func dense(c *abi.DLTensor, t *Tensor) ([]byte, error) {
	if !core.Contiguous(core.ShapeOf(c), core.Strides(c)) {
		return nil, failure.Errorf(failure.KindValue, "bytes of %s: it has strides %v and is not contiguous: use Clone", t, t.Strides())
	}
	size, err := DataType(c.DType).size(core.Product(core.ShapeOf(c)))
	if err != nil {
		return nil, err
	}
	return bytesAt(address(c), size), nil
}

// Bytes views the memory of a contiguous tensor on the host, of any data type,
// without a copy, under the rules of [Slice]. Numbers lie in it in the order of
// bytes of the machine.
func (t *Tensor) Bytes() ([]byte, error) {
	c, err := hostCell(t)
	if err == nil {
		err = writable(t)
	}
	if err != nil {
		return nil, err
	}
	return dense(c, t)
}

// ReadAt reads from the memory of a contiguous tensor on the host (io.ReaderAt).
// io.NewSectionReader makes an io.Reader of it.
func (t *Tensor) ReadAt(p []byte, off int64) (int, error) {
	c, err := hostCell(t)
	if err != nil {
		return 0, err
	}
	b, err := dense(c, t)
	if err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, failure.Errorf(failure.KindIndex, "read of %s: offset %d is negative", t, off)
	}
	if off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	runtime.KeepAlive(t)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes to the memory of a contiguous tensor on the host (io.WriterAt).
// What lies beyond its end is not written and an error. io.NewOffsetWriter makes
// an io.Writer of it.
func (t *Tensor) WriteAt(p []byte, off int64) (int, error) {
	b, err := t.Bytes()
	if err != nil {
		return 0, err
	}
	if off < 0 || off > int64(len(b)) {
		return 0, failure.Errorf(failure.KindIndex, "write to %s: offset %d is not in its %d bytes", t, off, len(b))
	}
	n := copy(b[off:], p)
	runtime.KeepAlive(t)
	if n < len(p) {
		return n, failure.Errorf(failure.KindIndex, "write to %s: %d bytes do not fit from offset %d on: %w", t, len(p), off, io.ErrShortWrite)
	}
	return n, nil
}

var (
	_ io.ReaderAt = (*Tensor)(nil)
	_ io.WriterAt = (*Tensor)(nil)
)
