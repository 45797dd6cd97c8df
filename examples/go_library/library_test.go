// Package golibrary tests Go libraries with the programs that others use them in.
package golibrary

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
)

// built holds the shared libraries.
var built string

// TestMain builds both libraries as the README says.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "golibrary-")
	if err != nil {
		log.Fatal(err)
	}
	built = dir
	code := 1
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func build() error {
	for _, name := range []string{"golib", "words"} {
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", library(name), "./"+name+"/lib"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build -buildmode=c-shared (it needs a C compiler): %w\n%s", err, out)
		}
	}
	return nil
}

func library(name string) string { return filepath.Join(built, "lib"+name+".so") }

// run runs a program and returns what it printed.
func run(t testing.TB, env []string, name string, args ...string) string {
	t.Helper()
	return runIn(t, "", env, name, args...)
}

func runIn(t testing.TB, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String() + stderr.String()
}

func TestPython(t *testing.T) {
	python := nativetest.Python(t)
	for _, test := range []string{
		"calls", "tensors", "callbacks", "errors", "panics", "interrupts", "threads", "environment", "metadata", "types", "objects",
		"spawn", "twice", "first",
	} {
		t.Run(test, func(t *testing.T) {
			run(t, nil, python, filepath.Join("testdata", "use.py"), test, library("golib"))
		})
	}
	t.Run("several", func(t *testing.T) {
		run(t, nil, python, filepath.Join("testdata", "use.py"), "several", library("golib"), library("words"))
	})
	t.Run("alone", func(t *testing.T) {
		out := run(t, nil, python, filepath.Join("testdata", "use.py"), "alone", library("golib"))
		if want := "golib: libtvm_ffi"; !strings.HasPrefix(out, want) || !strings.Contains(out, "import tvm_ffi") {
			t.Errorf("it printed %q, want %q and a remedy", out, want)
		}
	})
}

// BenchmarkPython compares calls from Python into Go with the same in C++, in one
// process, in turn.
func BenchmarkPython(b *testing.B) {
	python := nativetest.Python(b)
	cpp := nativetest.BuildText(b, "sameincpp", sameInCPP)
	for b.Loop() {
		out := run(b, nil, python, filepath.Join("testdata", "bench.py"), cpp, library("golib"))
		b.Log("\n" + out)
		for line := range strings.Lines(out) {
			var name string
			var inCPP, inGo float64
			if n, _ := fmt.Sscan(line, &name, &inCPP, &inGo); n == 3 {
				b.ReportMetric(inGo/inCPP, name+"-go/cpp")
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

const sameInCPP = `
#include <tvm/ffi/tvm_ffi.h>
namespace ffi = tvm::ffi;
static int64_t add(int64_t a, int64_t b) { return a + b; }
static ffi::String greet(ffi::String s) { return "hello, " + std::string(s); }
static double sum(ffi::TensorView t) {
  double s = 0;
  for (int64_t i = 0; i < t.numel(); i++) s += static_cast<float*>(t.data_ptr())[i];
  return s;
}
static int64_t apply(ffi::TypedFunction<int64_t(int64_t)> f, int64_t x) { return f(x); }
static void fail(ffi::String kind, ffi::String message) { throw ffi::Error(std::string(kind), std::string(message), ""); }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, add);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(greet, greet);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum, sum);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(apply, apply);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail, fail);
`

// TestCPP is a C++ program that uses the library.
func TestCPP(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "host.cc"))
	if err != nil {
		t.Fatal(err)
	}
	host := nativetest.BuildText(t, "golibraryhost", string(text), nativetest.Executable())
	if out := run(t, nil, host, library("golib"), library("words")); out != "all right\n" {
		t.Error(out)
	}
}

// TestRust is a Rust program that uses the library by the crate of its registry.
func TestRust(t *testing.T) {
	const cargo = "cargo"
	// It may be there and not run: rustup keeps the compilers in the home folder.
	if out, err := exec.Command(cargo, "--version").CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(string(out), "\n")
		t.Skipf("cargo does not run: %v: %s", err, line)
	}
	// The build script of the crate asks tvm-ffi-config where libtvm_ffi is.
	python := nativetest.Python(t)
	env := []string{"PATH=" + filepath.Dir(python) + string(os.PathListSeparator) + os.Getenv("PATH"), "CARGO_TARGET_DIR=" + cacheDir(t, "rust")}
	manifest := filepath.Join("testdata", "rust", "Cargo.toml")
	run(t, env, cargo, "build", "--quiet", "--release", "--locked", "--manifest-path", manifest)
	program := filepath.Join(cacheDir(t, "rust"), "release", "golibrary")
	env = append(env, "LD_LIBRARY_PATH="+filepath.Dir(nativetest.Library(t)))
	if out := run(t, env, program, library("golib")); out != "all right\n" {
		t.Error(out)
	}
}

// cacheDir is a folder that stays from run to run.
func cacheDir(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "tvmffi", "go_library", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestGo binds the libraries back, and a Go program uses the bindings, without cgo
// and with it.
func TestGo(t *testing.T) {
	dir := t.TempDir()
	env := []string{"GOPROXY=off", "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false", "TVMFFI_LIBRARY=" + nativetest.Library(t)}
	do := func(name string, args ...string) string { return runIn(t, dir, env, name, args...) }
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	// The requirements of this module are in the cache; nothing is downloaded.
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod = bytes.Replace(mod, []byte("module "+self+"\n"), []byte("module example.test/host\n"), 1)
	mod = fmt.Appendf(mod, "\nrequire %[1]s v0.0.0-00010101000000-000000000000\n\nreplace %[1]s => %[2]s\n", self, root)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o600); err != nil {
		t.Fatal(err)
	}
	copyFile(t, filepath.Join(root, "go.sum"), filepath.Join(dir, "go.sum"))
	copyFile(t, filepath.Join("testdata", "host", "main.go"), filepath.Join(dir, "main.go"))
	for _, name := range []string{"golib", "words"} {
		do("go", "tool", "tvmffi-bind", "gen", "--lib", library(name), "--prefix", name, "--package", name, "--out", name)
	}
	for _, cgo := range []string{"0", "1"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) {
			program := filepath.Join(dir, "host"+cgo)
			runIn(t, dir, append(env, "CGO_ENABLED="+cgo), "go", "build", "-o", program, ".")
			if out := runIn(t, dir, env, program, built); out != "all right\n" {
				t.Error(out)
			}
		})
	}
}

const self = "github.com/tvmffi-go/tvmffi"

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestStubs compares the typed stubs that tvm-ffi-stubgen makes of the library.
func TestStubs(t *testing.T) {
	stubgen := filepath.Join(filepath.Dir(nativetest.Python(t)), "tvm-ffi-stubgen")
	dir := t.TempDir()
	run(t, nil, stubgen, dir, "--dlls", library("golib"), "--init-lib", "golib", "--init-pypkg", "golib", "--init-prefix", "golib.")
	got, err := os.ReadFile(filepath.Join(dir, "golib", "_ffi_api.py"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "stubs.py"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("testdata/stubs.py (-) and the stubs (+) differ:\n%s", d)
	}
}

// TestGenerated checks that the generated files are what the directives ask for.
func TestGenerated(t *testing.T) {
	for _, name := range []string{"golib", "words"} {
		run(t, nil, "go", "run", self+"/cmd/tvmffi-bind", "export", "./"+name, "--check")
	}
}
