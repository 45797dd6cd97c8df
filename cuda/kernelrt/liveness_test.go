//go:build tvmffi_liveness

package kernelrt_test

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	. "github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

//go:noinline
func numbers(n int64) *tvmffi.Tensor {
	d := abi.DLTensor{Data: checktest.Base(), DType: abi.DLDataType(tvmffi.Float32), Device: abi.DLDevice(tvmffi.CUDA(1))}
	return checktest.Tensor(d, []int64{n}, nil)
}

func TestLiveness(t *testing.T) {
	f := load(t)
	st := runtimetest.Got(cuda.Device(1).NewStream(cuda.Blocking()))
	// launched returns what a launch passed to the driver.
	launched := func(err error) any {
		if err != nil {
			return err.Error()
		}
		for _, call := range f.calls() {
			if _, args, ok := strings.Cut(call, "args="); ok {
				return args
			}
		}
		return nil
	}
	address := little(uint64(checktest.Base()), 8)
	runtimetest.Alive(t, []runtimetest.Use{
		{"tensors", func() any { return launched(Axpy(numbers(1000), numbers(1000), 2, st)) }, little(1000, 4) + ",00000040," + address + "," + address + " extra=0"},
		{"tensors that are wrong", func() any {
			err := Axpy(numbers(1000), numbers(999), 2, st)
			return strings.Contains(err.Error(), "expected to match x.shape[0]")
		}, true},
		{"a kernel with optional tensors", func() any {
			err := Optionals(numbers(8), numbers(8), nil, numbers(8), nil)
			return err == nil || !strings.Contains(err.Error(), "was released")
		}, true},
	})
	ok(t, st.Close())
}
