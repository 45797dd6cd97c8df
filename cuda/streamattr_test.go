package cuda_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestPriorities(t *testing.T) {
	f := load(t)
	d := cuda.Device(0)
	least, greatest, err := d.PriorityRange()
	if least != 0 || greatest != -5 || err != nil {
		t.Errorf("priorities %d to %d (%v), want 0 to -5", greatest, least, err)
	}
	for _, c := range []struct{ asked, want int }{{0, 0}, {-3, -3}, {-100, -5}, {7, 0}} {
		st := must[*cuda.Stream](t)(d.NewStream(cuda.Priority(c.asked)))
		if got, err := st.Priority(); got != c.want || err != nil {
			t.Errorf("priority %d is %d (%v), want %d", c.asked, got, err, c.want)
		}
		ok(t, st.Close())
		_, err := st.Priority()
		wantError(t, err, tvmffi.ErrValue, "is closed")
	}
	st := must[*cuda.Stream](t)(d.DefaultStream())
	_, _, err = cuda.Device(4).PriorityRange()
	wantError(t, err, tvmffi.ErrValue, "there is no device")
	f.failing("cuStreamGetPriority", int(cuda.ErrUnknown), 0)
	_, err = st.Priority()
	wantDriverError(t, err, cuda.ErrUnknown, "cuStreamGetPriority")
}

// TestLaunchAttributes compares what the driver gets; what a GPU makes of it, no test here can see.
func TestLaunchAttributes(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	k := kernel(t, module(t, d), "nothing")
	st := closes[*cuda.Stream](t)(d.NewStream(cuda.Blocking()))
	_, _, err := d.PriorityRange()
	ok(t, err)
	for _, c := range []struct {
		set  func(c *cuda.LaunchConfig)
		want string
	}{
		{func(c *cuda.LaunchConfig) { c.Priority = -2 }, fmt.Sprintf("8=%d", uint32(math.MaxUint32-1))},
		{func(c *cuda.LaunchConfig) { c.Priority = -99 }, fmt.Sprintf("8=%d", uint32(math.MaxUint32-4))},
		{func(c *cuda.LaunchConfig) { c.Priority = 5 }, ""}, // 0 after clamping, that of the stream
		{func(c *cuda.LaunchConfig) {
			c.Cluster, c.Cooperative, c.Programmatic, c.Priority = cuda.Dim(2), true, true, -1
		}, fmt.Sprintf("4=2x1x1;2=1;6=1;8=%d", uint32(math.MaxUint32))},
	} {
		f.reset()
		config := cuda.LaunchConfig{Grid: cuda.Dim(2), Block: cuda.Dim(32), Stream: st}
		c.set(&config)
		ok(t, k.Launch(config))
		calls := f.calls()
		i := len(calls) - 2 // the device goes back after it
		if i < 0 {
			t.Fatalf("calls %q", calls)
		}
		if len(only(slices.Clone(calls), "cuCtxGetStreamPriorityRange")) > 0 { // it was read above
			t.Errorf("the range is read for each launch: %q", calls)
		}
		name, attributes := "cuLaunchKernelEx", " attributes="+c.want+" "
		if c.want == "" {
			name, attributes = "cuLaunchKernel", ""
		}
		if calls[i].name != name || !strings.Contains(calls[i].args, attributes) {
			t.Errorf("got %v, want %s with %q", calls[i], name, attributes)
		}
	}
	ok(t, d.Synchronize())
}
