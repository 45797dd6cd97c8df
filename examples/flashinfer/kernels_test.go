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
	files map[string]string // by the name of the library
}

// build compiles and loads the kernels, once, and returns the file of a library.
func build(t *testing.T, name string) string {
	t.Helper()
	built.Do(t, func() {
		if nativetest.Packed() != "" {
			loadPacked(t)
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
		built.files = map[string]string{}
		for name := range libraries {
			if err := load(t.Context(), packages, name); err != nil {
				t.Fatal(err)
			}
			file, err := native.Build(t.Context(), kernels(packages, name)) // is there by now
			if err != nil {
				t.Fatal(err)
			}
			built.files[name] = file
		}
	})
	return built.files[name]
}

// loadPacked loads the libraries that a pack of bench/gpu has, and forgets the others.
func loadPacked(t *testing.T) {
	t.Helper()
	built.files = map[string]string{}
	for name, l := range libraries {
		file := filepath.Join(nativetest.Packed(), "flashinfer", "libflashinfer_"+name+".so")
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			delete(libraries, name)
			continue
		}
		if err := l.load(tvmffi.WithLibrary(nativetest.Library(t)), tvmffi.WithFile(file)); err != nil {
			t.Fatal(err)
		}
		built.files[name] = file
	}
	for _, name := range []string{"norm", "attention"} {
		if built.files[name] == "" {
			t.Fatalf("the pack has no library of %s: make it again with bench/gpu -pack DIR -libraries", name)
		}
	}
}

// TestSchema compares the metadata of the kernels with the schemas that the bindings were
// made of.
func TestSchema(t *testing.T) {
	for name, count := range map[string]int{"norm": 11, "page": 5, "rope": 7, "attention": 6} {
		file := build(t, name)
		dumped := filepath.Join(t.TempDir(), name+".json")
		if out, err := exec.Command(consumer.Tool(t), "dump", "--lib", file, "-o", dumped).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		library := "libflashinfer_" + name + ".so"
		got, want := functions(t, dumped, library), functions(t, "native/"+name+".json", library)
		if len(want) != count || !reflect.DeepEqual(got, want) {
			t.Errorf("native/%s.json is stale: it has %d functions\n%v\nthe library\n%v", name, len(want), want, got)
		}
	}
}

// TestNames compares the names of parameters with those in the sources, which the
// metadata does not have.
func TestNames(t *testing.T) {
	_, packages := nativetest.FlashInfer(t)
	declared := regexp.MustCompile(`(?m)^[\w<>]+ (\w+)\(([^)]*)\)(?:;| \{)`)
	exported := regexp.MustCompile(`TVM_FFI_DLL_EXPORT_TYPED_FUNC\((\w+),\s*(\w+)\)`)
	for name := range libraries {
		var source []byte
		for _, file := range kernels(packages, name).Files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_binding.cu") || name == "attention" {
				source = append(source, text...)
			}
		}
		parameters := map[string][]string{} // by the name in C++
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			for p := range strings.SplitSeq(m[2], ",") {
				words := strings.Fields(p)
				parameters[m[1]] = append(parameters[m[1]], words[len(words)-1])
			}
		}
		want := map[string][]string{}
		for _, m := range exported.FindAllStringSubmatch(string(source), -1) {
			want[m[1]] = parameters[m[2]]
		}
		data, err := os.ReadFile("native/" + name + "_names.json")
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
			t.Errorf("native/%s_names.json has\n%v\nthe source\n%v", name, got, want)
		}
	}
}

// functions are those of a library in a schema.
func functions(t *testing.T, file, library string) (kernels []any) {
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
		if f["library"] == library {
			kernels = append(kernels, f)
		}
	}
	return kernels
}

func TestRefused(t *testing.T) {
	build(t, "norm") // before the loop: a pack has some of the libraries only
	for name := range libraries {
		build(t, name)
		want, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := refused(&got, name); err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, &got, want)
		}
	}
}

// TestResults compares what a kernel computes where there is a GPU. Where there is
// none, arguments that fit come as far as the CUDA runtime, which says so.
func TestResults(t *testing.T) {
	build(t, "norm")
	const rows, columns, eps = 5, 1024, 1e-6
	if err := cuda.Available(); err != nil {
		if err := resultsNorm(t.Output()); !errors.Is(err, cuda.ErrUnavailable) {
			t.Errorf("results without a GPU: %v", err)
		}
		x, weight := onGPU(tvmffi.BFloat16, rows, columns), onGPU(tvmffi.BFloat16, columns)
		floats := onGPU(tvmffi.Float32, columns)
		queries, keys := onGPU(tvmffi.BFloat16, tokens, 4*heads, headSize), onGPU(tvmffi.BFloat16, tokens, heads, headSize)
		cache, starts := onGPU(tvmffi.BFloat16, pages, tokensPerPage, heads, headSize), onGPU(tvmffi.Int32, sequences+1)
		for name, err := range map[string]error{
			"rmsnorm":   norm.Rmsnorm(x, x, weight, eps, false),
			"layernorm": norm.Layernorm(x, x, floats, floats, eps), // takes objects, not views
			"append":    appended(keys, cache, starts),
			"rotate":    rotated(queries, keys, starts),
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
	if err := resultsNorm(t.Output()); err != nil {
		t.Error(err)
	}
}

// TestAttention compares decode and prefill with the definition in float64 where there is a GPU. TestLaunch shows what
// goes to the driver without one.
func TestAttention(t *testing.T) {
	build(t, "attention")
	err := resultsAttention(t.Output())
	if cuda.Available() != nil {
		if !errors.Is(err, cuda.ErrUnavailable) {
			t.Errorf("results without a GPU: %v", err)
		}
	} else if err != nil {
		t.Error(err)
	}
}
