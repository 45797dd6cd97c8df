package main

import (
	"os/exec"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
)

// TestBindings compares the committed packages with what the tool makes of the
// committed schemas and names, which needs neither nvcc nor FlashInfer. TestSchema and TestNames,
// with the tag flashinfer, compare those with the kernels.
func TestBindings(t *testing.T) {
	for name := range libraries {
		out, err := exec.Command(consumer.Tool(t), "gen", "--config", name+"/tvmffi.yaml", "--check").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
