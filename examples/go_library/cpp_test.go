package golibrary

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// exportedCpp returns a folder with the headers and libraries of golib, words,
// testdata/classes and testdata/paint.
func exportedCpp(t *testing.T) string {
	t.Helper()
	return filepath.Join(exported(t, "golib", "words", "testdata/classes", "testdata/paint"), "cpp")
}

// prepared returns the flags that find TVM-FFI.
func prepared(t *testing.T) (compile, link []string) {
	t.Helper()
	w := nativetest.Wheel(t, nativetest.Version())
	for _, include := range w.Include() {
		compile = append(compile, "-isystem", include)
	}
	lib := filepath.Dir(w.Library())
	return compile, []string{"-L" + lib, "-ltvm_ffi", "-Wl,-rpath," + lib, "-pthread"}
}

var strict = []string{"-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"}

// TestCPP runs a C++ program that uses both libraries by their headers, in both ways to
// reach a library. No warning comes from the headers. TestCMake runs what g++ makes of the program.
func TestCPP(t *testing.T) {
	dir := exportedCpp(t)
	compile, link := prepared(t)
	program, lib := filepath.Join(t.TempDir(), "golibrary"), filepath.Join(dir, "lib")
	compile = slices.Concat(strict, compile, []string{"-I" + filepath.Join(dir, "include"), filepath.Join("testdata", "cpp", "main.cc")})
	run(t, nil, nativetest.Compiler(t), append([]string{"-std=c++17", "-fsyntax-only"}, compile...)...)
	run(t, nil, nativetest.Clang(t), slices.Concat([]string{"-std=c++20", "-o", program}, compile, []string{"-L" + lib, "-lgolib", "-Wl,-rpath," + lib}, link)...)
	if out := run(t, nil, program, filepath.Join(lib, "libgolib.so"), filepath.Join(lib, "libwords.so")); out != "all right\n" {
		t.Error(out)
	}
}

// TestCPP_features runs a C++ program that uses several results, variadic functions, defaults,
// sequences, opaque classes, enums, declared errors and asynchronous calls.
func TestCPP_features(t *testing.T) {
	dir := exportedCpp(t)
	compile, link := prepared(t)
	program, lib := filepath.Join(t.TempDir(), "features"), filepath.Join(dir, "lib")
	args := slices.Concat([]string{"-std=c++17"}, strict, compile, []string{
		"-I" + filepath.Join(dir, "include"), filepath.Join("testdata", "cpp", "features.cc"), "-o", program,
		"-L" + lib, "-lgolib", "-lclasses", "-lpaint", "-Wl,-rpath," + lib,
	}, link)
	run(t, nil, nativetest.Compiler(t), args...)
	if out := run(t, nil, program); out != "all right\n" {
		t.Error(out)
	}
}

// TestCPP_order links libtvm_ffi before the Go library, so that the Go library is ready
// first.
func TestCPP_order(t *testing.T) {
	dir := exportedCpp(t)
	compile, link := prepared(t)
	source := filepath.Join(t.TempDir(), "main.cc")
	const text = `#include <golib.hpp>
#include <cstdio>
int main() { std::printf("%g\n", golib::Point(3, 4).norm()); }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(filepath.Dir(source), "order")
	args := slices.Concat([]string{"-std=c++17", "-Wl,--no-as-needed"}, compile, []string{"-I" + filepath.Join(dir, "include"), source, "-o", program},
		link, []string{"-L" + filepath.Join(dir, "lib"), "-lgolib", "-Wl,-rpath," + filepath.Join(dir, "lib")})
	run(t, nil, nativetest.Compiler(t), args...)
	if out := run(t, nil, program); out != "5\n" {
		t.Error(out)
	}
}

// TestCMake builds the program of TestCPP by CMake with C++17, and reads the file for pkg-config.
func TestCMake(t *testing.T) {
	const cmake = "cmake"
	if out, err := exec.Command(cmake, "--version").CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(string(out), "\n")
		t.Skipf("cmake does not run: %v: %s", err, line)
	}
	dir := exportedCpp(t)
	build := t.TempDir()
	env := []string{"CXX=" + nativetest.Compiler(t)}
	run(t, env, cmake, "-S", filepath.Join("testdata", "cpp"), "-B", build, "-DCMAKE_PREFIX_PATH="+dir, "-DPython_EXECUTABLE="+nativetest.Python(t))
	run(t, env, cmake, "--build", build)
	libraries := []string{filepath.Join(dir, "lib", "libgolib.so"), filepath.Join(dir, "lib", "libwords.so")}
	if out := run(t, nil, filepath.Join(build, "golibrary"), libraries...); out != "all right\n" {
		t.Error(out)
	}
	// A Python without TVM-FFI: the error says what is missing.
	bare := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(bare, []byte("#!/bin/sh\nexec '"+nativetest.Python(t)+"' -S \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(cmake, "-S", filepath.Join("testdata", "cpp"), "-B", t.TempDir(), "-DCMAKE_PREFIX_PATH="+dir, "-DPython_EXECUTABLE="+bare).CombinedOutput()
	if err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), "golib needs TVM-FFI: pip install apache-tvm-ffi") {
		t.Errorf("%v\n%s", err, out)
	}
	pkgconfig, err := exec.LookPath("pkg-config")
	if err != nil {
		return
	}
	flags := run(t, []string{"PKG_CONFIG_PATH=" + filepath.Join(dir, "lib", "pkgconfig")}, pkgconfig, "--cflags", "--libs", "golib")
	if !strings.Contains(flags, "-lgolib") || !strings.Contains(flags, "/include") {
		t.Errorf("%s prints %q", runtime.GOOS, flags)
	}
}
