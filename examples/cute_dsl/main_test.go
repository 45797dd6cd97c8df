package main

import (
	"os/exec"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
)

// TestBindings compares the committed package with what the tool makes of the
// committed schema, which needs neither the CuTe DSL nor the kernels. TestSchema,
// with the tag cute, compares the schema with the kernels.
func TestBindings(t *testing.T) {
	out, err := exec.Command(consumer.Tool(t), "gen", "--from", "native/kernels.json", "--package", "cutekernels", "--out", "./cutekernels", "--check").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
