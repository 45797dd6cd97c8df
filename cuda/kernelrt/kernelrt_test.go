package kernelrt_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	. "github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// little writes a number as its bytes in memory.
func little(v uint64, bytes int) string {
	var b strings.Builder
	for i := range bytes {
		fmt.Fprintf(&b, "%02x", byte(v>>(8*i)))
	}
	return b.String()
}

func TestLaunch(t *testing.T) {
	f := load(t)
	x, y := f32(t, 1, 1000), f32(t, 1, 1000)
	st, err := cuda.Device(1).NewStream(cuda.Blocking())
	ok(t, err)
	defer st.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The first launch on a device loads the kernel there.
	ok(t, cuda.WithDevice(0, func() error {
		f.calls()
		ok(t, Axpy(x, y, 2, st))
		data := little(uint64(x.DataPointer().Address), 8)
		launch := fmt.Sprintf("cuLaunchKernel grid=4,1,1 block=256,1,1 shared=0 stream=%x args=%s,00000040,%s,%s extra=0",
			st.Pointer().Address, little(1000, 4), data, data)
		got := f.calls()
		if len(got) < 4 || got[len(got)-4] != "cuCtxGetCurrent" || got[len(got)-3] != "cuCtxSetCurrent 1" || got[len(got)-2] != launch || got[len(got)-1] != "cuCtxSetCurrent 0" {
			t.Errorf("first launch:\n%s\nwant at the end\n%s", strings.Join(got, "\n"), launch)
		}
		ok(t, Axpy(x, y, 2, st))
		f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1", launch, "cuCtxSetCurrent 0")
		// The device comes back after an error too.
		f.failing("cuLaunchKernel", 701)
		if err := Axpy(x, y, 2, st); !errors.Is(err, cuda.ErrLaunchOutOfResources) || !errors.Is(err, tvmffi.ErrRuntime) {
			t.Errorf("%v, want %v", err, cuda.ErrLaunchOutOfResources)
		}
		f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1", launch, "cuCtxSetCurrent 0")
		return nil
	}))
	// Where the device is current, nothing is switched.
	ok(t, cuda.WithDevice(1, func() error {
		f.calls()
		ok(t, Axpy(x, y, 2, st))
		f.expect("cuCtxGetCurrent", "cuLaunchKernel ")
		return nil
	}))
	// Without a stream: that of the environment, which belongs to the device.
	ok(t, cuda.WithStream(st, func() error {
		f.calls()
		ok(t, Axpy(x, y, 1, nil))
		ok(t, Axpy(f32(t, 0, 5), f32(t, 0, 5), 1, nil))
		var streams []string
		for _, c := range f.calls() {
			if rest, found := strings.CutPrefix(c, "cuLaunchKernel "); found {
				streams = append(streams, strings.Fields(rest)[3])
			}
		}
		if want := fmt.Sprintf("[stream=%x stream=0]", st.Pointer().Address); fmt.Sprint(streams) != want {
			t.Errorf("%v, want %s", streams, want)
		}
		return nil
	}))
	// Nothing to do, and nothing done.
	f.calls()
	ok(t, Axpy(f32(t, 1, 0), f32(t, 1, 0), 1, st))
	f.expect()
	// Unloaded, and loaded again.
	ok(t, Unload())
	ok(t, Axpy(x, y, 1, st))
	if got := strings.Join(f.calls(), "\n"); !strings.Contains(got, "cuModuleUnload") || !strings.Contains(got, "cuModuleLoadDataEx") {
		t.Errorf("after Unload:\n%s", got)
	}
	// What the driver cannot unload now is unloaded by a second call.
	before := cuda.Device(1).Live().Modules
	f.failing("cuCtxSynchronize", int(cuda.ErrUnknown))
	if err := Unload(); !errors.Is(err, cuda.ErrUnknown) {
		t.Errorf("Unload where the wait fails: %v", err)
	}
	if n := cuda.Device(1).Live().Modules + cuda.Device(0).Live().Modules; n == 0 || before == 0 {
		t.Error("no module is left")
	}
	ok(t, Unload())
	for d := range cuda.Device(2) {
		if n := d.Live().Modules; n != 0 {
			t.Errorf("%d modules are left on %s", n, d)
		}
	}
}

func TestParameters(t *testing.T) {
	f := load(t)
	half := tensor(t, tvmffi.CUDA(0), tvmffi.Float16, []int64{3, 16}, 24, 1)
	b := tensor(t, tvmffi.CUDA(0), tvmffi.Uint8, []int64{16, 5})
	ok(t, Mat(half, b, nil, 6, 1<<40, true, 1.5, -2, 0.25, tvmffi.Pointer{Address: 0x1234}, tvmffi.Pointer{}))
	data := little(uint64(checktest.Base()), 8)
	args := strings.Join([]string{data, data, little(0, 8), little(6, 4), little(1<<40, 8), "01", "003e", "00c0", little(math.Float64bits(0.25), 8),
		little(0x1234, 8), little(0, 8), little(24, 8), little(3, 4)}, ",")
	got := f.calls()
	if want := "cuLaunchKernel grid=3,3,1 block=32,8,1 shared=24 stream=0 args=" + args + " extra=0"; !slices.Contains(got, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	// The address is that of the first element.
	ok(t, Mat(half, nil, nil, 6, 0, false, 0, 0, 0, tvmffi.Pointer{}, tvmffi.Pointer{}))
	ok(t, Two(f32(t, 1, 4), f32(t, 0, 4)))
	if got := f.calls(); !slices.Contains(got, "cuLaunchKernel grid=4,1,1 block=32,1,1 shared=0 stream=0 args="+data+","+data+" extra=0") {
		t.Errorf("calls\n%s", strings.Join(got, "\n"))
	}
	ok(t, Clustered(f32(t, 0, 3), nil))
	if got := f.calls(); !slices.Contains(got, "cuLaunchKernelEx grid=6,1,1 block=64,1,1 shared=0 stream=0 attributes=4=2x1x1;2=1;6=1 args="+data+" extra=0") {
		t.Errorf("calls\n%s", strings.Join(got, "\n"))
	}
}

// TestPeers passes tensors of another device, without and with access to its memory.
func TestPeers(t *testing.T) {
	f := load(t)
	x, y := f32(t, 1, 8), f32(t, 0, 8)
	wantError := func(err error, says string) {
		t.Helper()
		if !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	const mismatch = "Mismatched device index on argument #1 when calling: `axpy("
	wantError(Axpy(x, y, 1, nil), mismatch)
	ok(t, cuda.Device(0).EnablePeerAccess(1)) // the other direction
	wantError(Axpy(x, y, 1, nil), mismatch)
	ok(t, cuda.Device(1).EnablePeerAccess(0))
	f.calls()
	ok(t, Axpy(x, y, 1, nil))
	if got := strings.Join(f.calls(), "\n"); !strings.Contains(got, "cuCtxSetCurrent 1") || !strings.Contains(got, "cuLaunchKernel") {
		t.Errorf("the calls are\n%s", got)
	}
	// The error is that of the first check which does not hold.
	wantError(Axpy(x, f32(t, 0, 7), 1, nil), "Mismatched y.shape[0] on argument #1")
	wantError(Mat(tensor(t, tvmffi.CUDA(1), tvmffi.Float16, []int64{3, 16}, 24, 1), tensor(t, tvmffi.CUDA(0), tvmffi.Uint8, []int64{16, 5}),
		f32(t, 0, 3), 6, 1<<40, true, 1.5, -2, 0.25, tvmffi.Pointer{}, tvmffi.Pointer{}), "Mismatched c.shape[0] on argument #2")
}

func TestLaunchErrors(t *testing.T) {
	f := load(t)
	x := f32(t, 0, 8)
	ok(t, Sizes(x, 2, 32, 0))
	there, err := cuda.Device(1).NewStream(cuda.Blocking())
	ok(t, err)
	defer there.Close()
	closed, err := cuda.Device(0).NewStream(cuda.Blocking())
	ok(t, err)
	ok(t, closed.Close())
	released := f32(t, 0, 8)
	released.Release()
	f.calls()
	for _, c := range []struct {
		err  error
		kind error
		says string
	}{
		{Sizes(x, 1<<40, 32, 0), tvmffi.ErrValue, "launch of `sizes`: grid x = n * k * k is beyond int64, or a division by 0"},
		{Sizes(f32(t, 0, 1<<20), 1, 32, 0), tvmffi.ErrValue, "launch of `sizes`: grid y = max(1, n / k) is 1048576: it must be 0 to 65535"},
		{Sizes(x, 0, 32, 0), tvmffi.ErrValue, "grid y = max(1, n / k) is beyond int64, or a division by 0"},
		{Sizes(x, 1, 0, 0), tvmffi.ErrValue, "block x = b is 0: it must be 1 to 1024"},
		{Sizes(x, 1, 32, 1<<31), tvmffi.ErrValue, "shared = s is 2147483648"},
		{Sizes(x, 1, 32, 1<<20), tvmffi.ErrValue, `launch of "sizes": 1048576 bytes of dynamic shared memory are out of range`},
		{Mat(tensor(t, tvmffi.CUDA(0), tvmffi.Float16, []int64{0, 16}, 24, 1), nil, nil, 6, 0, true, 0, 0, 0, tvmffi.Pointer{}, tvmffi.Pointer{}),
			tvmffi.ErrValue, "launch of `mat`: grid x = n0 is 0: it must be 1 to 2147483647"},
		{Axpy(x, x, 1, there), tvmffi.ErrValue, "the stream is of cuda:1, the operation on cuda:0"},
		{Axpy(x, x, 1, closed), tvmffi.ErrValue, "is closed"},
		{Axpy(x, released, 1, nil), tvmffi.ErrRuntime, "Invalid value on argument #1 when calling: `axpy("},
		{Axpy(f32(t, 9, 8), f32(t, 9, 8), 1, nil), tvmffi.ErrValue, "there is no device cuda:9"},
		{Axpy(f32(t, 100, 8), f32(t, 100, 8), 1, nil), tvmffi.ErrValue, "there is no device cuda:100"},
		{Mismatch(x, 1), tvmffi.ErrType, "kernel \"mismatch\": its parameters have [8 8] bytes, those of `mismatch` [8 4]: correct args"},
		{Absent(x), cuda.ErrNotFound, `the kernel "absent"`},
		{Clustered(f32(t, 1, 8), nil), tvmffi.ErrValue, "has no clusters"},
	} {
		if c.err == nil || !errors.Is(c.err, c.kind) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%v\nwant %v %q", c.err, c.kind, c.says)
		}
	}
	for _, c := range f.calls() {
		if strings.HasPrefix(c, "cuLaunch") {
			t.Errorf("launched in spite of an error: %s", c)
		}
	}
	// A broken load leaves nothing, and the next one works.
	ok(t, Unload())
	f.failing("cuModuleLoadDataEx", 2)
	if err := Axpy(x, x, 1, nil); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("%v, want %v", err, cuda.ErrOutOfMemory)
	}
	ok(t, Axpy(x, x, 1, nil))
}

func TestNoAllocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	load(t)
	x, y := f32(t, 0, 1000), f32(t, 0, 1000)
	half := tensor(t, tvmffi.CUDA(0), tvmffi.Float16, []int64{3, 16}, 24, 1)
	st, err := cuda.Device(0).NewStream(cuda.Blocking())
	ok(t, err)
	defer st.Close()
	for name, call := range map[string]func() error{
		"stream":      func() error { return Axpy(x, y, 2, st) },
		"environment": func() error { return Axpy(x, y, 2, nil) },
		"nested": func() error {
			return Nested(x, 64, [3]int64{1000, 4, 3}, -2, 1.5, st, nil, true, [2]int64{0, 1000}, y, tvmffi.Pointer{})
		},
		"mat": func() error {
			return Mat(half, nil, nil, 6, 1<<40, true, 1.5, -2, 0.25, tvmffi.Pointer{}, tvmffi.Pointer{})
		},
	} {
		ok(t, call())
		n := testing.AllocsPerRun(200, func() {
			if err := call(); err != nil {
				t.Error(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestRegistered(t *testing.T) {
	f := load(t)
	ok(t, Register())
	fn, err := tvmffi.Lookup("testkernels.axpy")
	ok(t, err)
	defer fn.Release()
	st, err := cuda.Device(0).NewStream(cuda.Blocking())
	ok(t, err)
	defer st.Close()
	x := f32(t, 0, 300)
	f.calls()
	for stream, want := range map[any]string{st.Pointer(): fmt.Sprintf("%x", st.Pointer().Address), nil: "0", int64(0): "0"} {
		_, err = fn.Call(x, x, 0.5, stream)
		ok(t, err)
		data := little(uint64(checktest.Base()), 8)
		if got := f.calls(); !slices.Contains(got, "cuLaunchKernel grid=2,1,1 block=256,1,1 shared=0 stream="+want+" args=2c010000,0000003f,"+data+","+data+" extra=0") {
			t.Errorf("stream %v:\n%s", stream, strings.Join(got, "\n"))
		}
	}
}

// TestManyGoroutines loads and launches from many goroutines at once, on two devices.
func TestManyGoroutines(t *testing.T) {
	load(t)
	var x [2]*tvmffi.Tensor
	for d := range x {
		x[d] = f32(t, d, 64)
	}
	errs := make(chan error)
	const n = 16
	for i := range n {
		go func() {
			var err error
			for range 50 {
				err = errors.Join(err, Axpy(x[i%2], x[i%2], 1, nil), Two(x[i%2], x[1-i%2]), Clustered(x[0], nil))
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
