package kernelrt_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/kernelrt"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// program is a kernel in CUDA C++ that is compiled for the device at hand.
func program(text, entry, arch string) *kernelrt.Kernel {
	return &kernelrt.Kernel{
		Name: "saxpy", Entry: entry, Sizes: []int{4, 4, 8, 8}, Grid: []string{"ceildiv(n, 256)"}, Block: []string{"256"},
		Image: &kernelrt.Image{Source: &text, File: "saxpy.cu", Arch: arch},
	}
}

// saxpy launches as generated code does.
func saxpy(k *kernelrt.Kernel, d cuda.Device, n int64, a float64, x, y *cuda.Memory) error {
	l, err := k.Begin(int32(d), &kernelrt.Dims{Grid: [3]int64{kernelrt.CeilDiv(n, 256), 1, 1}, Block: [3]int64{256, 1, 1}})
	if l == nil {
		return err
	}
	l.Word32(0, n)
	l.Float32(1, a)
	l.Pointer(2, x.Pointer().Address)
	l.Pointer(3, y.Pointer().Address)
	return l.Run(kernelrt.Stream{})
}

// TestNVRTC compiles a program on first use for the architecture of each device, by a
// real NVRTC: the driver takes cubins of its architecture only.
func TestNVRTC(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheel of NVRTC is pinned for linux/amd64 only")
	}
	t.Setenv("TVMFFI_NVRTC_LIBRARY", nativetest.Pinned(t, "nvidia-cuda-nvrtc-cu12").Path("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"))
	f := load(t)
	t.Setenv("TVMFFI_CACHE", t.TempDir()) // of NVRTC; what the test needs is there
	const text = `extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}`
	k := program(text, "saxpy", "")
	host := make([]float32, 1000)
	for i := range host {
		host[i] = float32(i)
	}
	loads := func() int { return strings.Count(strings.Join(f.calls(), "\n"), "cuModuleLoadDataEx") }
	var memory [2][2]*cuda.Memory
	for d := range cuda.Device(2) {
		for i := range memory[d] {
			m, err := cuda.AllocOf(d, host)
			ok(t, err)
			defer m.Free()
			memory[d][i] = m
		}
		f.calls()
		for range 3 {
			ok(t, saxpy(k, d, 1000, 2, memory[d][0], memory[d][1]))
		}
		if n := loads(); n != 1 {
			t.Errorf("%s: %d images loaded for three launches, want 1", d, n)
		}
		got := make([]float32, 1000)
		ok(t, cuda.CopyOut(got, memory[d][1]))
		for i, v := range got {
			if v != 7*float32(i) {
				t.Fatalf("%s: element %d is %v, want %v", d, i, v, 7*float32(i))
			}
		}
	}
	x, y := memory[1][0], memory[1][1]
	ok(t, kernelrt.Unload(k.Image))
	ok(t, saxpy(k, 1, 1000, 1, x, y))
	if n := loads(); n != 1 {
		t.Errorf("after Unload %d images were loaded, want 1", n)
	}
	ok(t, kernelrt.Unload(k.Image))

	// PTX for older devices runs on all; a cubin of another architecture does not.
	portable := program(text, "saxpy", "compute_75")
	ok(t, saxpy(portable, 0, 1000, 1, memory[0][0], memory[0][1]))
	ok(t, kernelrt.Unload(portable.Image))
	for _, c := range []struct {
		k    *kernelrt.Kernel
		kind error
		says string
	}{
		{program(text, "saxpy", "sm_90"), cuda.ErrNoBinaryForGPU, "cuda:1"},
		{program(strings.ReplaceAll(text, "extern \"C\"", ""), "saxpy", ""), cuda.ErrNotFound, `the kernel "saxpy"`},
		{program(strings.ReplaceAll(text, "float a, ", ""), "saxpy", ""), nil, "identifier \"a\" is undefined"},
		{program(strings.ReplaceAll(text, "float a", "double a"), "saxpy", ""), nil, "its parameters have [4 8 8 8] bytes, those of `saxpy` [4 4 8 8]"},
	} {
		err := saxpy(c.k, 1, 1000, 1, x, y)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %v %q", err, c.kind, c.says)
		}
		ok(t, kernelrt.Unload(c.k.Image))
	}
	var e *nvrtc.Error
	if err := saxpy(program("none", "saxpy", ""), 1, 1000, 1, x, y); !errors.As(err, &e) || !strings.Contains(err.Error(), "saxpy.cu(1)") {
		t.Errorf("%v is not an *nvrtc.Error with a place", err)
	}
}
