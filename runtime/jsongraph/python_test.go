//go:build e2e

package jsongraph_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// TestPythonDenormals reads the floats of TestDenormals with Python.
func TestPythonDenormals(t *testing.T) {
	if nativetest.Version() == "0.1.9" {
		t.Skip("its Python has no function of that name")
	}
	runtimetest.Load(t)
	all := floats()
	graph := runtimetest.Must[[]byte](t)(jsongraph.Marshal(all, map[string]any{"all": all}))
	dir := t.TempDir()
	file := filepath.Join(dir, "graph.json")
	if err := os.WriteFile(file, graph, 0o600); err != nil {
		t.Fatal(err)
	}
	const program = `
import struct, sys, tvm_ffi
graph = tvm_ffi.get_global_func("ffi.FromJSONGraphString")(open(sys.argv[1]).read())
open(sys.argv[2], "wb").write(b"".join(struct.pack("<d", x) for x in graph))
`
	out := filepath.Join(dir, "floats")
	if text, err := exec.Command(nativetest.Python(t), "-c", program, file, out).CombinedOutput(); err != nil {
		t.Fatalf("Python: %v\n%s", err, text)
	}
	read := runtimetest.Must[[]byte](t)(os.ReadFile(out))
	if len(read) != 8*len(all) {
		t.Fatalf("Python read %d bytes", len(read))
	}
	for i, f := range all {
		bits := uint64(0)
		for j := range 8 {
			bits |= uint64(read[8*i+j]) << (8 * j)
		}
		if bits != math.Float64bits(f) {
			t.Fatalf("Python read %g as %g", f, math.Float64frombits(bits))
		}
	}
}
