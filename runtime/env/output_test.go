package env_test

import (
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
	return env.FlushOutput()
}

func TestFlushOutput(t *testing.T) {
	out, err := runtimetest.Child(t, "prints in C", "CORE="+nativetest.Library(t))
	if err != nil || !strings.Contains(out, "printed by C") {
		t.Errorf("after FlushOutput the output is %q, %v", out, err)
	}
}
