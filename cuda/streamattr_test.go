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
		st := must[*cuda.Stream](t)(d.NewStream(cuda.Priority(c.asked), cuda.NonBlocking()))
		if got, err := st.Priority(); got != c.want || err != nil {
			t.Errorf("priority %d is %d (%v), want %d", c.asked, got, err, c.want)
		}
		if apart, err := st.NonBlocking(); !apart || err != nil {
			t.Errorf("NonBlocking is %t (%v)", apart, err)
		}
		ok(t, st.Close())
		_, err := st.Priority()
		wantError(t, err, tvmffi.ErrValue, "is closed")
	}
	st := must[*cuda.Stream](t)(d.DefaultStream())
	if apart, err := st.NonBlocking(); apart || err != nil {
		t.Errorf("the default stream: NonBlocking is %t (%v)", apart, err)
	}
	_, err = (*cuda.Stream)(nil).NonBlocking()
	wantError(t, err, tvmffi.ErrValue, "the stream is nil")
	_, _, err = cuda.Device(4).PriorityRange()
	wantError(t, err, tvmffi.ErrValue, "there is no device")
	for _, name := range []string{"cuStreamGetPriority", "cuStreamGetFlags"} {
		f.failing(name, int(cuda.ErrUnknown), 0)
	}
	_, err = st.Priority()
	wantDriverError(t, err, cuda.ErrUnknown, "cuStreamGetPriority")
	_, err = st.NonBlocking()
	wantDriverError(t, err, cuda.ErrUnknown, "cuStreamGetFlags")
}

// TestLaunchAttributes compares what the driver gets; what a GPU makes of it, no test here can see.
func TestLaunchAttributes(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	k := kernel(t, module(t, d), "nothing")
	st := must[*cuda.Stream](t)(d.NewStream())
	defer st.Close()
	m := must[*cuda.Memory](t)(d.Alloc(4096))
	defer m.Free()
	_, _, err := d.PriorityRange()
	ok(t, err)
	window := &cuda.AccessWindow{Memory: m, HitRatio: 0.5, Hit: cuda.AccessPersisting, Miss: cuda.AccessStreaming}
	low := uint32(m.Pointer().Address)
	for _, c := range []struct {
		set  func(c *cuda.LaunchConfig)
		want string
	}{
		{func(c *cuda.LaunchConfig) { c.Priority = -2 }, fmt.Sprintf("8=%d", uint32(math.MaxUint32-1))},
		{func(c *cuda.LaunchConfig) { c.Priority = -99 }, fmt.Sprintf("8=%d", uint32(math.MaxUint32-4))},
		{func(c *cuda.LaunchConfig) { c.Priority = 5 }, ""}, // 0 after clamping, that of the stream
		{func(c *cuda.LaunchConfig) { c.RemoteDomain = true }, "10=1"},
		{func(c *cuda.LaunchConfig) { c.Window = window }, fmt.Sprintf("1=%d", low)},
		{func(c *cuda.LaunchConfig) { c.Window = &cuda.AccessWindow{} }, "1=0"}, // none, whatever the stream has
		{func(c *cuda.LaunchConfig) {
			c.Cluster, c.Cooperative, c.Programmatic, c.RemoteDomain, c.Priority, c.Window = cuda.Dim(2), true, true, true, -1, window
		}, fmt.Sprintf("4=2x1x1;2=1;6=1;10=1;8=%d;1=%d", uint32(math.MaxUint32), low)},
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
	f.failing("cuLaunchKernelEx", int(cuda.ErrUnknown), 0)
	wantDriverError(t, k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Priority: -1}), cuda.ErrUnknown, "cuLaunchKernelEx")
	far := must[*cuda.Memory](t)(cuda.Device(1).Alloc(64))
	defer far.Free()
	wantError(t, k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Window: &cuda.AccessWindow{Memory: far}}), tvmffi.ErrValue, "on cuda:1")
	other := kernel(t, module(t, 1), "nothing")
	wantError(t, other.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Window: &cuda.AccessWindow{Memory: far}}), tvmffi.ErrValue, "cuda:1 has none")
	f.failing("cuCtxGetStreamPriorityRange", int(cuda.ErrUnknown), 0)
	if err := other.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Priority: -1}); err != nil {
		wantDriverError(t, err, cuda.ErrUnknown, "cuCtxGetStreamPriorityRange") // unless another test has read it
	}
	ok(t, d.Synchronize())
}

func TestAccessWindow(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	st := must[*cuda.Stream](t)(d.NewStream())
	defer st.Close()
	m := must[*cuda.Memory](t)(d.Alloc(4096))
	defer m.Free()
	part := must[*cuda.Memory](t)(m.Part(256, 1024))
	if w, err := st.AccessWindow(); w != (cuda.AccessWindow{}) || err != nil {
		t.Errorf("a new stream has the window %+v (%v)", w, err)
	}
	ok(t, st.SetAccessWindow(cuda.AccessWindow{Memory: part, HitRatio: 0.25, Hit: cuda.AccessPersisting, Miss: cuda.AccessStreaming}))
	f.expectCall(fmt.Sprintf("cuStreamSetAttribute %x 1 %x 1024 0.25 2 1", st.Pointer().Address, part.Pointer().Address))
	w, err := st.AccessWindow()
	if err != nil || w.Memory.Pointer() != part.Pointer() || w.Memory.Size() != 1024 || w.HitRatio != 0.25 || w.Hit != cuda.AccessPersisting || w.Miss != cuda.AccessStreaming {
		t.Errorf("the window is %+v (%v)", w, err)
	}
	ok(t, w.Memory.Free()) // a view
	ok(t, st.SetAccessWindow(cuda.AccessWindow{}))
	if w, err := st.AccessWindow(); w.Memory != nil || err != nil {
		t.Errorf("the window is %+v (%v) after its end", w, err)
	}
	ok(t, d.ResetPersistingL2())

	for _, c := range []struct {
		w    cuda.AccessWindow
		text string
	}{
		{cuda.AccessWindow{Memory: m, HitRatio: 1.5}, "the hit ratio is 1.5: it must be 0 to 1"},
		{cuda.AccessWindow{Memory: m, HitRatio: float32(math.NaN())}, "the hit ratio is NaN"},
		{cuda.AccessWindow{Memory: m, Hit: 3}, "Hit is 3"},
		{cuda.AccessWindow{Memory: m, Hit: -1}, "Hit is -1"},
		{cuda.AccessWindow{Memory: m, Miss: cuda.AccessPersisting}, "Miss is 2: it must be AccessNormal or AccessStreaming"},
		{cuda.AccessWindow{Memory: new(cuda.Memory)}, "zero Memory"},
	} {
		wantError(t, st.SetAccessWindow(c.w), tvmffi.ErrValue, c.text)
	}
	large := must[*cuda.Memory](t)(d.Alloc(134213633))
	defer large.Free()
	wantError(t, st.SetAccessWindow(cuda.AccessWindow{Memory: large}), tvmffi.ErrValue, "134213633 bytes", "at most 134213632: take a part")
	far := must[*cuda.Memory](t)(cuda.Device(1).Alloc(64))
	wantError(t, st.SetAccessWindow(cuda.AccessWindow{Memory: far}), tvmffi.ErrValue, "the memory is on cuda:1")
	there := must[*cuda.Stream](t)(cuda.Device(1).NewStream())
	defer there.Close()
	wantError(t, there.SetAccessWindow(cuda.AccessWindow{Memory: far}), tvmffi.ErrValue, "cuda:1 has none: see the attribute MaxAccessWindow")
	ok(t, far.Free())
	wantError(t, there.SetAccessWindow(cuda.AccessWindow{Memory: far}), tvmffi.ErrValue, "was freed")
	wantDriverError(t, cuda.Device(1).ResetPersistingL2(), cuda.ErrNotSupported, "cuCtxResetPersistingL2Cache")
	wantError(t, cuda.Device(3).ResetPersistingL2(), tvmffi.ErrValue, "there is no device")
	wantError(t, (*cuda.Stream)(nil).SetAccessWindow(cuda.AccessWindow{}), tvmffi.ErrValue, "the stream is nil")
	wantError(t, new(cuda.Stream).SetAccessWindow(cuda.AccessWindow{}), tvmffi.ErrValue, "a zero Stream stands for nothing, in the call of Stream.SetAccessWindow")
	for _, name := range []string{"cuStreamSetAttribute", "cuStreamGetAttribute", "cuDeviceGetAttribute"} {
		f.failing(name, int(cuda.ErrUnknown), 0)
	}
	wantDriverError(t, st.SetAccessWindow(cuda.AccessWindow{Memory: m}), cuda.ErrUnknown, "cuDeviceGetAttribute")
	wantDriverError(t, st.SetAccessWindow(cuda.AccessWindow{Memory: m}), cuda.ErrUnknown, "cuStreamSetAttribute")
	_, err = st.AccessWindow()
	wantDriverError(t, err, cuda.ErrUnknown, "cuStreamGetAttribute")
}
