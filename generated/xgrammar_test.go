package generated_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// report is the part of the report of the tool that the tests read.
type report struct {
	Counts []struct {
		Kind, Status string
		Number       int
	}
}

// counts returns the numbers of a report by kind and status, such as "function generated".
func (r report) counts() map[string]int {
	m := map[string]int{}
	for _, c := range r.Counts {
		m[c.Kind+" "+c.Status] = c.Number
	}
	return m
}

func readReport(t *testing.T, text string) report {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r
}

// TestXGrammarCommitted compares package xgrammar with the library of the pinned wheel: the text that the
// tool writes, and each function and type.
func TestXGrammarCommitted(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	upToDate(t, "xgrammar")
	if err := xgrammar.LoadChecked(); err != nil {
		t.Error(err)
	}
}

// upToDate fails if the tool would write other files than a folder here has.
func upToDate(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), consumer.Tool(t), "gen", "--check")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("gen --check in %s: %v\n%s", dir, err, out)
	}
}
