package env_test

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

func init() { runtimetest.Children["prints in C"] = printChild }

// printChild prints by the C library, and ends as a Go program does.
func printChild() error {
	text := []byte("printed by C\x00")
	purego.SyscallN(capi.CFunction("puts"), uintptr(unsafe.Pointer(&text[0])))
	if os.Getenv("FLUSH") == "" {
		return nil
	}
	return env.FlushOutput()
}

func TestFlushOutput(t *testing.T) {
	core := "CORE=" + nativetest.Library(t)
	out, err := runtimetest.Child(t, "prints in C", core, "FLUSH=1")
	if err != nil || !strings.Contains(out, "printed by C") {
		t.Errorf("after FlushOutput the output is %q, %v", out, err)
	}
	out, err = runtimetest.Child(t, "prints in C", core)
	if err != nil || strings.Contains(out, "printed by C") {
		t.Errorf("without FlushOutput the output is %q, %v: if Go programs flush now, FlushOutput is not needed", out, err)
	}
}
