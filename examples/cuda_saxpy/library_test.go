package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
)

// buildLibrary builds the shared library as the README says.
func buildLibrary(t *testing.T) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "libsaxpylib.so")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", library, "./saxpylib/libsaxpylib")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -buildmode=c-shared (it needs a C compiler): %v\n%s", err, out)
	}
	return library
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
	prepare(t)
	allRight(t, nativetest.Python(t), filepath.Join("testdata", "use.py"), buildLibrary(t))
}

// TestCPP launches the kernel from a C++ program.
func TestCPP(t *testing.T) {
	prepare(t)
	text, err := os.ReadFile(filepath.Join("testdata", "host.cc"))
	if err != nil {
		t.Fatal(err)
	}
	allRight(t, nativetest.BuildText(t, "saxpyhost", string(text), nativetest.Executable()), buildLibrary(t))
}

// TestExported checks that the generated files of the library are what the directives
// ask for.
func TestExported(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "run", "github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind", "export", "./saxpylib", "--check")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
