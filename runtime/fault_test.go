//go:build linux && amd64 && !tvmffi_portable

package tvmffi_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const faults = `
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <thread>

static int* volatile nowhere = nullptr;
static void crash() { *nowhere = 1; }

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("faults.here", [] { crash(); })
      .def("faults.thread", [] { std::thread(crash).join(); });
}
`

func init() {
	for _, name := range []string{"here", "thread"} {
		runtimetest.Children["fault "+name] = func() error {
			if err := runtimetest.LoadInChild(); err != nil {
				return err
			}
			if err := tvmffi.LoadLibrary(os.Getenv("FAULTS")); err != nil {
				return err
			}
			f, err := tvmffi.Lookup("faults." + name)
			if err != nil {
				return err
			}
			_, err = f.Call()
			return err
		}
	}
}

// TestFaults ends processes by SIGSEGV in C++, on the thread of a goroutine and on one that
// C++ made. Neither ends without a word.
func TestFaults(t *testing.T) {
	env := []string{"CORE=" + nativetest.Library(t), "FAULTS=" + nativetest.BuildText(t, "faults", faults)}
	for name, want := range map[string]string{
		"here":   "SIGSEGV: segmentation violation", // Go's, with the goroutines
		"thread": "Segfault encountered",            // from libtvm_ffi, with the frames of C++
	} {
		out, err := runtimetest.Child(t, "fault "+name, env...)
		if _, ended := err.(*exec.ExitError); !ended || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q in\n%s", name, err, want, out)
		}
	}
}
