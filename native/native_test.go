package native_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// fresh gives a test a cache of its own and the libtvm_ffi of the tests.
func fresh(t *testing.T) {
	t.Helper()
	library := nativetest.Library(t)
	t.Setenv("TVMFFI_LIBRARY", library)
	if err := tvmffi.Load(tvmffi.WithLibrary(library)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TVMFFI_CACHE", t.TempDir())
}

// compiles is fresh for a test that compiles C++.
func compiles(t *testing.T) {
	t.Helper()
	nativetest.StartsCompiler(t)
	nativetest.Compiler(t)
	fresh(t)
}

// exporting is the text of a source that exports a function of no parameters, by the C
// interface alone: the C++ headers take twenty times as long to compile.
func exporting(include, name, value string) string {
	return "#include <tvm/ffi/c_api.h>\n" + include + "\nextern \"C\" TVM_FFI_DLL_EXPORT int __tvm_ffi_" + name +
		"(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {\n  result->type_index = kTVMFFIInt;\n  result->v_int64 = " + value + ";\n  return 0;\n}\n"
}

func call(t *testing.T, m *tvmffi.Module, name string, args ...any) any {
	t.Helper()
	f, err := m.Function(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.Call(args...)
	if err != nil {
		t.Fatal(err)
	}
	return v.Value()
}

func TestLoad_text(t *testing.T) {
	compiles(t)
	const doc = "Adds \"one\" to x??/\nin a line of its own: \x01" + "1, \\é."
	m, err := native.Load(t.Context(), native.Code{
		Name: "sums",
		CPP: []string{
			`int64_t twice(int64_t x) { return 2 * x; }`,
			`int64_t twice(int64_t x);
			 int64_t add_one(int64_t x) { return x + 1; }
			 double halve(tvm::ffi::TensorView x) { return static_cast<double*>(x.data_ptr())[0] / 2; }`,
		},
		Exports: map[string]string{"add_one": doc, "halve": "", "twice": "Doubles."},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	if v := call(t, m, "add_one", 3); v != any(int64(4)) {
		t.Errorf("add_one(3) is %v", v)
	}
	if v := call(t, m, "twice", 3); v != any(int64(6)) {
		t.Errorf("twice(3) is %v", v)
	}
	x, err := tvmffi.FromSlice([]float64{5})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	if v := call(t, m, "halve", x); v != any(2.5) {
		t.Errorf("halve(5) is %v", v)
	}
	if text, err := m.FunctionDoc("add_one"); err != nil || text != doc {
		t.Errorf("the documentation is %q, %v, want %q", text, err, doc)
	}
	if text, err := m.FunctionMetadata("add_one"); err != nil || !strings.Contains(text, "type_schema") {
		t.Errorf("the metadata is %q, %v", text, err)
	}
}

// TestBuild_cache: the same code is compiled once, by any number of callers, and
// again when anything that it is made of has changed.
func TestBuild_cache(t *testing.T) {
	compiles(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("with space.h", "#define VALUE 1\n")
	code := native.Code{Name: "value", Include: []string{dir}, Files: []string{
		write("value.cc", exporting("#include \"with space.h\"", "value", "VALUE"))}}
	build := func(want int) string {
		t.Helper()
		var log bytes.Buffer
		c := code
		c.Log = &log
		path, err := native.Build(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(log.String(), " -c "); got != want {
			t.Errorf("%d compilations, want %d:\n%s", got, want, &log)
		}
		return path
	}
	var wait sync.WaitGroup
	logs := make([]bytes.Buffer, 4)
	for i := range logs {
		c := code
		c.Log = &logs[i]
		wait.Go(func() {
			if _, err := native.Build(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	runs := 0
	for i := range logs {
		runs += strings.Count(logs[i].String(), " -c ")
	}
	if runs != 1 {
		t.Errorf("four callers at once compiled %d times", runs)
	}

	first := build(0)
	m, err := tvmffi.LoadModule(first)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	write("with space.h", "#define VALUE 2\n")
	build(1) // a header has changed
	build(0)
	if v := call(t, m, "value"); v != any(int64(1)) {
		t.Errorf("the library that was loaded before is damaged: %v", v)
	}
	code.CXXFlags = []string{"-DOTHER"}
	if path := build(1); path == first {
		t.Error("other flags made the same library")
	}
	write("value.cc", exporting("", "value", "5"))
	m2, err := tvmffi.LoadModule(build(1))
	if err != nil {
		t.Fatal(err)
	}
	defer m2.Release()
	if v := call(t, m2, "value"); v != any(int64(5)) {
		t.Errorf("the changed source gives %v", v)
	}
	if runtime.GOOS == "linux" { // the other loaders refuse a truncated library themselves
		code.CXXFlags = []string{"-DTRUNCATED"}
		if err := os.Truncate(build(1), 1000); err != nil {
			t.Fatal(err)
		}
		build(1)
		build(0)
	}
}

// TestLoad_headerChanged: a process gets the library of the headers as they are, also if
// it has loaded another one, and one for each state that was there before.
func TestLoad_headerChanged(t *testing.T) {
	compiles(t)
	dir := t.TempDir()
	var log bytes.Buffer
	code := native.Code{
		Name: "level", Log: &log,
		Files: []string{filepath.Join(dir, "level.cc")},
		// A header of -isystem counts too.
		CXXFlags: []string{"-isystem", dir},
	}
	for name, text := range map[string]string{"outer.h": "#include \"level.h\"\n", "level.cc": exporting("#include <outer.h>", "level", "LEVEL")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var loaded []*tvmffi.Module
	for i, level := range []string{"1", "2", "1", "3"} {
		if err := os.WriteFile(filepath.Join(dir, "level.h"), []byte("#define LEVEL "+level+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := native.Load(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Release()
		loaded = append(loaded, m)
		for j, want := range []int64{1, 2, 1, 3}[:i+1] {
			if v := call(t, loaded[j], "level"); v != any(want) {
				t.Errorf("after %d loads, library %d says %v, want %d", i+1, j, v, want)
			}
		}
	}
	if n := strings.Count(log.String(), " -c "); n != 3 {
		t.Errorf("%d compilations, want 3: one for each state of the header", n)
	}
	// A damaged entry is made again.
	found, err := filepath.Glob(filepath.Join(os.Getenv("TVMFFI_CACHE"), "native", "*", "*", "build.json"))
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, f := range found {
		if err := os.WriteFile(f, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := native.Build(t.Context(), code); err != nil || strings.Count(log.String(), " -c ") != 4 {
		t.Errorf("%s, %v", path, err)
	}
}

func TestBuild_refused(t *testing.T) {
	fresh(t)
	text := []string{"int64_t f() { return 1; }"}
	for _, x := range []struct {
		code native.Code
		want string
	}{
		{native.Code{Name: "a/b", CPP: text}, `"a/b" cannot name a library`},
		{native.Code{Name: "-a", CPP: text}, `"-a" cannot name a library`},
		{native.Code{Name: "a"}, "a has no source"},
		{native.Code{Name: "a", Files: []string{"a.py"}}, "a.py is not a source"},
		{native.Code{Name: "a", Files: []string{"absent.cc"}}, "absent.cc"},
		{native.Code{Name: "a", Files: []string{"absent.cc"}, Exports: map[string]string{"f": ""}}, "TVM_FFI_DLL_EXPORT_TYPED_FUNC"},
		{native.Code{Name: "a", CPP: text, Exports: map[string]string{"ns::f": ""}}, "not a plain name"},
		{native.Code{Name: "a", CPP: text, Library: "/nowhere/lib/libtvm_ffi.so"}, "comes without the header tvm/ffi/c_api.h"},
	} {
		path, err := native.Build(t.Context(), x.code)
		if err == nil || !strings.Contains(err.Error(), x.want) || path != "" {
			t.Errorf("%+v: got %q, %v, want an error with %q", x.code, path, err, x.want)
		}
	}
}

// TestCompileError: the error names the text and the line before names of Exports, nothing is left in the
// cache or in the folder for temporary files, where the compiler of the other text was
// stopped, and the next try compiles again.
func TestCompileError(t *testing.T) {
	compiles(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	code := native.Code{Name: "wrong", CPP: []string{"int good;", "int64_t f() {\n  return absent;\n}"}, Exports: map[string]string{"g": ""}}
	_, err := native.Build(t.Context(), code)
	var failed *native.CompileError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v", err)
	}
	if failed.Source != "wrong_1.cc" || !strings.Contains(failed.Output, "wrong_1.cc:2:") || len(failed.Command) == 0 {
		t.Errorf("the error is %+v", failed)
	}
	if !strings.Contains(err.Error(), "absent") {
		t.Errorf("the error does not say what is wrong: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TVMFFI_CACHE"), "native", "*", "[bl]*[^k]"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
	source := filepath.Join(t.TempDir(), "link.cc")
	if err := os.WriteFile(source, []byte(exporting("", "f", "1")), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a failure is not kept
		_, err = native.Build(t.Context(), native.Code{Name: "link", Files: []string{source}, LinkFlags: []string{"-lthere_is_no_such_library"}})
		if !errors.As(err, &failed) || failed.Source != "" || !strings.Contains(err.Error(), "there_is_no_such_library") {
			t.Errorf("got %v", err)
		}
	}
}

// TestExportsWrong: the error is about the names, in a few lines.
func TestExportsWrong(t *testing.T) {
	compiles(t)
	for _, c := range []struct {
		text, export string
		want         []string
	}{
		{"int64_t add_one(int64_t x) { return x + 1; }", "add_on", []string{"wrong_0.cc: Exports: ", "add_on", "declared", "names functions of the last text"}},
		{"int64_t f(int64_t x) { return x; }\nint64_t f(double x) { return 1; }", "f", []string{"Exports: ", "overloaded function"}},
		{"struct P { int x; };\nint64_t f(P p) { return p.x; }", "f", []string{"Exports: ", "f has a parameter or result of a type that TVM-FFI cannot pass"}},
	} {
		_, err := native.Build(t.Context(), native.Code{Name: "wrong", CPP: []string{c.text}, Exports: map[string]string{c.export: ""}})
		var failed *native.CompileError
		if !errors.As(err, &failed) {
			t.Fatalf("%s: %v", c.text, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\ndoes not say %q", c.text, err, want)
			}
		}
		if lines := strings.Count(err.Error(), "\n"); strings.Contains(err.Error(), "Exports: ") && lines > 4 {
			t.Errorf("%s: %d lines:\n%v", c.text, lines, err)
		}
	}
}

func TestBuild_stopped(t *testing.T) {
	fresh(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := native.Build(ctx, native.Code{Name: "late", CPP: []string{"int x;"}}); err == nil {
		t.Error("a stopped build has a result")
	}
}

func TestNoCompiler(t *testing.T) {
	fresh(t)
	t.Setenv("CXX", "there-is-no-such-compiler")
	_, err := native.Build(t.Context(), native.Code{Name: "a", CPP: []string{"int x;"}})
	if err == nil || !strings.Contains(err.Error(), "there-is-no-such-compiler") || !strings.Contains(err.Error(), "install g++") {
		t.Errorf("got %v", err)
	}
}

// TestCUDA compiles if nvcc is there; otherwise the error names what is missing.
func TestCUDA(t *testing.T) {
	nativetest.Compiler(t)
	fresh(t)
	if _, err := exec.LookPath("nvcc"); err == nil && !testing.Short() {
		compileCUDA(t)
	}
	t.Setenv("CUDA_HOME", t.TempDir())
	_, err := native.Build(t.Context(), native.Code{Name: "kernel", CUDA: []string{"int x;"}})
	if err == nil || !strings.Contains(err.Error(), "CUDA_HOME: no nvcc there") {
		t.Errorf("got %v", err)
	}
}

// compileCUDA compiles CUDA with C++ beside it, again when a header has changed, and
// code that is wrong. It needs nvcc, but no GPU.
func compileCUDA(t *testing.T) {
	t.Helper()
	header := filepath.Join(t.TempDir(), "threads.h")
	code := native.Code{
		Name: "kernel",
		CUDA: []string{`#include "threads.h"
__global__ void fill(float* x, float v) { x[threadIdx.x] = v; }
int64_t blocks(int64_t n) { return (n + THREADS - 1) / THREADS; }
int fill_ones(float* x) { fill<<<1, THREADS>>>(x, 1); return cudaGetLastError(); }`},
		CPP: []string{`#include <cuda_runtime_api.h>
int64_t blocks(int64_t n);
int fill_ones(float* x);
tvm::ffi::String launch() { return cudaGetErrorName(static_cast<cudaError_t>(fill_ones(nullptr))); }`},
		Exports: map[string]string{"blocks": "Blocks of threads.", "launch": ""},
		Include: []string{filepath.Dir(header)},
	}
	build := func(threads string, compiled int) *tvmffi.Module {
		t.Helper()
		if err := os.WriteFile(header, []byte("#define THREADS "+threads+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		code.Log = &log
		path, err := native.Build(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), " -c "); n != compiled {
			t.Errorf("%d compilations, want %d:\n%s", n, compiled, &log)
		}
		m, err := tvmffi.LoadModule(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Release)
		return m
	}
	m := build("256", 2)
	if v := call(t, m, "blocks", 257); v != any(int64(2)) {
		t.Errorf("blocks(257) is %v", v)
	}
	// The CUDA runtime is in the library. Without a GPU it says so.
	switch launched := call(t, m, "launch"); launched {
	case "cudaSuccess", "cudaErrorInsufficientDriver", "cudaErrorNoDevice":
	default:
		t.Errorf("a launch gives %v", launched)
	}
	build("256", 0)
	m = build("100", 2) // a header has changed
	if v := call(t, m, "blocks", 257); v != any(int64(3)) {
		t.Errorf("after the change blocks(257) is %v", v)
	}

	_, err := native.Build(t.Context(), native.Code{Name: "wrong", CUDA: []string{"__global__ void f(int* x) {\n  *x = absent;\n}"}})
	var failed *native.CompileError
	if !errors.As(err, &failed) {
		t.Fatalf("got %v", err)
	}
	if failed.Source != "wrong_0.cu" || !strings.Contains(failed.Output, "wrong_0.cu(2): error") || !strings.Contains(failed.Output, "absent") {
		t.Errorf("the error is %+v", failed)
	}
}

func TestBuildTo(t *testing.T) {
	compiles(t)
	dir := t.TempDir()
	file, source := filepath.Join(dir, "libnamed.so"), filepath.Join(t.TempDir(), "f.cc")
	if err := os.WriteFile(source, []byte(exporting("", "f", "7")), 0o600); err != nil {
		t.Fatal(err)
	}
	code := native.Code{Name: "x", Files: []string{source}}
	for range 2 { // the second replaces the first
		if err := native.BuildTo(t.Context(), code, file); err != nil {
			t.Fatal(err)
		}
	}
	m, err := tvmffi.LoadModule(file)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	if v := call(t, m, "f"); v != any(int64(7)) {
		t.Errorf("f() is %v", v)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left beside the library: %v, %v", left, err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	err = native.BuildTo(t.Context(), code, filepath.Join(missing, "libx.so"))
	if want := "cannot write to the folder " + missing + ": no such file or directory; make it, or choose another folder"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %q at its end", err, want)
	}
}

// TestLoad_jobs: a MAX_JOBS that cannot be read is an error before a compiler runs.
func TestLoad_jobs(t *testing.T) {
	compiles(t)
	for _, jobs := range []string{"four", "0", "-1", "1.5"} {
		t.Setenv("MAX_JOBS", jobs)
		m, err := native.Load(t.Context(), native.Code{Name: "jobs", CPP: []string{exporting("", "one", "1")}})
		if err == nil || !strings.Contains(err.Error(), `MAX_JOBS is "`+jobs+`", expected a number of compilers from 1 on`) {
			t.Errorf("%s: %v, %v", jobs, m, err)
		}
	}
}
