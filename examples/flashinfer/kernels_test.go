//go:build flashinfer

package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/consumer"
	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/norm"
)

var built struct {
	nativetest.Once
	library string
}

// build compiles and loads the kernels, once, and returns the library.
func build(t *testing.T) string {
	t.Helper()
	built.Do(t, func() {
		environment, packages := nativetest.FlashInfer(t)
		for name, value := range map[string]string{
			"CUDA_HOME":      filepath.Join(packages, "nvidia", "cu13"),
			"VIRTUAL_ENV":    environment,
			"TVMFFI_LIBRARY": nativetest.Library(t),
		} {
			if err := os.Setenv(name, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := load(t.Context(), packages); err != nil {
			t.Fatal(err)
		}
		library, err := native.Build(t.Context(), kernels(packages)) // is there by now
		if err != nil {
			t.Fatal(err)
		}
		built.library = library
	})
	return built.library
}

// TestSchema compares the metadata of the kernels with the schema that the bindings were
// made of.
func TestSchema(t *testing.T) {
	library := build(t)
	dumped := filepath.Join(t.TempDir(), "norm.json")
	if out, err := exec.Command(consumer.Tool(t), "dump", "--lib", library, "-o", dumped).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, want := functions(t, dumped), functions(t, "native/norm.json")
	if len(want) != 11 || !reflect.DeepEqual(got, want) {
		t.Errorf("native/norm.json is stale: it has %d functions\n%v\nthe library\n%v", len(want), want, got)
	}
}

// functions are those of the kernels in a schema.
func functions(t *testing.T, file string) (kernels []any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Functions []map[string]any `json:"functions"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, f := range schema.Functions {
		if f["library"] == "libflashinfer_norm.so" {
			kernels = append(kernels, f)
		}
	}
	return kernels
}

func TestRefused(t *testing.T) {
	build(t)
	want := strings.Join([]string{
		"no tensor:", "  TypeError: Mismatched type on argument #1 when calling: `rmsnorm(0: DLTensor*, 1: DLTensor*, 2: DLTensor*, 3: float, 4: bool) -> void`. Expected `DLTensor*` but got `None`",
		"a tensor of the host:", "  InternalError: Check failed: weight.device().device_type == kDLCUDA (1 vs. 2) : weight must be a CUDA tensor",
		"two devices:", "  InternalError: Check failed: input.device().device_id == weight.device().device_id (0 vs. 1) : ",
		"other rank:", "  InternalError: Check failed: weight.ndim() == 1 (2 vs. 1) : weight must be a 1D tensor",
		"unknown rank:", "  InternalError: Check failed: (false) is false: Unsupported input dimension: 4",
		"other size:", "  InternalError: Check failed: input.size(1) == weight.size(0) (1024 vs. 1000) : ",
		"other elements:", "  InternalError: Check failed: input.dtype() == dl_bfloat16 (float16 vs. bfloat16) : input must be bfloat16",
		"other elements, of 29 arguments:", "  InternalError: Check failed: qkv_in.dtype() == dl_bfloat16 (float32 vs. bfloat16) : Inconsistency of Tensor type: qkv_in",
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

// TestResults compares what a kernel computes where there is a GPU. Where there is
// none, arguments that fit come as far as the CUDA runtime, which says so.
func TestResults(t *testing.T) {
	build(t)
	const rows, columns, eps = 5, 1024, 1e-6
	if err := cuda.Available(); err != nil {
		if err := results(); !errors.Is(err, cuda.ErrUnavailable) {
			t.Errorf("results without a GPU: %v", err)
		}
		x, weight := onGPU(tvmffi.BFloat16, rows, columns), onGPU(tvmffi.BFloat16, columns)
		floats := onGPU(tvmffi.Float32, columns)
		for name, err := range map[string]error{
			"rmsnorm":   norm.Rmsnorm(x, x, weight, eps, false),
			"layernorm": norm.Layernorm(x, x, floats, floats, eps), // takes objects, not views
		} {
			if !errors.Is(err, tvmffi.ErrRuntime) || !strings.Contains(err.Error(), "cudaErrorInsufficientDriver") {
				t.Errorf("%s without a GPU: %v", name, err)
			}
		}
		return
	}
	x, weight := make([]float32, rows*columns), make([]float32, columns)
	for i := range x { // exact in BF16
		x[i] = float32(i%17) - 8
	}
	for i := range weight {
		weight[i] = float32(i%5) / 4
	}
	got, err := rmsNorm(x, weight, eps)
	if err != nil {
		t.Fatal(err)
	}
	for row := range rows {
		var squares float64
		for _, v := range x[row*columns:][:columns] {
			squares += float64(v) * float64(v)
		}
		root := math.Sqrt(squares/columns + eps)
		for i, w := range weight {
			at := row*columns + i
			want := float64(x[at]) / root * float64(w)
			if math.Abs(float64(got[at])-want) > math.Abs(want)/128 {
				t.Fatalf("row %d, column %d: got %v, want %v", row, i, got[at], want)
			}
		}
	}
	if err := results(); err != nil {
		t.Error(err)
	}
}
