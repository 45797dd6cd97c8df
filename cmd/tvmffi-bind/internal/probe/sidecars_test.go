package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSidecars finds the libraries for devices beside a runtime, and no others.
func TestSidecars(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[x]")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var libs []Library
	for _, name := range []string{"libtvm_ffi.so", "libtvm_runtime.so", "libtvm_runtime_extra.so", "libtvm_runtime_cuda.so", "libother_cuda.so"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if len(libs) < 3 {
			libs = append(libs, Library{Path: file})
		}
	}
	if got := Sidecars(libs); !slices.Equal(got, []string{filepath.Join(dir, "libtvm_runtime_cuda.so")}) {
		t.Errorf("the sidecars are %q", got)
	}
}
