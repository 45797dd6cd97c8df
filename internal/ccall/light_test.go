//go:build linux && (amd64 || arm64) && !tvmffi_portable && !race && !msan && !asan

package ccall

import (
	"os"
	"runtime"
	"testing"
)

// TestStartLight: there are light calls where they were tested. Without this the tests of light
// calls would pass for ordinary ones.
func TestStartLight(t *testing.T) {
	if want := tested(runtime.Version()) && os.Getenv("GODEBUG") == ""; !StartLight() && want {
		t.Error("no light calls")
	}
}

func TestTested(t *testing.T) {
	for version, want := range map[string]bool{
		"go1.26": true, "go1.26.8": true, "go1.27.3": true, "go1.27": true,
		"go1.25.9": false, "go1.28": false, "go1.260": false, "go1.27rc1": false, "devel go1.27-abc": false, "go1.26.8 X:nodwarf5": false,
	} {
		if got := tested(version); got != want {
			t.Errorf("%s: %t", version, got)
		}
	}
}
