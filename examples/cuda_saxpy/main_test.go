package main

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/examples/cuda_saxpy/kernels"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// prepare makes a real NVRTC available, and the GPU of this machine, or else the driver
// of testdata/fakecuda, which computes on the host.
func prepare(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheel of NVRTC is pinned for linux/amd64 only, and the fake driver is built for Linux")
	}
	if os.Getenv("TVMFFI_NVRTC_LIBRARY") == "" {
		t.Setenv("TVMFFI_NVRTC_LIBRARY", nativetest.Get(t, wheel.NVRTC()).Path("nvidia/cu13/lib/libnvrtc.so.13"))
	}
	if _, err := os.Stat("/dev/nvidiactl"); err != nil && os.Getenv("TVMFFI_CUDA_LIBRARY") == "" {
		t.Log("no GPU: on the fake driver")
		t.Setenv("TVMFFI_CUDA_LIBRARY", nativetest.FakeCUDA(t))
	}
}

// TestRun runs the example.
func TestRun(t *testing.T) {
	prepare(t)
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	count, err := cuda.DeviceCount()
	if err != nil {
		t.Fatal(err)
	}
	for d := range cuda.Device(count) {
		if err := run(d, 100_000); err != nil {
			t.Fatal(err)
		}
		if left := d.Live(); left != (cuda.Live{}) {
			t.Errorf("left on %s: %+v", d, left)
		}
	}
}

// TestWrongCall needs neither a GPU nor NVRTC: the checks come first.
func TestWrongCall(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	x, err := tvmffi.FromSlice([]float32{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	err = kernels.Saxpy(x, x, 1, nil)
	const want = "ValueError: Mismatched Tensor on argument #0 when calling: " +
		"`saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)`, expected device_type=cuda"
	if err == nil || err.Error() != want || !errors.Is(err, tvmffi.ErrValue) {
		t.Errorf("%v, want %s", err, want)
	}
}
