package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/examples/cuda_saxpy/kernels"
	"github.com/tvmffi-go/tvmffi/examples/cuda_saxpy/saxpylib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// library returns the path of the shared library, made as the README says.
func library(t *testing.T) string {
	t.Helper()
	return consumer.Shared(t, "examples/cuda_saxpy/saxpylib/libsaxpylib")
}

// allRight runs a program that prints that at its end.
func allRight(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil || string(out) != "all right\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPython launches the kernel from Python: wrong calls with numpy arrays and
// tensors are refused with the words of the CuTe DSL, right ones run.
func TestPython(t *testing.T) {
	library := library(t)
	prepare(t)
	allRight(t, nativetest.Python(t), filepath.Join("testdata", "use.py"), library)
}

// TestCPP launches the kernel from a C++ program.
func TestCPP(t *testing.T) {
	library := library(t)
	prepare(t)
	text, err := os.ReadFile(filepath.Join("testdata", "host.cc"))
	if err != nil {
		t.Fatal(err)
	}
	allRight(t, nativetest.BuildText(t, "saxpyhost", string(text), nativetest.Executable()), library)
}

// TestKernelsAlone makes a library of the kernels, without a line of Go.
func TestKernelsAlone(t *testing.T) {
	m := consumer.New(t, "example.test/kernels")
	prepare(t)
	for _, name := range []string{"tvmffi.yaml", "kernels/saxpy.cu"} {
		m.Copy(name, name)
	}
	m.Bind("gen", "--offline")
	m.Bind("export", "./kernels", "--build")
	library := filepath.Join(m.Dir, "kernels", "libkernels", "libkernels.so")
	text, err := os.ReadFile(filepath.Join("testdata", "alone.cc"))
	if err != nil {
		t.Fatal(err)
	}
	driver := cmp.Or(os.Getenv("TVMFFI_CUDA_LIBRARY"), "libcuda.so.1")
	allRight(t, nativetest.BuildText(t, "saxpyalone", string(text), nativetest.Executable()), library, driver)
	allRight(t, nativetest.Python(t), filepath.Join("testdata", "alone.py"), library)
}

// TestRegister registers the kernels from two packages and twice: they exist once.
func TestRegister(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	for i, register := range []func() error{kernels.Register, saxpylib.Register, kernels.Register, saxpylib.Register} {
		if err := register(); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	f, err := tvmffi.Lookup("kernels.saxpy")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	const want = "TypeError: Expects 4 parameters when calling: `saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)`"
	if _, err := f.Call(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestExported checks that the generated files of the library are what the directives
// ask for.
func TestExported(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), consumer.Tool(t), "export", "./saxpylib", "--check")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
