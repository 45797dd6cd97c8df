package kernelrt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	. "github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// bench loads the driver that TVMFFI_CUDA_LIBRARY names, or the one of the machine,
// or else the fake, whose log then counts too.
func bench(b *testing.B) {
	b.Helper()
	ok(b, tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(b))))
	if _, err := os.Stat("/dev/nvidiactl"); err != nil && os.Getenv("TVMFFI_CUDA_LIBRARY") == "" {
		ok(b, os.Setenv("TVMFFI_CUDA_LIBRARY", nativetest.FakeCUDA(b)))
	}
	ok(b, cuda.Available())
}

// BenchmarkChecks is a call that launches nothing: the checks of four arguments and
// the grid.
func BenchmarkChecks(b *testing.B) {
	bench(b)
	x, y := f32(b, 0, 0), f32(b, 0, 0)
	b.ReportAllocs()
	for b.Loop() {
		if err := Axpy(x, y, 2, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTyped is the whole typed call, BenchmarkPlain the launch of the same kernel
// by package cuda, without checks of the arguments.
func BenchmarkTyped(b *testing.B) {
	bench(b)
	x, y := f32(b, 0, 256), f32(b, 0, 256)
	st, err := cuda.Device(0).NewStream()
	ok(b, err)
	defer st.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := Axpy(x, y, 2, st); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	bench(b)
	x, y := f32(b, 0, 256), f32(b, 0, 256)
	image, err := cuda.ImageFS(os.DirFS(filepath.Join("internal", "testkernels")), "kernels.ptx")
	ok(b, err)
	defer image.Close()
	k, err := image.Kernel(0, "axpy")
	ok(b, err)
	st, err := cuda.Device(0).NewStream()
	ok(b, err)
	defer st.Close()
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(256), Stream: st}
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Launch(c, int32(256), float32(2), x, y); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInterpreter is the check of the same arguments by package check.
func BenchmarkInterpreter(b *testing.B) {
	bench(b)
	x, y := f32(b, 0, 0), f32(b, 0, 0)
	c := check.MustCompile("axpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)")
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Check(x, y, float32(2), tvmffi.Pointer{}); err != nil {
			b.Fatal(err)
		}
	}
}
