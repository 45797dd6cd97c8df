package main

import (
	"os/exec"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/consumer"
)

// TestBindings compares the committed package with what the tool makes of the
// committed schema, which needs neither nvcc nor FlashInfer. TestSchema, with the tag
// flashinfer, compares the schema with the kernels.
func TestBindings(t *testing.T) {
	out, err := exec.Command(consumer.Tool(t), "gen", "--from", "native/norm.json", "--package", "norm", "--out", "./norm", "--check").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
