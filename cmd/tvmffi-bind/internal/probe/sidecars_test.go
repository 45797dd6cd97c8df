package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSidecars finds the libraries for devices beside a runtime, and no others, by the names of each system.
func TestSidecars(t *testing.T) {
	for _, form := range [][2]string{{"lib", ".so"}, {"lib", ".dylib"}, {"", ".dll"}} {
		dir := filepath.Join(t.TempDir(), "[x]")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := func(stem string) string { return filepath.Join(dir, form[0]+stem+form[1]) }
		var libs []Library
		for _, stem := range []string{"tvm_ffi", "tvm_runtime", "tvm_runtime_extra", "tvm_runtime_cuda", "other_cuda"} {
			if err := os.WriteFile(file(stem), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if len(libs) < 3 {
				libs = append(libs, Library{Path: file(stem)})
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "tvm_runtime_cuda.lib"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Sidecars(libs); !slices.Equal(got, []string{file("tvm_runtime_cuda")}) {
			t.Errorf("the sidecars are %q", got)
		}
	}
}
