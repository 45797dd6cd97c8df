//go:build cute

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/cute_dsl/cutekernels"
)

var built struct {
	nativetest.Once
	schema string
}

// build compiles, links and loads the kernels, once, and returns their schema.
func build(t *testing.T) string {
	t.Helper()
	built.Do(t, func() {
		if nativetest.Packed() != "" {
			if err := cutekernels.Load(tvmffi.WithLibrary(nativetest.Library(t)), tvmffi.WithFile(packed(t))); err != nil {
				t.Fatal(err)
			}
			return
		}
		python, _ := nativetest.CuTe(t)
		dir, err := os.MkdirTemp("", "cute-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir) // what is loaded stays
		cmd := exec.Command("native/build.sh", dir, filepath.Join(dir, "kernels.json"))
		cmd.Env = append(os.Environ(), "PYTHON="+python)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		schema, err := os.ReadFile(filepath.Join(dir, "kernels.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := cutekernels.Load(tvmffi.WithDir(dir)); err != nil {
			t.Fatal(err)
		}
		built.schema = string(schema)
	})
	return built.schema
}

// packed returns the library of a pack of bench/gpu whose kernels run on the first device.
func packed(t *testing.T) string {
	t.Helper()
	nativetest.CUDA(t)
	device, err := cuda.Device(0).Arch()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(nativetest.Packed(), "cute", "*", "libcutekernels.so"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		arch, err := cuda.ParseArch(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if arch.Major == device.Major && (arch.Minor == device.Minor || arch.Suffix == 0 && arch.Minor < device.Minor) {
			return file
		}
	}
	t.Fatalf("no library for %s: there is %q", device, files)
	return ""
}

// TestSchema compares the metadata of the kernels with the schema that the bindings were
// made of.
func TestSchema(t *testing.T) {
	got := build(t)
	want, err := os.ReadFile("native/kernels.json")
	if err != nil {
		t.Fatal(err)
	}
	lines := func(s string) []string { // each compiler writes other hashes
		return slices.DeleteFunc(strings.Split(s, "\n"), func(line string) bool { return strings.Contains(line, `"sha256"`) })
	}
	if !slices.Equal(lines(got), lines(string(want))) {
		t.Errorf("native/kernels.json is stale: run native/build.sh and go generate. The kernels report\n%s", got)
	}
}

func TestRefused(t *testing.T) {
	build(t)
	const axpy = "`axpy(alpha: float32, x: Tensor([n0], float32), y: Tensor([n0], float32), stream: Stream)`"
	const scale = "`scale_rows(x: Tensor([n0, n1], float32), by: Tensor([n0], float32), out: Tensor([n0, n1], float32))`"
	want := strings.Join([]string{
		"no tensor:", "  TypeError: Mismatched type on argument #1 when calling: " + axpy + ", expected Tensor",
		"a tensor of the host:", "  ValueError: Mismatched Tensor on argument #1 when calling: " + axpy + ", expected device_type=cuda",
		"two devices:", "  ValueError: Mismatched device index on argument #2 when calling: " + axpy + ", expected to match x.device.index",
		"other elements:", "  ValueError: Mismatched Tensor on argument #2 when calling: " + axpy + ", expected dtype=float32",
		"other rank:", "  ValueError: Mismatched Tensor on argument #2 when calling: " + axpy + ", expected ndim=1",
		"other size:", "  ValueError: Mismatched y.shape[0] on argument #2 when calling: " + axpy + ", expected to match x.shape[0]",
		"other number of rows:", "  ValueError: Mismatched by.shape[0] on argument #1 when calling: " + scale + ", expected to match x.shape[0]",
		"columns not a multiple of 8:", "  ValueError: Invalid x.shape[1] on argument #0 when calling: " + scale + ", expected to be divisible by 8",
		"",
	}, "\n")
	var got strings.Builder
	if err := refused(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

// TestResults compares what the kernels compute where there is a GPU. Where there is
// none, arguments that fit come as far as the CUDA runtime, which says so.
func TestResults(t *testing.T) {
	build(t)
	if err := cuda.Available(); err != nil {
		if !errors.Is(results(), cuda.ErrUnavailable) {
			t.Errorf("results without a GPU: %v", results())
		}
		x := onGPU(tvmffi.Float32, 8)
		called := cutekernels.Axpy(1, x, x, tvmffi.Pointer{})
		if called == nil || !strings.Contains(called.Error(), "cudaErrorInsufficientDriver") {
			t.Errorf("a call without a GPU: %v", called)
		}
		return
	}
	const n = 1000
	x, y, want := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i], want[i] = float32(i), float32(2*i), float32(5*i)
	}
	if got, err := axpy(3, x, y); err != nil || !slices.Equal(got, want) {
		t.Errorf("3x + y: %v, %v", got, err)
	}
	for i := range want { // 40 rows of 1000/40 rounded down to a multiple of 8
		want[i] = x[i] * float32(i/24)
	}
	by := make([]float32, 40)
	for i := range by {
		by[i] = float32(i)
	}
	if got, err := scaleRows(x[:960], by); err != nil || !slices.Equal(got, want[:960]) {
		t.Errorf("scaled rows: %v, %v", got, err)
	}
	if err := results(); err != nil {
		t.Error(err)
	}
}
