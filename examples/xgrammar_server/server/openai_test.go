//go:build e2e

package server

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestOpenAI: the official client gets structured output, streams, calls of tools and errors, and the server accepts each
// real schema that XGrammar compiles in Python.
func TestOpenAI(t *testing.T) {
	python, wheel := nativetest.OpenAI(t), nativetest.Pinned(t, "xgrammar")
	_, url := program(t, "-time", "20m", "-compiler-time", "10m")
	out, err := exec.CommandContext(t.Context(), python, "testdata/client.py", url, wheel.Path("xgrammar")).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var result struct{ Schemas, Accepted int }
	if err != nil || json.Unmarshal([]byte(lines[len(lines)-1]), &result) != nil || result.Schemas < 55 || result.Accepted < 45 {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%+v", result)
}
