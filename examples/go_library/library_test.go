// Package golibrary tests Go libraries with the programs that others use them in.
package golibrary

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// library returns the path of a shared library, made as the README says.
func library(t testing.TB, name string) string {
	t.Helper()
	return consumer.Shared(t, "examples/go_library/"+name+"/lib"+name)
}

// run runs a program and returns what it printed.
func run(t testing.TB, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String() + stderr.String()
}

func TestPython(t *testing.T) {
	golib, words := library(t, "golib"), library(t, "words")
	python := nativetest.Python(t)
	for _, tests := range []string{
		"calls,tensors,callbacks,errors,panics,interrupts,threads,environment,metadata,types,objects,functions,lent,sequences,methods,index",
		"spawn", "twice", "first", // these are about a whole process
	} {
		t.Run(tests, func(t *testing.T) {
			run(t, nil, python, filepath.Join("testdata", "use.py"), tests, golib)
		})
	}
	t.Run("several", func(t *testing.T) {
		run(t, nil, python, filepath.Join("testdata", "use.py"), "several", golib, words)
	})
	t.Run("alone", func(t *testing.T) {
		out := run(t, nil, python, filepath.Join("testdata", "use.py"), "alone", golib)
		if want := "golib: libtvm_ffi"; !strings.HasPrefix(out, want) || !strings.Contains(out, "import tvm_ffi") {
			t.Errorf("it printed %q, want %q and a remedy", out, want)
		}
	})
}

// BenchmarkPython compares calls from Python into Go with calls of the same functions in
// C++, in turn and in one process.
func BenchmarkPython(b *testing.B) {
	python := nativetest.Python(b)
	cpp := nativetest.BuildText(b, "sameincpp", sameInCPP, nativetest.Flags("-O1"))
	for b.Loop() {
		out := run(b, nil, python, filepath.Join("testdata", "bench.py"), cpp, library(b, "golib"))
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

// TestErrors raises and catches the declared errors of a Go library in C++ and Python.
func TestErrors(t *testing.T) {
	golib := library(t, "golib")
	t.Run("cpp", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join("testdata", "errors.cc"))
		if err != nil {
			t.Fatal(err)
		}
		program := nativetest.BuildText(t, "golibraryerrors", string(text), nativetest.Executable())
		if out := run(t, nil, program, golib); out != "all right\n" {
			t.Error(out)
		}
	})
	folder := filepath.Join(exported(t, "golib"), "python", "golib")
	for version, python := range nativetest.Pythons(t) {
		t.Run(version, func(t *testing.T) {
			if out := run(t, nil, python, filepath.Join("testdata", "errors.py"), golib, folder); out != "all right\n" {
				t.Error(out)
			}
		})
	}
}

// exported returns the folder with the Python packages and the C++ libraries of Go packages, made as docs/EXPORT.md
// says. Their crates are where TestRust needs them: one command links a library once for all three languages.
func exported(t testing.TB, names ...string) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(library(t, "golib")), "exported") // library says what is missing for building
	for _, name := range names {
		if _, done := made.Load(name); !done {
			upToDate(t, "./"+name)
			run(t, nil, consumer.Tool(t), "export", "./"+name, "--python", filepath.Join(dir, "python"), "--cpp", filepath.Join(dir, "cpp"),
				"--rust", filepath.Join(cacheDir(t, "rust"), filepath.Base(name)))
			made.Store(name, true)
		}
	}
	return dir
}

var made sync.Map // what exported has made

// cacheDir returns a folder that stays from run to run.
func cacheDir(t testing.TB, name string) string {
	t.Helper()
	dir, err := find.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "go_library", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestGo generates bindings of the libraries and runs a Go program that uses them,
// without and with cgo.
func TestGo(t *testing.T) {
	m := consumer.New(t, "example.test/host")
	m.Env = append(m.Env, "TVMFFI_LIBRARY="+nativetest.Library(t))
	m.Copy(filepath.Join("testdata", "host", "main.go"), "main.go")
	for _, name := range []string{"golib", "words"} {
		m.Bind("gen", "--lib", library(t, name), "--prefix", name, "--package", name, "--out", name)
	}
	libraries := filepath.Dir(library(t, "golib"))
	for _, cgo := range []string{"0", "1"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) {
			program := filepath.Join(m.Dir, "host"+cgo)
			if out, err := m.Command(t.Context(), []string{"CGO_ENABLED=" + cgo}, "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := m.Command(t.Context(), nil, program, libraries).CombinedOutput(); err != nil || string(out) != "all right\n" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestGenerated checks that the generated files match the directives.
func TestGenerated(t *testing.T) {
	for _, name := range []string{"golib", "words", "testdata/classes", "testdata/paint", "testdata/columns", "testdata/exits"} {
		upToDate(t, "./"+name)
	}
}

// upToDate checks that the generated files of a package match its directives. A test that
// exports a package of this folder calls it first: export would write them anew. One check of a folder serves all.
func upToDate(t testing.TB, folder string) {
	t.Helper()
	if _, done := checked.Load(folder); done {
		return
	}
	run(t, nil, consumer.Tool(t), "export", folder, "--check")
	checked.Store(folder, true)
}

var checked sync.Map // folders that are up to date
