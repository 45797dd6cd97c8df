package values

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// ShapeOf views the dimensions of c, whose owner must be kept alive.
func ShapeOf(c *abi.DLTensor) []int64 { return dims(c, c.Shape) }

// dims views the numbers of c at an address.
func dims(c *abi.DLTensor, at uintptr) []int64 {
	if at == 0 || c.NDim <= 0 {
		return []int64{}
	}
	return unsafe.Slice(capi.PointerTo[int64](at), c.NDim)
}

// Strides returns the strides of c in elements. The library may leave them out; then the
// elements lie in row-major order.
func Strides(c *abi.DLTensor) []int64 {
	if c.Strides == 0 {
		shape := ShapeOf(c)
		strides := make([]int64, len(shape))
		objects.RowMajor(shape, strides)
		return strides
	}
	return dims(c, c.Strides)
}

// Product returns the number of elements of a shape. A tensor of another library may have more than int64 holds, all in one place
// with strides of 0: then it returns the greatest int64, for which no memory has room.
func Product(shape []int64) int64 {
	n := uint64(1)
	for _, d := range shape {
		high, low := bits.Mul64(n, uint64(d))
		if high != 0 || low > math.MaxInt64 {
			if slices.Contains(shape, 0) {
				return 0
			}
			return math.MaxInt64
		}
		n = low
	}
	return int64(n)
}

// Contiguous reports whether a tensor lies in row-major order without gaps.
func Contiguous(shape, strides []int64) bool {
	if slices.Contains(shape, 0) {
		return true
	}
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && strides[i] != step {
			return false
		}
		step *= shape[i]
	}
	return true
}

// Elements returns the number of elements of a shape.
func Elements(shape []int64) (int64, error) {
	n := int64(1)
	for i, d := range shape {
		if d < 0 {
			return 0, failure.Errorf(failure.KindValue, "tensor: dimension %d of shape %v is negative", i, slices.Clone(shape))
		}
		high, low := bits.Mul64(uint64(n), uint64(d))
		if high != 0 || low > 1<<62 {
			return 0, failure.Errorf(failure.KindValue, "tensor: shape %v has too many elements", slices.Clone(shape))
		}
		n = int64(low)
	}
	return n, nil
}

// Reach returns the least and the greatest offset, in elements, of a tensor that
// has elements.
func Reach(shape, strides []int64) (low, high int64, err error) {
	if len(shape) != len(strides) {
		return 0, 0, failure.Errorf(failure.KindValue, "tensor: %d dimensions, but %d strides", len(shape), len(strides))
	}
	const most = 1 << 61
	for i, d := range shape {
		if d < 1 || strides[i] == 0 {
			continue
		}
		size := strides[i]
		if size < 0 {
			size = -size
		}
		if size < 0 || d-1 > most/size {
			return 0, 0, failure.Errorf(failure.KindValue, "tensor: shape %v with strides %v reaches too far", slices.Clone(shape), slices.Clone(strides))
		}
		if strides[i] < 0 {
			low -= (d - 1) * size
		} else {
			high += (d - 1) * size
		}
		if low < -most || high > most {
			return 0, 0, failure.Errorf(failure.KindValue, "tensor: shape %v with strides %v reaches too far", slices.Clone(shape), slices.Clone(strides))
		}
	}
	return low, high, nil
}
