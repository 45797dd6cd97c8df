package kernelrt_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	. "github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// bench loads the driver that TVMFFI_CUDA_LIBRARY names, or else the one that does nothing: on that a launch costs
// the crossing and the work of this module.
func bench(b *testing.B) {
	b.Helper()
	if runtime.GOOS != "linux" {
		b.Skipf("the driver that does nothing is built for Linux, this is %s", runtime.GOOS)
	}
	ok(b, tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(b))))
	if os.Getenv("TVMFFI_CUDA_LIBRARY") == "" {
		ok(b, os.Setenv("TVMFFI_CUDA_LIBRARY", nativetest.NoopCUDA(b)))
	}
	ok(b, cuda.Available())
}

// within runs a benchmark with the device current, as a program does that launches a lot.
func within(b *testing.B, f func()) {
	b.Helper()
	ok(b, cuda.WithDevice(0, func() error { f(); return nil }))
}

// crossing returns a func that calls cuLaunchKernel with the arguments of a launch, and does nothing else. The device
// must be current.
func crossing(b *testing.B) func() {
	b.Helper()
	h, err := dynlib.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	ok(b, err)
	w := new(ccall.Within)
	w.Get, err = h.Symbol("cuCtxGetCurrent")
	ok(b, err)
	w.Fn, err = h.Symbol("cuLaunchKernel")
	ok(b, err)
	w.Args = [11]uintptr{1, 1, 1, 1, 256, 1, 1}
	purego.SyscallN(w.Get, uintptr(unsafe.Pointer(&w.Want))) // so that nothing is set
	return func() { ccall.CallWithin(w) }
}

// over reports by how much f takes longer than the crossing in it, as ns/over. The two take turns, because the speed of
// a shared machine changes all the time; the median of the differences counts.
func over(b *testing.B, f func() error) {
	b.Helper()
	within(b, func() {
		const calls = 200
		cross := crossing(b)
		var differences []float64
		b.ReportAllocs()
		for b.Loop() {
			start := time.Now()
			for range calls {
				cross()
			}
			middle := time.Now()
			for range calls {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			differences = append(differences, float64(time.Since(middle)-middle.Sub(start))/calls)
		}
		slices.Sort(differences)
		b.ReportMetric(differences[len(differences)/2], "ns/over")
		b.ReportMetric(0, "ns/op") // of 200 pairs, which says nothing
	})
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
	st, err := cuda.Device(0).NewStream(cuda.Blocking())
	ok(b, err)
	defer st.Close()
	over(b, func() error { return Axpy(x, y, 2, st) })
}

func BenchmarkPlain(b *testing.B) {
	bench(b)
	x, y := f32(b, 0, 256), f32(b, 0, 256)
	image, err := cuda.ImageFS(os.DirFS(filepath.Join("internal", "testkernels")), "kernels.ptx")
	ok(b, err)
	defer image.Close()
	k, err := image.Kernel(0, "axpy")
	ok(b, err)
	st, err := cuda.Device(0).NewStream(cuda.Blocking())
	ok(b, err)
	defer st.Close()
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(256), Stream: st}
	over(b, func() error { return k.Launch(c, int32(256), float32(2), x, y) })
}

// BenchmarkGraph is the launch of a graph. The crossing beside it has more arguments, and the same driver functions in it.
func BenchmarkGraph(b *testing.B) {
	bench(b)
	st, err := cuda.Device(0).NewStream()
	ok(b, err)
	defer st.Close()
	graph, err := st.Capture(func() error { return nil })
	ok(b, err)
	defer graph.Close()
	over(b, func() error { return graph.Launch(st) })
}

// BenchmarkCopies is what copies of a slice cost without the copy itself.
func BenchmarkCopies(b *testing.B) {
	bench(b)
	const d, n = cuda.Device(0), 256
	m, err := d.Alloc(n)
	ok(b, err)
	defer m.Free()
	blocking, err := d.NewStream(cuda.Blocking())
	ok(b, err)
	defer blocking.Close()
	nonBlocking, err := d.NewStream()
	ok(b, err)
	defer nonBlocking.Close()
	s := make([]byte, n)
	for _, c := range []struct {
		name string
		copy func() error
	}{
		{"CopyIn", func() error { return cuda.CopyIn(m, s) }},
		{"CopyOut", func() error { return cuda.CopyOut(s, m) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.copy(); err != nil {
					b.Fatal(err)
				}
			}
		})
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
