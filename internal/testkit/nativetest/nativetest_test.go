package nativetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const sample = `
#include <tvm/ffi/function.h>
static int64_t sample(int64_t x) { return x + ADD; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sample, sample);
`

// recorder stands for a test whose end another test wants to see.
type recorder struct {
	testing.TB
	failed, skipped string
}

func (r *recorder) Helper() {}
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func record(t *testing.T, f func(testing.TB)) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

func TestPaths(t *testing.T) {
	for _, p := range append(Include(t), Library(t), Testing(t)) {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
}

func TestBuildText(t *testing.T) {
	StartsCompiler(t)
	Compiler(t)
	cache := t.TempDir()
	headers := link(t, cache) // only the build is made anew
	paths := make([]string, 4)
	var wg sync.WaitGroup
	for i := range paths {
		wg.Go(func() { paths[i] = BuildText(t, "sample", sample, Flags("-DADD=1")) })
	}
	wg.Wait()
	for _, p := range paths {
		if p != paths[0] {
			t.Errorf("one build has two paths: %s, %s", p, paths[0])
		}
	}
	if !strings.HasPrefix(paths[0], cache) {
		t.Errorf("%s is not in the cache %s", paths[0], cache)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, symbol := range []string{"__tvm_ffi_sample", "__tvm_ffi__metadata_sample", "TVMFFIStringFromByteArray"} {
		if !strings.Contains(string(b), symbol) {
			t.Errorf("the library does not mention %s", symbol)
		}
	}
	if other := BuildText(t, "sample", sample, Flags("-DADD=2")); other == paths[0] {
		t.Error("other flags give the same file")
	}
	if other := BuildText(t, "sample", sample, Flags("-DADD=1", "-Wl,-rpath,/other")); other == paths[0] {
		t.Error("other flags of the linker give the same file")
	}
	for pattern, want := range map[string]int{"object-sample-*/object.o": 2, "headers-*": headers} {
		if found, err := filepath.Glob(filepath.Join(cache, "native", pattern)); err != nil || len(found) != want {
			t.Errorf("%s: %q, %v; want %d", pattern, found, err, want)
		}
	}
}

// link makes a cache with the wheel and the common headers of the real one. It returns how many headers there are.
func link(t *testing.T, cache string) (headers int) {
	t.Helper()
	BuildText(t, "sample", sample, Flags("-DADD=0"))
	wheel := Wheel(t, Version()).Root()
	real := filepath.Dir(filepath.Dir(wheel))
	made, err := filepath.Glob(filepath.Join(real, "native", "headers-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(made, wheel) {
		to := filepath.Join(cache, strings.TrimPrefix(dir, real))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.Symlink(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TVMFFI_CACHE", cache)
	return len(made)
}

func TestBuildExecutable(t *testing.T) {
	p := BuildText(t, "hello", "#include <cstdio>\nint main() { std::puts(\"hello\"); }\n", Executable())
	out, err := Command(t.Context(), p).CombinedOutput()
	if err != nil || string(out) != "hello\n" {
		t.Errorf("%s printed %q, %v", p, out, err)
	}
}

func TestBuildBroken(t *testing.T) {
	StartsCompiler(t)
	Compiler(t)
	t.Cleanup(failures.Clear)
	t.Cleanup(notBuilt.Clear)
	r := record(t, func(t testing.TB) { BuildText(t, "broken", "not C++\n") })
	if !strings.Contains(r.failed, "broken") || !strings.Contains(r.failed, "error:") {
		t.Errorf("failed with %q, want the compiler's message", r.failed)
	}
	r = record(t, func(t testing.TB) { Build(t, "no/such/file") })
	if !strings.Contains(r.failed, "no/such/file") {
		t.Errorf("failed with %q, want the name", r.failed)
	}
}

// TestMissingCompiler: the first test that needs what is missing fails, and so does the
// package; the next one does not say the same again.
func TestMissingCompiler(t *testing.T) {
	failures.Clear()
	t.Cleanup(failures.Clear)
	t.Setenv("CXX", "no-such-compiler")
	t.Setenv("TVMFFI_ALLOW_SKIP", "")
	r := record(t, func(t testing.TB) { BuildText(t, "sample", sample) })
	if r.skipped != "" || !strings.Contains(r.failed, "install g++") || !strings.Contains(r.failed, "no-such-compiler") {
		t.Errorf("failed %q, skipped %q: want a failure that names g++", r.failed, r.skipped)
	}
	r = record(t, func(t testing.TB) { BuildText(t, "another", sample) })
	if r.failed != "" || !strings.Contains(r.skipped, "another test of the package has failed for this reason: ") {
		t.Errorf("failed %q, skipped %q: want a skip that refers to the failure", r.failed, r.skipped)
	}
	t.Setenv("TVMFFI_ALLOW_SKIP", "1")
	r = record(t, func(t testing.TB) { BuildText(t, "sample", sample) })
	if r.failed != "" || !strings.Contains(r.skipped, "install g++") {
		t.Errorf("failed %q, skipped %q: want a skip with the reason", r.failed, r.skipped)
	}
}

func TestMissingPip(t *testing.T) {
	failures.Clear()
	t.Cleanup(failures.Clear)
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("TVMFFI_ALLOW_SKIP", "")
	t.Cleanup(func() { noDownload.Store(nil) }) // the other tests can download
	r := record(t, func(t testing.TB) { Library(t) })
	if r.skipped != "" || !strings.Contains(r.failed, "install pip") {
		t.Errorf("failed %q, skipped %q: want a failure that names pip", r.failed, r.skipped)
	}
}

func TestRoot(t *testing.T) {
	dir, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "internal", "testkit", "nativetest", "nativetest.go")); err != nil {
		t.Error(err)
	}
}

// TestFullDisk: whatever did not fit first is the reason for all that follows.
func TestFullDisk(t *testing.T) {
	failures.Clear()
	t.Cleanup(failures.Clear)
	full := func(file string) *recorder {
		return record(t, func(t testing.TB) { failOnce(t, fmt.Errorf("write %s: no space left on device", file)) })
	}
	if r := full("a"); !strings.Contains(r.failed, "write a: no space") {
		t.Errorf("failed with %q", r.failed)
	}
	if r := full("b"); r.failed != "" || !strings.Contains(r.skipped, "write b: no space") {
		t.Errorf("failed with %q, skipped with %q", r.failed, r.skipped)
	}
}
