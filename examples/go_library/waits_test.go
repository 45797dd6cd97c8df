package golibrary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// waits are the functions of testdata/waits.py, and what they print.
var waits = map[string]string{
	"methods": "", "results": "", "many": "", "cancel": "", "loop_closed": "", "interrupted": "", "in_flight": "", "in_flight_loop": "",
	"late": "done\n", "deleted": "", "daemons": "", "streams": "", "allocator": "", "forked": "", "forked_pool": "", "exec_": "",
	"fork_first": "", "native_thread": "", "native_thread_ends": "", "futures": "",
}

// TestWaits runs Python processes that use calls that take time, fork, and end meanwhile:
// each exits with 0 and says nothing else.
func TestWaits(t *testing.T) {
	library := consumer.Shared(t, "examples/go_library/testdata/waits/libwaits")
	text, err := os.ReadFile(filepath.Join("testdata", "waitshost.cc"))
	if err != nil {
		t.Fatal(err)
	}
	host, tensors := nativetest.BuildText(t, "waitshost", string(text)), nativetest.Build(t, "tensors")
	pythons, n := endingPythons(t)
	for version, python := range pythons {
		for name, want := range waits {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				for range n {
					end(t, want, python, filepath.Join("testdata", "waits.py"), name, library, host, tensors)
				}
			})
		}
	}
}

// TestOtherVersion loads a Go library in a host whose libtvm_ffi does not fit: each symbol
// raises an error with a remedy.
func TestOtherVersion(t *testing.T) {
	library, python := consumer.Shared(t, "examples/go_library/words/libwords"), nativetest.Python(t)
	compiler := strings.TrimSpace(run(t, nil, "go", "env", "CC"))
	for minor, text := range map[string]string{"0": "has version 0.0.0", "9": "has version 0.9.0", "1": "lacks TVMFFI"} {
		dir := t.TempDir()
		source := filepath.Join(dir, "fake.c")
		if err := os.WriteFile(source, []byte(fakeLibrary), 0o600); err != nil {
			t.Fatal(err)
		}
		fake := filepath.Join(dir, "libtvm_ffi.so")
		run(t, nil, compiler, "-shared", "-fPIC", "-DMINOR="+minor, "-Wl,-soname,libtvm_ffi.so", "-o", fake, source)
		out := run(t, nil, python, "-c", useFake, fake, library)
		if !strings.HasPrefix(out, "RuntimeError: words: libtvm_ffi "+fake+" ") || !strings.Contains(out, text) ||
			!strings.HasSuffix(out, ": in Python, run pip install \"apache-tvm-ffi>=0.1.9,<0.2\"; elsewhere, use the libtvm_ffi of such a release\n-1\n") {
			t.Errorf("it printed %q, want %q and a remedy", out, text)
		}
	}
}

const fakeLibrary = `
#include <stdio.h>
void TVMFFIGetVersion(unsigned* v) { v[0] = 0, v[1] = MINOR, v[2] = MINOR == 1 ? 15 : 0; }
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) { printf("%s: %s\n", kind, message), fflush(stdout); }
`

const useFake = `
import ctypes, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
print(getattr(ctypes.CDLL(sys.argv[2]), "__tvm_ffi_upper")(None, None, 0, None))
`
