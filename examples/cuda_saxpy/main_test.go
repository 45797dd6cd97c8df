package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/examples/cuda_saxpy/kernels"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// prepare makes a real NVRTC available, and the GPU of this machine, or else the driver
// of testdata/fakecuda, which computes on the host. In a pack of bench/gpu the kernel is compiled.
func prepare(t *testing.T) {
	t.Helper()
	nativetest.CUDA(t)
	if nativetest.Packed() != "" {
		return
	}
	driver, err := cuda.DriverVersion()
	if err != nil {
		t.Fatal(err)
	}
	nativetest.NVRTC(t, driver)
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

// fatbin puts a cubin for one architecture into a fatbin.
func fatbin(cubin []byte) []byte {
	le := binary.LittleEndian
	cubin = append(bytes.Clone(cubin), make([]byte, -len(cubin)&7)...)
	data := le.AppendUint32(nil, 0xBA55ED50)
	data = le.AppendUint16(le.AppendUint16(data, 1), 16) // version, size of this header
	data = le.AppendUint64(data, uint64(64+len(cubin)))
	entry := make([]byte, 64)
	le.PutUint16(entry, 2) // a cubin
	le.PutUint16(entry[2:], 0x101)
	le.PutUint32(entry[4:], 64)
	le.PutUint64(entry[8:], uint64(len(cubin)))
	le.PutUint32(entry[28:], 90)
	le.PutUint64(entry[40:], 0x11) // 64 bits, Linux
	return append(append(data, entry...), cubin...)
}

// TestKernelOfCubin: the generator looks for the kernel in a real cubin, and in a
// fatbin that has it.
func TestKernelOfCubin(t *testing.T) {
	m := consumer.New(t, "example.test/kernels")
	prepare(t)
	source, err := os.ReadFile("kernels/saxpy.cu")
	if err != nil {
		t.Fatal(err)
	}
	code, err := nvrtc.Compile(nvrtc.Program{Source: string(source), Arch: "sm_90"})
	if err != nil {
		t.Fatal(err)
	}
	m.Write("saxpy.sm_90.cubin", code.Image)
	m.Write("saxpy.fatbin", fatbin(code.Image))
	for _, c := range []struct{ entry, image, want string }{
		{"saxpy", "saxpy.sm_90.cubin", "1 kernel -> ."},
		{"saxpi", "saxpy.sm_90.cubin", "tvmffi.yaml:5:12: entry: there is no kernel saxpi in saxpy.sm_90.cubin, which has saxpy: "},
		{"saxpy", "saxpy.fatbin", "1 kernel -> ."},
		{"saxpi", "saxpy.fatbin", "tvmffi.yaml:5:12: entry: there is no kernel saxpi in saxpy.fatbin, which has saxpy: "},
	} {
		config := "package: kernels\nout: .\nkernels:\n" +
			"  - spec: \"saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32)\"\n" +
			"    entry: " + c.entry + "\n    image: " + c.image + "\n    args: [n, a, x, y]\n    grid: ceildiv(n, 256)\n    block: 256\n"
		m.Write("tvmffi.yaml", []byte(config))
		out, err := m.Command(t.Context(), nil, consumer.Tool(t), "gen", "--dry-run", "--offline").CombinedOutput()
		if !strings.Contains(string(out), c.want) || (err != nil) != (c.entry != "saxpy") {
			t.Errorf("%s: %v\n%s\nwant %q", c.entry, err, out, c.want)
		}
	}
}
