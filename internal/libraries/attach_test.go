package libraries_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	_ "github.com/tvmffi-go/tvmffi/internal/testkit/machinetest" // has the type of the errors
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// onlyVersion is a libtvm_ffi that has lost all functions but one.
const onlyVersion = `
#include <stdint.h>
extern "C" void TVMFFIGetVersion(uint32_t* v) { v[0] = 0; v[1] = 1; v[2] = 15; }
`

// TestAttach_lacking: the error names every function that a library lacks. It runs in a
// process of its own, because a process has one libtvm_ffi.
func TestAttach_lacking(t *testing.T) {
	const child = "TVMFFI_TEST_CHILD"
	if path := os.Getenv(child); path != "" {
		if err := libraries.OpenCore(&find.Options{Core: path}); err != nil {
			os.Stdout.WriteString(err.Error())
		}
		return
	}
	cmd := nativetest.Command(t.Context(), os.Args[0], "-test.run=^TestAttach_lacking$")
	cmd.Env = append(os.Environ(), child+"="+nativetest.BuildText(t, "tvm_ffi", onlyVersion, nativetest.Standalone()))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"version 0.1.15) lacks ", "TVMFFIFunctionCall", "TVMFFIObjectDecRef", "TVMFFIErrorSetRaisedFromCStrParts", "; run \"go tool tvmffi-bind setup\""} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the error lacks %q:\n%s", want, out)
		}
	}
	for _, optional := range []string{"TVMFFIBigIntFromByteArray", "__cxa_demangle"} {
		if strings.Contains(string(out), optional) {
			t.Errorf("the error names %s, which a library may lack:\n%s", optional, out)
		}
	}
}
