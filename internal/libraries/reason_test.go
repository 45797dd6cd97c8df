package libraries

import (
	"errors"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// The texts come from the loader of glibc.
func TestRemedyForFile(t *testing.T) {
	for reason, want := range map[string]string{
		"/lib/libc.so.6: version `GLIBC_2.99' not found (required by /x/lib.so)":          "it needs GLIBC_2.99 of a newer glibc: ",
		"/lib/libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required by /x/lib.so)": "it needs GLIBCXX_3.4.99 of a newer C++ runtime ",
		"libgcc_s.so.1: cannot open shared object file: No such file or directory":        "it needs libgcc_s.so.1 of the C++ runtime; install the packages libstdc++6 and libgcc-s1",
		"libother.so.1: cannot open shared object file: No such file or directory":        "it needs libother.so.1; install it where the system finds it",
		"/x/lib.so: cannot open shared object file: No such file or directory":            "",
		"invalid ELF header": "",
	} {
		if got := remedyForFile("/x/lib.so", errors.New("load /x/lib.so: "+reason)); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

// TestModuleError has the text of libtvm_ffi for a Relax executable.
func TestModuleError(t *testing.T) {
	native := failure.Errorf(failure.KindRuntime, "Library binary was created using {relax.VMExecutable} but a loader of that name is not registered. "+
		"Make sure to have runtime that registers ffi.Module.load_from_bytes.relax.VMExecutable")
	err := ModuleError("/x/model.so", native)
	for _, want := range []string{"RuntimeError: model.so holds a module of kind relax.VMExecutable, ", "load libtvm_runtime first (--dep ", ": Library binary was"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	other := failure.Errorf(failure.KindRuntime, "another mistake")
	if got := ModuleError("/x/model.so", other); got != other {
		t.Error(got)
	}
}
