//go:build tvmffi_liveness

package check_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

//go:noinline
func tensorOf(n int64) *tvmffi.Tensor {
	d := abi.DLTensor{Data: checktest.Base(), DType: abi.DLDataType(tvmffi.Float32), Device: abi.DLDevice(tvmffi.CUDA(0))}
	return checktest.Tensor(d, []int64{n}, nil)
}

//go:noinline
func shapeOf(dims ...int64) *tvmffi.Shape { return runtimetest.Got(tvmffi.NewShape(dims...)) }

//go:noinline
func tuple() *tvmffi.Array[any] { return runtimetest.Got(tvmffi.NewArray[any](tensorOf(8), int64(3))) }

func TestLiveness(t *testing.T) {
	use(t)
	one := check.MustCompile("f(a: Tensor([n], float32), b: Tensor([n], float32))")
	slow := check.MustCompile("f(o: Optional[Tensor([n], float32)], s: Shape([n]))")
	nested := check.MustCompile("f(t: Tuple[Tensor([n], float32), int32], a: Tensor([n], float32))")
	bound := func(c *check.Checker, args ...any) error {
		var v check.Values
		return c.Bind(&v, args...)
	}
	runtimetest.Alive(t, []runtimetest.Use{
		{"Check", func() any { return one.Check(tensorOf(8), tensorOf(8)) }, nil},
		{"Check of what is wrong", func() any { return one.Check(tensorOf(8), tensorOf(9)).Error() },
			"ValueError: Mismatched b.shape[0] on argument #1 when calling: `f(a: Tensor([n], float32), b: Tensor([n], float32))`, expected to match a.shape[0]"},
		{"Check of a Shape", func() any { return slow.Check(tensorOf(8), shapeOf(8)) }, nil},
		{"Check of None", func() any { return slow.Check(nil, shapeOf(8)) }, nil},
		{"Check of a tuple", func() any { return nested.Check(tuple(), tensorOf(8)) }, nil},
		{"Check of a slice", func() any { return nested.Check([]any{tensorOf(8), 3}, tensorOf(8)) }, nil},
		{"Bind", func() any { var v check.Values; return one.Bind(&v, tensorOf(8), tensorOf(8)) }, nil},
		{"Bind of a Shape", func() any { return bound(slow, tensorOf(8), shapeOf(8)) }, nil},
		{"Bind of a tuple", func() any { return bound(nested, tuple(), tensorOf(8)) }, nil},
	})
}
