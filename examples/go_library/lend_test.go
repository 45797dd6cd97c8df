package golibrary

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestLend lends memory of Python, which other arrays use as soon as it ends. The collector of Go runs all the time.
func TestLend(t *testing.T) {
	dir := pythonPackage(t, "testdata/classes")
	run(t, []string{"MALLOC_PERTURB_=165", "GOGC=1", "GODEBUG=clobberfree=1"}, nativetest.Python(t), filepath.Join("testdata", "lend.py"), dir)
}

// TestCPP_lend lends memory of C++, with AddressSanitizer.
func TestCPP_lend(t *testing.T) {
	dir := exportedCpp(t)
	compile, link := prepared(t)
	program, lib := filepath.Join(t.TempDir(), "lend"), filepath.Join(dir, "lib")
	args := slices.Concat([]string{"-std=c++17", "-g", "-fsanitize=address"}, strict, compile, []string{
		"-I" + filepath.Join(dir, "include"), filepath.Join("testdata", "cpp", "lend.cc"), "-o", program, "-L" + lib, "-lclasses", "-Wl,-rpath," + lib,
	}, link)
	run(t, nil, nativetest.Compiler(t), args...)
	// LeakSanitizer does not search Go's memory.
	if out := run(t, []string{"ASAN_OPTIONS=detect_leaks=0"}, program); out != "all right\n" {
		t.Error(out)
	}
}
