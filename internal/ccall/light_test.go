//go:build linux && (amd64 || arm64) && !tvmffi_portable && !race && !msan && !asan

package ccall

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestStartLight: there are light calls where they were tested. Without this the tests of light
// calls would pass for ordinary ones.
func TestStartLight(t *testing.T) {
	if want := tested(runtime.Version()) && os.Getenv("GODEBUG") == ""; !StartLight() && want {
		t.Error("no light calls")
	}
}

// TestStartLight_taken: there are no light calls if SIGURG does not go to Go.
func TestStartLight_taken(t *testing.T) {
	if os.Getenv("TVMFFI_TEST_TAKEN") != "" {
		signal.Ignore(syscall.SIGURG)
		if StartLight() {
			t.Error("light calls")
		}
		return
	}
	command := nativetest.Command(t.Context(), nativetest.Self(), "-test.run=^TestStartLight_taken$")
	command.Env = append(os.Environ(), "TVMFFI_TEST_TAKEN=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestBubble: a goroutine in a bubble of testing/synctest changes its status on the system stack,
// which takes the place of its registers.
func TestBubble(t *testing.T) {
	if !StartLight() {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		if !tryLight() {
			t.Error("the call was not upgraded")
		}
	})
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
