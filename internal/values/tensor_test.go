package values

import (
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// TestShapeOf_empty reads tensors of foreign code that have no shape, or one of a number
// of dimensions that there is not.
func TestShapeOf_empty(t *testing.T) {
	pair := &[2]int64{2, 3}
	defer runtime.KeepAlive(pair)
	numbers := capi.Address(pair)
	for _, c := range []struct {
		ndim int32
		at   uintptr
		want int
	}{{2, numbers, 2}, {1, numbers, 1}, {0, numbers, 0}, {-1, numbers, 0}, {2, 0, 0}, {0, 0, 0}, {-1, 0, 0}} {
		d := &abi.DLTensor{NDim: c.ndim, Shape: c.at, Strides: c.at}
		if got := ShapeOf(d); got == nil || len(got) != c.want {
			t.Errorf("%d dimensions at %#x: shape %v, want %d numbers", c.ndim, c.at, got, c.want)
		}
		if got := Strides(d); got == nil || len(got) != c.want {
			t.Errorf("%d dimensions at %#x: strides %v, want %d numbers", c.ndim, c.at, got, c.want)
		}
	}
}
