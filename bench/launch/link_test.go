package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestNoParser builds this program, which has a generated kernel. It has the loop over the checks,
// but not the parser of descriptions, which is in the package of their types.
func TestNoParser(t *testing.T) {
	nativetest.StartsCompiler(t)
	program := filepath.Join(t.TempDir(), "launch")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("go", "tool", "nm", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	symbols := string(out)
	if !strings.Contains(symbols, "cuda/spec/run.InOrder") {
		t.Error("the program has no cuda/spec/run.InOrder: this test does not see its symbols")
	}
	for _, name := range []string{"cuda/spec.(*parser)", "cuda/spec.Parse", "cuda/spec.(*Func)"} {
		if strings.Contains(symbols, name) {
			t.Errorf("the program has %s, which only the generator and package check need", name)
		}
	}
}
