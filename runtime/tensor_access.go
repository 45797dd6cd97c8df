package tvmffi

import (
	"cmp"
	"io"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Slice returns the memory of a contiguous tensor on the host as a slice. It copies
// nothing. The slice is valid as long as t is: it must not be used after Release, and the
// program must keep t alive (runtime.KeepAlive) while it uses the slice.
//
// T must be the Go type of the elements. If the data type has no Go type, T may be an
// unsigned integer of the same size. The error is of kind ErrType for another T, and
// ErrValue if t is not contiguous, not on the host, or read-only. [ReadSlice] accepts a
// read-only tensor. A slice of bools is an error of kind ErrValue if a byte is neither 0 nor 1, which
// other languages may write: [CopyTo] and [ElementsOf] take each byte but 0 for true. As long as the slice is used, nobody
// may write such a byte.
func Slice[T Element](t *Tensor) ([]T, error) {
	c, err := hostCell(t)
	if err == nil {
		err = writable(t)
	}
	if err != nil {
		return nil, err
	}
	return sliceOf[T](t, c)
}

// ReadSlice is like [Slice], but t may be read-only. The program must not write to the
// slice. For a tensor on a device, such as a device of an RPC session, the slice is a copy, which
// the runtime of TVM makes as for [CopyTo].
func ReadSlice[T Element](t *Tensor) ([]T, error) {
	c, err := cellOf(t)
	if err != nil {
		return nil, err
	}
	return sliceOf[T](t, c)
}

// sliceOf returns the elements of t, whose DLTensor is c: on a device a copy.
func sliceOf[T Element](t *Tensor, c *abi.DLTensor) ([]T, error) {
	if err := holds[T](DataType(c.DType)); err != nil {
		return nil, err
	}
	shape, strides := values.ShapeOf(c), values.Strides(c)
	n := values.Product(shape)
	switch {
	case !values.Contiguous(shape, strides):
		return nil, failure.Errorf(failure.KindValue, "tensor with shape %v and strides %v is not contiguous: use ElementsOf, CopyTo or Clone", t.Shape(), t.Strides())
	case n == 0:
		return []T{}, nil
	case n > math.MaxInt64/16:
		return nil, failure.Errorf(failure.KindValue, "tensor: shape %v has too many elements", t.Shape())
	case !onHost(c):
		s := make([]T, n)
		if err := t.fetch(c, bytesOf(s)); err != nil {
			return nil, err // and not zeros
		}
		if isBool[T]() {
			boolsOf(bytesOf(s))
		}
		return s, nil
	}
	if err := alignedTo[T](c); err != nil {
		return nil, err
	}
	if isBool[T]() {
		if err := onlyBools(t, bytesAt(address(c), n)); err != nil {
			return nil, err
		}
	}
	s := unsafe.Slice(capi.PointerTo[T](address(c)), n)
	runtime.KeepAlive(t)
	return s, nil
}

func writable(t *Tensor) error {
	if codec.Ref(t).ReadOnly() {
		return failure.Errorf(failure.KindValue, "tensor %s is read-only: read it with ReadSlice or CopyTo, or write to a Clone", t)
	}
	return nil
}

// holds returns an error unless elements of dtype can be read as T: T is the Go type of
// dtype, or dtype has no Go type and T is an unsigned integer of the same size.
func holds[T Element](dtype DataType) error {
	var zero T
	want := elementType[T]()
	inGo := dtype.Lanes == 1 && slices.Contains(elementTypes[:], dtype)
	if dtype != want && (inGo || dtype.IsScalable() || dtype.elementBits() != int64(8*unsafe.Sizeof(zero)) || want.Code != abi.DLUInt) {
		if goType, ok := goTypes[dtype]; ok {
			return failure.Errorf(failure.KindType, "tensor of %s: the element type is %s, not %T", dtype, goType, zero)
		}
		hint := ""
		if dtype.IsFloat() {
			hint = ": convert the elements with ToFloat32"
		}
		return failure.Errorf(failure.KindType, "tensor of %s: the element type is not %T%s", dtype, zero, hint)
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
		return failure.Errorf(failure.KindValue, "tensor: address %#x is not aligned to the %d bytes that %T needs: use CopyTo or Clone", address(c), a, zero)
	}
	return nil
}

// Elements reads and writes single elements of a tensor on the host, with any strides. It
// is valid as long as the tensor is, and keeps the tensor alive.
type Elements[T Element] struct {
	t              *Tensor
	data           uintptr
	shape, strides []int64
	readOnly       bool
	bools          bool
}

// ElementsOf returns access to the elements of t. [Slice] describes the possible types T
// and the errors. t need not be contiguous, and may be read-only; then Set panics.
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
	return &Elements[T]{t, address(c), t.Shape(), t.Strides(), t.ReadOnly(), isBool[T]()}, nil
}

// at returns the address of the element at an index.
func (e *Elements[T]) at(index []int64) *T {
	if codec.Ref(e.t).Handle() == 0 {
		e.t.cell() // panics
	}
	if len(index) != len(e.shape) {
		panic(failure.Errorf(failure.KindIndex, "element of %s: got %d indices, expected %d, one for each dimension", e.t, len(index), len(e.shape)))
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

// At returns the element at an index, which has one number for each dimension. It panics
// with an *Error if there is no such element, or if the tensor was released.
func (e *Elements[T]) At(index ...int64) T {
	x := load(e.at(index), e.bools)
	runtime.KeepAlive(e.t)
	return x
}

// Set stores x in the element at an index. It panics with an *Error in the same cases as
// At, and if the tensor is read-only.
func (e *Elements[T]) Set(x T, index ...int64) {
	if e.readOnly {
		panic(writable(e.t))
	}
	*e.at(index) = x
	runtime.KeepAlive(e.t)
}

// All ranges over the elements in row-major order, each with its number from 0. It panics
// with an *Error if the tensor was released.
func (e *Elements[T]) All() func(yield func(int64, T) bool) {
	return func(yield func(int64, T) bool) {
		var zero T
		i := int64(0)
		walk(e.shape, e.strides, func(offset int64) bool {
			if codec.Ref(e.t).Handle() == 0 {
				e.t.cell() // panics
			}
			more := yield(i, load(capi.PointerTo[T](e.data+uintptr(offset)*unsafe.Sizeof(zero)), e.bools))
			i++
			return more
		})
		runtime.KeepAlive(e.t)
	}
}

// walk calls f with the offset of each element in row-major order, until f returns false.
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

// bytesAt returns n bytes of host memory. The caller keeps the tensor alive that owns them.
func bytesAt(address uintptr, n int64) []byte {
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice(capi.PointerTo[byte](address), n)
}

// bytesOf returns the memory of a slice as bytes.
func bytesOf[T Element](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(zero))
}

// transfer checks a copy between a tensor and a slice of n elements, and returns the
// DLTensor.
func transfer[T Element](t *Tensor, n int) (*abi.DLTensor, error) {
	c, err := cellOf(t)
	if err != nil {
		return nil, err
	}
	if err := holds[T](DataType(c.DType)); err != nil {
		return nil, err
	}
	if have := values.Product(values.ShapeOf(c)); have != int64(n) {
		return nil, failure.Errorf(failure.KindValue, "copy: %s has %d elements, but the slice has %d", t, have, n)
	}
	return c, nil
}

// CopyTo copies the elements of t, in row-major order, to a slice of the same length. On the
// host t may have any strides, and share memory with the slice. [Slice] describes the possible types T.
//
// t may be on a device of the runtime of TVM, such as a device of an RPC session, if that library
// is loaded. There it must be contiguous; otherwise the error is of kind ErrValue. CopyTo waits
// for the copy. The copy takes as much memory again; [Copy] with a tensor of [FromSlice] does
// not. Package cuda copies the memory of CUDA devices.
func CopyTo[T Element](t *Tensor, to []T) error {
	c, err := transfer[T](t, len(to))
	if err != nil {
		return err
	}
	if !onHost(c) {
		err = t.fetchToStack(c, bytesOf(to))
	} else {
		move(c, bytesOf(to), true)
	}
	if isBool[T]() {
		boolsOf(bytesOf(to))
	}
	runtime.KeepAlive(t)
	return err
}

// CopyFrom copies a slice to the elements of t, in row-major order. The conditions of
// [CopyTo] apply, and t must not be read-only. If one element of t is in several places, the error is of kind ErrValue.
func CopyFrom[T Element](t *Tensor, from []T) error {
	c, err := transfer[T](t, len(from))
	if err == nil {
		err = writable(t)
	}
	if err != nil {
		return err
	}
	if !onHost(c) {
		return t.storeFromStack(c, bytesOf(from))
	}
	if err := distinct(t, c); err != nil {
		return err
	}
	move(c, bytesOf(from), false)
	runtime.KeepAlive(t)
	return nil
}

// move copies the elements of c to dense memory if out is set, and otherwise back. The
// elements must be whole bytes.
func move(c *abi.DLTensor, dense []byte, out bool) {
	shape, strides := values.ShapeOf(c), values.Strides(c)
	item := DataType(c.DType).elementBits() / 8
	run := item
	switch n := len(shape); {
	case values.Contiguous(shape, strides):
		shape, strides, run = nil, nil, int64(len(dense))
	case overlap(c, dense): // an element that is written may be read later
		between := make([]byte, len(dense))
		if out {
			move(c, between, true)
			copy(dense, between)
		} else {
			copy(between, dense)
			move(c, between, false)
		}
		return
	case strides[n-1] == 1:
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

// overlap reports whether the memory that the elements of c span shares bytes with dense. The elements must be whole bytes.
func overlap(c *abi.DLTensor, dense []byte) bool {
	low, high, err := values.Reach(values.ShapeOf(c), values.Strides(c))
	if err != nil || len(dense) == 0 {
		return false
	}
	item := DataType(c.DType).elementBits() / 8
	first, last := address(c)+uintptr(low*item), address(c)+uintptr((high+1)*item)
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(dense)))
	return begin < last && first < begin+uintptr(len(dense))
}

// Copy copies the elements of from to the elements of to. Both tensors have the same shape and
// data type. Their memory may overlap on the host. If one element of to is in several places, the error is of kind ErrValue.
// Each is on the host or on a device, as for
// [CopyTo]. Between two devices the copy goes through the host. Within one device, the device
// makes the copy in the order of its default stream, and the memory must not overlap.
func Copy(to, from *Tensor) error {
	source, err := cellOf(from)
	if err != nil {
		return failure.Annotate("source", err)
	}
	target, err := cellOf(to)
	if err != nil {
		return failure.Annotate("target", err)
	}
	if source.DType != target.DType || !slices.Equal(values.ShapeOf(source), values.ShapeOf(target)) {
		return failure.Errorf(failure.KindValue, "copy: source %s and target %s differ in shape or data type", from, to)
	}
	if err := writable(to); err != nil {
		return err
	}
	defer runtime.KeepAlive(to)
	switch {
	case !onHost(source) && source.Device == target.Device:
		return copyOnDevice(to, from, target, source)
	case onHost(target) && values.Contiguous(values.ShapeOf(target), values.Strides(target)):
		b, err := dense(target, to)
		if err != nil {
			return err
		}
		return from.fill(source, b, values.Product(values.ShapeOf(target))*DataType(target.DType).elementBits())
	}
	b, err := from.inOrder(source)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(from)
	if !onHost(target) {
		return to.store(target, b)
	}
	if DataType(target.DType).elementBits()%8 != 0 {
		return failure.Errorf(failure.KindValue, "copy: the elements of %s with strides %v are not whole bytes", to, to.Strides())
	}
	if err := distinct(to, target); err != nil {
		return err
	}
	move(target, b, false)
	return nil
}

// distinct returns an error if one element of a tensor is in several places, as after a broadcast: the last number
// would take the place of the others.
func distinct(t *Tensor, c *abi.DLTensor) error {
	shape, strides := values.ShapeOf(c), values.Strides(c)
	for i, n := range shape {
		if n > 1 && strides[i] == 0 {
			return failure.Errorf(failure.KindValue, "copy: %s has one element in all %d places of dimension %d: copy to a Clone of it", t, n, i)
		}
	}
	if values.Contiguous(shape, strides) || apart(shape, strides) {
		return nil
	}
	var all []int64
	walk(shape, strides, func(offset int64) bool {
		all = append(all, offset)
		return true
	})
	slices.Sort(all)
	if len(slices.Compact(all)) < int(values.Product(shape)) {
		return failure.Errorf(failure.KindValue, "copy: %s with strides %v has one element in several places: copy to a Clone of it", t, slices.Clone(strides))
	}
	return nil
}

// apart reports whether each step of a dimension passes over all elements of the dimensions with smaller steps. Then no element is
// in two places. That is so for most tensors.
func apart(shape, strides []int64) bool {
	var few room
	order := few[:0]
	for i, n := range shape {
		if n > 1 {
			order = append(order, int64(i))
		}
	}
	step := func(i int64) int64 { return max(strides[i], -strides[i]) }
	slices.SortFunc(order, func(a, b int64) int { return cmp.Compare(step(a), step(b)) })
	reach := int64(0)
	for _, i := range order {
		if step(i) <= reach {
			return false
		}
		reach += (shape[i] - 1) * step(i)
	}
	return true
}

// fill is read for the memory of another tensor, of which the elements take so many bits. The other bits of the last byte belong to
// an element behind them.
func (t *Tensor) fill(c *abi.DLTensor, to []byte, bits int64) error {
	if bits%8 == 0 {
		return t.read(c, to)
	}
	between := make([]byte, len(to))
	if err := t.read(c, between); err != nil {
		return err
	}
	theirs := byte(0xff) << (bits % 8)
	last := len(to) - 1
	between[last] = between[last]&^theirs | to[last]&theirs
	copy(to, between)
	return nil
}

// read copies the elements of t to dense memory. c is the DLTensor of t.
func (t *Tensor) read(c *abi.DLTensor, to []byte) error {
	switch dtype := DataType(c.DType); {
	case !onHost(c):
		return t.fetch(c, to)
	case values.Contiguous(values.ShapeOf(c), values.Strides(c)):
		copy(to, bytesAt(address(c), int64(len(to))))
	case dtype.elementBits()%8 == 0:
		move(c, to, true)
	default:
		return failure.Errorf(failure.KindValue, "copy: the elements of %s with strides %v are not whole bytes", t, t.Strides())
	}
	runtime.KeepAlive(t)
	return nil
}

// Clone returns a contiguous copy of a tensor, on the host. The memory of the copy is on the
// Go heap. The caller owns the reference. The tensor may be on a device, as for [CopyTo].
func (t *Tensor) Clone() (*Tensor, error) {
	c, err := cellOf(t)
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

// dense returns the memory of a contiguous tensor as bytes.
func dense(c *abi.DLTensor, t *Tensor) ([]byte, error) {
	if !values.Contiguous(values.ShapeOf(c), values.Strides(c)) {
		return nil, failure.Errorf(failure.KindValue, "bytes of %s: it has strides %v and is not contiguous: use Clone", t, t.Strides())
	}
	size, err := DataType(c.DType).size(values.Product(values.ShapeOf(c)))
	if err != nil {
		return nil, err
	}
	b := bytesAt(address(c), size)
	runtime.KeepAlive(t)
	return b, nil
}

// Bytes returns the memory of a contiguous tensor on the host as bytes, for any data type.
// It copies nothing. The rules of [Slice] for using the result apply. Numbers are in the
// byte order of the machine.
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

// ReadAt implements io.ReaderAt for the memory of a contiguous tensor on the host. off is
// in bytes. io.NewSectionReader makes an io.Reader of a tensor.
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

// WriteAt implements io.WriterAt for the memory of a contiguous tensor on the host. off is
// in bytes. Bytes beyond the end are not written and are an error, which wraps
// io.ErrShortWrite. io.NewOffsetWriter makes an io.Writer of a tensor.
func (t *Tensor) WriteAt(p []byte, off int64) (int, error) {
	b, err := t.Bytes()
	if err != nil {
		return 0, err
	}
	if off < 0 || off > int64(len(b)) {
		return 0, failure.Errorf(failure.KindIndex, "write to %s: offset %d is out of range with %d bytes", t, off, len(b))
	}
	n := copy(b[off:], p)
	runtime.KeepAlive(t)
	if n < len(p) {
		return n, failure.Errorf(failure.KindIndex, "write to %s: %d bytes at offset %d do not fit: %w", t, len(p), off, io.ErrShortWrite)
	}
	return n, nil
}

var (
	_ io.ReaderAt = (*Tensor)(nil)
	_ io.WriterAt = (*Tensor)(nil)
)
