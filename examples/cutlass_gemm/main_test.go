package main

import (
	"os/exec"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
)

// TestBindings compares the committed package with what the tool makes of the committed schema and names, which needs
// neither nvcc nor CUTLASS. TestSchema, with the tag flashinfer, compares the schema with the kernel.
func TestBindings(t *testing.T) {
	out, err := exec.Command(consumer.Tool(t), "gen", "--config", "gemm/tvmffi.yaml", "--check").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
