package cuda_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestHugeElements asks for a tensor whose size no number of 63 bits holds.
func TestHugeElements(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	m := frees[*cuda.Memory](t)(cuda.Device(0).Alloc(64))
	wide := tvmffi.Float64
	wide.Lanes = 1024
	for _, shape := range [][]int64{{1 << 56}, {1 << 28, 1 << 28}, {1 << 50}} {
		_, err := m.Tensor(wide, shape...)
		wantError(t, err, tvmffi.ErrValue, "tensor")
	}
	wide.Lanes = 0xfffc // a vector whose length only the hardware knows
	_, err := m.Tensor(wide, 1)
	wantError(t, err, tvmffi.ErrValue)
}

// TestEmptyArguments passes arguments without bytes to a kernel of which an old driver does not report the parameters. In C
// no parameter is that small: the driver would read behind the arguments.
func TestEmptyArguments(t *testing.T) {
	f := load(t)
	m := module(t, 0)
	defer driver.Remove(driver.FuncGetParamInfo)()
	k := kernel(t, m, "small")
	f.calls()
	for _, arg := range []any{struct{}{}, [0]int32{}, struct{ _ [0]uint8 }{}} {
		err := k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}, arg)
		wantError(t, err, tvmffi.ErrType, `launch of "small": argument 0`, "has no bytes")
	}
	if calls := only(f.calls(), "cuLaunchKernel"); len(calls) > 0 {
		t.Errorf("the driver got %q", calls)
	}
}
