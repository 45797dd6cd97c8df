package tvmffi

import (
	"runtime"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// view returns a tensor over the elements of t, beginning at an offset in elements.
func (t *Tensor) view(o *objects.Object, offset int64, shape, strides []int64) (*Tensor, error) {
	if o.BorrowedMemory() {
		return nil, failure.Errorf(failure.KindRuntime, "view of %s: the memory is borrowed until the callback returns, and a view could outlive it: copy the tensor with Clone", t)
	}
	c := t.cell()
	bits := offset * DataType(c.DType).elementBits()
	if bits%8 != 0 {
		return nil, failure.Errorf(failure.KindValue, "view of %s: element %d does not begin at a whole byte", t, offset)
	}
	d := abi.DLTensor{Data: c.Data, Device: c.Device, DType: c.DType, ByteOffset: c.ByteOffset + uint64(bits/8)}
	if c.Device.HasAddresses() {
		// Many kernels ignore the offset, so it goes into the address.
		d.Data, d.ByteOffset = d.Data+uintptr(d.ByteOffset), 0
	}
	handle, err := values.ViewTensor(o.Handle(), d, shape, strides)
	if err != nil {
		return nil, err
	}
	v := objects.OwnView(handle, o)
	if o.ReadOnly() {
		v.SetReadOnly()
	}
	runtime.KeepAlive(t)
	return codec.Wrap[*Tensor](v), nil
}

// room is memory for the shape and the strides of most tensors.
type room [2 * 8]int64

// describe returns the object, the shape and the strides of t. The slices are copies, in b
// if they fit.
func (t *Tensor) describe(b *room) (o *objects.Object, shape, strides []int64, err error) {
	if o, err = codec.Receiver(t, "Tensor"); err != nil {
		return nil, nil, nil, err
	}
	c := t.cell()
	shape = append(b[:0:len(b)/2], values.ShapeOf(c)...)
	strides = append(b[len(b)/2:len(b)/2], values.Strides(c)...)
	runtime.KeepAlive(t)
	return o, shape, strides, nil
}

// position returns index as a number from 0 to n, and reports whether it is in that range.
// A negative index counts from the end of a dimension of size n.
func position(index, n int64) (int64, bool) {
	if index < 0 {
		index += n
	}
	return index, index >= 0 && index <= n
}

// Slice returns a view of the indices from, from+1, ... to-1 of dimension dim. It copies
// nothing. Negative indices count from the end of the dimension, and a negative dim from
// the last dimension. The error is of kind ErrIndex if they are out of range.
//
// Like every view, the result is a tensor of its own: the caller owns its reference, it
// keeps the memory alive, and its byte offset is added to its address.
func (t *Tensor) Slice(dim int, from, to int64) (*Tensor, error) {
	var few room
	o, shape, strides, err := t.describe(&few)
	if err != nil {
		return nil, err
	}
	i, err := dimension(dim, len(shape))
	if err != nil {
		return nil, err
	}
	begin, ok1 := position(from, shape[i])
	end, ok2 := position(to, shape[i])
	if !ok1 || !ok2 || begin > end {
		return nil, failure.Errorf(failure.KindIndex, "slice of %s: from %d to %d is out of range in dimension %d", t, from, to, dim)
	}
	offset := begin * strides[i]
	if shape[i] = end - begin; shape[i] == 0 {
		offset = 0 // an empty view must not point past the memory
	}
	return t.view(o, offset, shape, strides)
}

// Select returns a view of one index of dimension dim. The result does not have that
// dimension. A negative index counts from the end. The error is of kind ErrIndex if dim or
// index is out of range.
func (t *Tensor) Select(dim int, index int64) (*Tensor, error) {
	var few room
	o, shape, strides, err := t.describe(&few)
	if err != nil {
		return nil, err
	}
	i, err := dimension(dim, len(shape))
	if err != nil {
		return nil, err
	}
	at, ok := position(index, shape[i])
	if !ok || at == shape[i] {
		return nil, failure.Errorf(failure.KindIndex, "select of %s: index %d is out of range in dimension %d", t, index, dim)
	}
	offset := at * strides[i]
	return t.view(o, offset, slices.Delete(shape, i, i+1), slices.Delete(strides, i, i+1))
}

// Reshape returns a view of the elements with another shape, which has as many elements. It
// copies nothing. One dimension may be -1, and Reshape computes it. The error is of kind
// ErrValue if t is not contiguous or the shape does not fit.
func (t *Tensor) Reshape(shape ...int64) (*Tensor, error) {
	var few room
	o, old, strides, err := t.describe(&few)
	if err != nil {
		return nil, err
	}
	if !values.Contiguous(old, strides) {
		return nil, failure.Errorf(failure.KindValue, "reshape of %s: it has strides %v and is not contiguous: reshape a Clone", t, t.Strides())
	}
	n := values.Product(old)
	shape = slices.Clone(shape)
	unknown, known := -1, int64(1)
	for i, d := range shape {
		switch {
		case d == -1 && unknown < 0:
			unknown = i
			continue
		case d < 0:
			return nil, failure.Errorf(failure.KindValue, "reshape of %s: dimension %d of shape %v is negative", t, i, shape)
		case d > 0 && known > (1<<62)/d:
			return nil, failure.Errorf(failure.KindValue, "reshape of %s: shape %v has too many elements", t, shape)
		}
		known *= d
	}
	if unknown >= 0 {
		if known == 0 || n%known != 0 {
			return nil, failure.Errorf(failure.KindValue, "reshape of %s: %d elements do not fill shape %v", t, n, shape)
		}
		shape[unknown] = n / known
		known = n
	}
	if known != n {
		return nil, failure.Errorf(failure.KindValue, "reshape of %s: shape %v has %d elements, expected %d", t, shape, known, n)
	}
	strides = make([]int64, len(shape))
	objects.RowMajor(shape, strides)
	return t.view(o, 0, shape, strides)
}

// Transpose returns a view of t with its dimensions in another order: dims[i] is the
// dimension of t that becomes dimension i. Without dims it reverses the order. It returns an
// error unless dims names each dimension once.
func (t *Tensor) Transpose(dims ...int) (*Tensor, error) {
	var few room
	o, shape, strides, err := t.describe(&few)
	if err != nil {
		return nil, err
	}
	n := len(shape)
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	if dims != nil {
		if len(dims) != n {
			return nil, failure.Errorf(failure.KindValue, "transpose of %s: got %d dimensions, expected %d", t, len(dims), n)
		}
		for i, d := range dims {
			if order[i], err = dimension(d, n); err != nil {
				return nil, err
			}
			if slices.Contains(order[:i], order[i]) {
				return nil, failure.Errorf(failure.KindValue, "transpose of %s: dimension %d is given twice", t, d)
			}
		}
	}
	newShape, newStrides := make([]int64, n), make([]int64, n)
	for i, d := range order {
		newShape[i], newStrides[i] = shape[d], strides[d]
	}
	return t.view(o, 0, newShape, newStrides)
}

// Squeeze returns a view of t without the given dimensions, which must have size 1. Without
// arguments it drops all dimensions of size 1.
func (t *Tensor) Squeeze(dims ...int) (*Tensor, error) {
	var few room
	o, shape, strides, err := t.describe(&few)
	if err != nil {
		return nil, err
	}
	drop := make([]bool, len(shape))
	for i, d := range shape {
		drop[i] = dims == nil && d == 1
	}
	for _, d := range dims {
		i, err := dimension(d, len(shape))
		if err != nil {
			return nil, err
		}
		if shape[i] != 1 {
			return nil, failure.Errorf(failure.KindValue, "squeeze of %s: dimension %d has size %d, expected 1", t, d, shape[i])
		}
		drop[i] = true
	}
	newShape, newStrides := []int64{}, []int64{}
	for i := range shape {
		if !drop[i] {
			newShape, newStrides = append(newShape, shape[i]), append(newStrides, strides[i])
		}
	}
	return t.view(o, 0, newShape, newStrides)
}

// Unsqueeze returns a view of t with one more dimension, of size 1, before dimension dim. -1
// adds it at the end.
func (t *Tensor) Unsqueeze(dim int) (*Tensor, error) {
	var few room
	o, shape, strides, err := t.describe(&few)
	if err != nil {
		return nil, err
	}
	i, err := dimension(dim, len(shape)+1)
	if err != nil {
		return nil, err
	}
	step := int64(1)
	if i < len(shape) {
		step = shape[i] * strides[i]
	}
	return t.view(o, 0, slices.Insert(shape, i, 1), slices.Insert(strides, i, step))
}

// AsStrided returns a view of the memory of t with the given shape, strides and offset. The
// strides and the offset are in elements. The error is of kind ErrValue if an element of
// the result lies outside the memory that t spans.
func (t *Tensor) AsStrided(shape, strides []int64, offset int64) (*Tensor, error) {
	var few room
	o, oldShape, oldStrides, err := t.describe(&few)
	if err != nil {
		return nil, err
	}
	n, err := values.Elements(shape)
	if err != nil {
		return nil, err
	}
	low, high, err := values.Reach(shape, strides)
	if err != nil {
		return nil, err
	}
	first, last, err := values.Reach(oldShape, oldStrides)
	if err != nil {
		return nil, err
	}
	if slices.Contains(oldShape, 0) {
		last = first - 1
	}
	switch {
	case offset > 1<<61 || offset < -1<<61 || n > 0 && (offset+low < first || offset+high > last):
		return nil, failure.Errorf(failure.KindValue, "strided view of %s: shape %v with strides %v at offset %d reaches from element %d to %d, but the tensor reaches from %d to %d",
			t, slices.Clone(shape), slices.Clone(strides), offset, offset+low, offset+high, first, last)
	case n == 0:
		offset = 0
	}
	return t.view(o, offset, shape, strides)
}
