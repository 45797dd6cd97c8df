//go:build tvm

package generated_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// TestTVMLibraries binds the whole of TVM and runs a program on its runtime, RPC and Disco
// where the compiler is not: each package needs only the files that its own functions are in.
//
//	go test -tags=tvm -run=TestTVM ./generated
func TestTVMLibraries(t *testing.T) {
	tvm, core := nativetest.Pinned(t, "apache-tvm"), nativetest.Wheel(t, wheel.TVMNeeds).Library()
	files := []string{"libtvm_runtime.so", "libtvm_runtime_extra.so", "libtvm_compiler.so"}
	m := newConsumer(t, "tvm.txtar")
	m.Env = append(m.Env, "TVMFFI_LIBRARY="+core)
	args := []string{"gen", "--package", "tvm", "--out", "./tvm"}
	for _, name := range files {
		args = append(args, "--lib", tvm.Path("tvm/lib/"+name))
	}
	m.Bind(args...)
	m.Run("go", "build", "-o", "program", ".")
	dir := t.TempDir()
	run := func(name string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.Symlink(tvm.Path("tvm/lib/"+name), file); err != nil {
			t.Fatal(err)
		}
		return m.Run(filepath.Join(m.Dir, "program"), dir)
	}
	want := "compiler: LibraryNotFound: libtvm_compiler.so was not found"
	if out := run(files[0]); !strings.Contains(out, "rpc: a server\n") || !strings.Contains(out, want) ||
		!strings.Contains(out, "disco: LibraryNotFound: libtvm_runtime_extra.so was not found") {
		t.Errorf("with the runtime alone the program says\n%s", out)
	}
	if out := run(files[1]); !strings.Contains(out, "disco: 2 workers\n") || !strings.Contains(out, want) {
		t.Errorf("with the runtime and the extra runtime the program says\n%s", out)
	}
}

// TestTVMCommitted compares the packages below tvm with what the tool writes for the pinned wheel.
func TestTVMCommitted(t *testing.T) {
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	upToDate(t, "tvm")
}
