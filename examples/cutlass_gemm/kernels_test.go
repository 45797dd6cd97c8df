//go:build flashinfer

package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/cutlass_gemm/gemm"
)

// childLibrary names the library for a process that multiplies on the driver without a GPU, and nothing else.
const childLibrary = "TVMFFI_TEST_GEMM"

func TestMain(all *testing.M) {
	file := os.Getenv(childLibrary)
	if file == "" {
		os.Exit(all.Run())
	}
	err := gemm.Load(tvmffi.WithFile(file))
	if err == nil {
		_, err = multiply(numbers(m*k, 1), numbers(n*k, 2), 0.5)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// build compiles the kernel, changed by the test, and returns the file of the library.
func build(t *testing.T, change func(*native.Code)) string {
	t.Helper()
	environment, packages := nativetest.FlashInfer(t)
	t.Setenv("CUDA_HOME", filepath.Join(packages, "nvidia", "cu13"))
	t.Setenv("VIRTUAL_ENV", environment)
	t.Setenv("TVMFFI_LIBRARY", nativetest.Library(t))
	code := kernel(packages)
	change(&code)
	file, err := native.Build(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// load compiles and loads the kernel, or loads the kernel in a pack of bench/gpu.
func load(t *testing.T) string {
	t.Helper()
	file := filepath.Join(nativetest.Packed(), "cutlass_gemm", "libcutlass_gemm.so")
	if nativetest.Packed() == "" {
		file = build(t, func(*native.Code) {})
	}
	t.Setenv("TVMFFI_LIBRARY", nativetest.Library(t))
	if err := gemm.Load(tvmffi.WithFile(file)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSchema(t *testing.T) {
	dumped := filepath.Join(t.TempDir(), "gemm.json")
	if out, err := exec.Command(consumer.Tool(t), "dump", "--lib", load(t), "-o", dumped).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	signature := regexp.MustCompile(`(?s)"name": "gemm",.*?"return"`)
	var found [2]string
	for i, file := range []string{dumped, "native/gemm.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found[i] = signature.FindString(string(data))
	}
	if found[0] == "" || found[0] != found[1] {
		t.Errorf("native/gemm.json is stale: the library has\n%s\nthe file\n%s", found[0], found[1])
	}
}

func TestRefused(t *testing.T) {
	load(t)
	want, err := os.ReadFile("testdata/refused.txt")
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

// TestResults compares the product with the result of plain loops where there is a GPU. Where there is none, matrices that fit
// come as far as the CUDA runtime, which says so.
func TestResults(t *testing.T) {
	load(t)
	if cuda.Available() == nil {
		if err := results(t.Output()); err != nil {
			t.Error(err)
		}
		return
	}
	if err := results(t.Output()); !errors.Is(err, cuda.ErrUnavailable) {
		t.Errorf("results without a GPU: %v", err)
	}
	x, weight, product := onGPU(0, tvmffi.Float16, m, k), onGPU(0, tvmffi.Float16, n, k), onGPU(0, tvmffi.Float16, m, n)
	if err := gemm.Gemm(product, x, weight, 1); !errors.Is(err, tvmffi.ErrRuntime) || !strings.Contains(err.Error(), "cudaErrorInsufficientDriver") {
		t.Errorf("without a GPU: %v", err)
	}
}

// TestLaunch shows what the program gives the driver, on one without a GPU that computes nothing for this kernel: the
// stream, the grid for matrices whose last blocks are not full, and the sizes and addresses. That the product is right
// only a GPU can show, see TestResults.
func TestLaunch(t *testing.T) {
	file := filepath.Join(nativetest.Packed(), "cutlass_gemm", "fake", "libcutlass_gemm.so")
	if nativetest.Packed() == "" {
		file = build(t, func(c *native.Code) {
			c.Files = append(c.Files, "../../testdata/fakecudart/fakecudart.cc")
			c.NVCCFlags = append(c.NVCCFlags, "--no-compress")
			c.Arch = []string{"9.0a"}
		})
	}
	logFile := filepath.Join(t.TempDir(), "log")
	cmd := nativetest.Command(t.Context(), nativetest.Self())
	cmd.Stdin = strings.NewReader("") // there may be no /dev/null
	cmd.Env = append(os.Environ(), childLibrary+"="+file, "TVMFFI_CUDA_LIBRARY="+nativetest.FakeCUDA(t), "TVMFFI_LIBRARY="+nativetest.Library(t),
		"FAKECUDA_LOG="+logFile, "FAKECUDA_ABORT=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	log := string(data)
	launch := regexp.MustCompile(`cuLaunchKernel grid=2,3,1 block=128,1,1 shared=(\d+) stream=(\w+) args=(\w+) `).FindStringSubmatch(log)
	if launch == nil {
		t.Fatalf("the kernel was not launched:\n%s", log)
	}
	args, err := hex.DecodeString(launch[3])
	if err != nil {
		t.Fatal(err)
	}
	sizes := binary.LittleEndian.AppendUint32(nil, m)
	sizes = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(sizes, n), k)
	if !strings.HasPrefix(string(args), string(sizes)) {
		t.Errorf("the arguments do not begin with the sizes %d, %d, %d: %x", m, n, k, args)
	}
	copied := regexp.MustCompile(`T\d+ cuMemcpyHtoD\w* (\w+) `).FindAllStringSubmatch(log, -1)
	if len(copied) != 3 {
		t.Fatalf("%d matrices were copied to the device:\n%s", len(copied), log)
	}
	for i, c := range copied {
		address, err := strconv.ParseUint(c[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(args), string(binary.LittleEndian.AppendUint64(nil, address))) {
			t.Errorf("the arguments have no address of matrix %d: %x", i, args)
		}
	}
	if !strings.Contains(log, "cuFuncSetAttribute 8 "+launch[1]) || !strings.Contains(log, "cuStreamSynchronize "+launch[2]) {
		t.Errorf("the shared memory is not allowed, or the stream is not waited for:\n%s", log)
	}
}
