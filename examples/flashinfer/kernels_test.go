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
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/schema/hints"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/norm"
)

var built struct {
	nativetest.Once
	file string
}

// build compiles and loads the kernels, once, and returns the file of the library.
func build(t *testing.T) string {
	t.Helper()
	built.Do(t, func() {
		if pack := nativetest.Packed(); pack != "" {
			built.file = filepath.Join(pack, "flashinfer", "libflashinfer_norm.so")
			if err := norm.Load(tvmffi.WithLibrary(nativetest.Library(t)), tvmffi.WithFile(built.file)); err != nil {
				t.Fatal(err)
			}
			return
		}
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
		var err error
		if built.file, err = native.Build(t.Context(), kernels(packages)); err != nil { // is there by now
			t.Fatal(err)
		}
	})
	return built.file
}

// TestSchema compares the metadata of the kernels with the schema that the bindings were
// made of.
func TestSchema(t *testing.T) {
	dumped := filepath.Join(t.TempDir(), "norm.json")
	if out, err := exec.Command(consumer.Tool(t), "dump", "--lib", build(t), "-o", dumped).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, want := functions(t, dumped), functions(t, "native/norm.json")
	if len(want) != 11 || !reflect.DeepEqual(got, want) {
		t.Errorf("native/norm.json is stale: it has %d functions\n%v\nthe library\n%v", len(want), want, got)
	}
}

// TestNames compares the names of parameters with those in the source, which the
// metadata does not have.
func TestNames(t *testing.T) {
	_, packages := nativetest.FlashInfer(t)
	source, err := os.ReadFile(kernels(packages).Files[1])
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string][]string{} // by the name in C++
	for _, m := range regexp.MustCompile(`(?m)^[\w<>]+ (\w+)\(([^)]*)\)(?:;| \{)`).FindAllStringSubmatch(string(source), -1) {
		for p := range strings.SplitSeq(m[2], ",") {
			words := strings.Fields(p)
			parameters[m[1]] = append(parameters[m[1]], words[len(words)-1])
		}
	}
	want := map[string][]string{}
	for _, m := range regexp.MustCompile(`TVM_FFI_DLL_EXPORT_TYPED_FUNC\((\w+),\s*(\w+)\)`).FindAllStringSubmatch(string(source), -1) {
		want[m[1]] = parameters[m[2]]
	}
	data, err := os.ReadFile("native/norm_names.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := hints.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for function, item := range file.Items {
		got[function] = item.Params
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("native/norm_names.json has\n%v\nthe source\n%v", got, want)
	}
}

// functions are the functions of the kernels in a schema.
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
	want, err := os.ReadFile("testdata/norm.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := refused(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

// TestResults compares what a kernel computes where there is a GPU. Where there is
// none, arguments that fit come as far as the CUDA runtime, which says so.
func TestResults(t *testing.T) {
	build(t)
	const rows, columns, eps = 5, 1024, 1e-6
	if err := cuda.Available(); err != nil {
		if err := results(t.Output()); !errors.Is(err, cuda.ErrUnavailable) {
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
	if err := results(t.Output()); err != nil {
		t.Error(err)
	}
}
