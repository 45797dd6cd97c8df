package main

import (
	"os/exec"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
)

// TestBindings compares the committed package with what the tool makes of the
// committed schema and names, which needs neither nvcc nor FlashInfer. TestSchema and TestNames,
// with the tag flashinfer, compare those with the kernels.
func TestBindings(t *testing.T) {
	if out, err := exec.Command(consumer.Tool(t), "gen", "--config", "norm/tvmffi.yaml", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
