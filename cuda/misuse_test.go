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
	m := must[*cuda.Memory](t)(cuda.Device(0).Alloc(64))
	defer m.Free()
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

// TestCopiesOverlap copies parts of memory onto themselves. The driver copies in no certain order, so CopyRange and
// CopyBox refuse it; so do their siblings.
func TestCopiesOverlap(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	m := must[*cuda.Memory](t)(cuda.AllocOf(d, make([]byte, 64)))
	defer m.Free()
	part := func(from, n int64) *cuda.Memory { return must[*cuda.Memory](t)(m.Part(from, n)) }
	f.calls()
	for _, c := range []struct{ to, from *cuda.Memory }{{part(0, 32), part(16, 32)}, {part(16, 32), part(0, 32)}, {m, m}, {m, part(63, 1)}, {part(0, 64), part(0, 1)}} {
		bad := c.to.Pointer() == c.from.Pointer() || c.from.Size() > 1
		err := cuda.Copy(c.to, c.from, nil)
		if bad {
			wantError(t, err, tvmffi.ErrValue, "overlap: copy through other memory")
		} else {
			ok(t, err)
		}
	}
	ok(t, cuda.Copy(part(0, 16), part(16, 16), nil))
	ok(t, cuda.Copy(part(16, 16), part(0, 16), nil))
}
