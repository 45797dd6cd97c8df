package tvmffi

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Shape is an ffi.Shape: an immutable sequence of int64. It may be passed where an array
// of int64 is expected.
type Shape struct {
	_ [0]*Shape // see Object
	objectBase
}

var (
	typeShape = fields.Type{Key: "ffi.Shape"}
	newShape  = calls.Func{Name: "ffi.Shape"}
)

// TVMFFIType identifies the type to the runtime.
func (*Shape) TVMFFIType(*Shape) *fields.Type { return &typeShape }

func (*Shape) passSlicesWithOf(int64) {}
func (*Shape) passSlicesByOf()        {}
func (*Shape) theArray()              {}

// NewShape returns a new Shape with the given dimensions. A Shape may hold any number, so a dimension below 0 can
// stand for one that is not known yet; a tensor of such a shape is an error.
func NewShape(dims ...int64) (*Shape, error) {
	t, err := codec.EncodeBy(&newShape, dims, nil)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*Shape](objects.Own(uintptr(t.Value.Bits))), nil
}

func (s *Shape) dims() []int64 {
	o := codec.Ref(s)
	codec.Alive(o, "Shape")
	cell := capi.PointerTo[abi.ShapeCell](o.Handle() + abi.ObjectSize)
	if cell.Size == 0 {
		return []int64{}
	}
	return unsafe.Slice(capi.PointerTo[int64](cell.Data), cell.Size)
}

// Len returns the number of dimensions. Len, At and Slice panic with an *Error if s is nil
// or was released.
func (s *Shape) Len() int {
	n := len(s.dims())
	runtime.KeepAlive(s)
	return n
}

// At returns dimension i. It panics with an *Error if i is out of range.
func (s *Shape) At(i int) int64 {
	dims := s.dims()
	if i < 0 || i >= len(dims) {
		panic(failure.Errorf(failure.KindIndex, "Shape: index %d out of range with %d dimensions", i, len(dims)))
	}
	n := dims[i]
	runtime.KeepAlive(s)
	return n
}

// Slice returns a copy of the dimensions. That of an empty shape is not nil, so it makes a scalar where [FromSlice] takes it.
func (s *Shape) Slice() []int64 {
	dims := slices.Clone(s.dims())
	runtime.KeepAlive(s)
	return dims
}
