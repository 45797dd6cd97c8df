//go:build e2e

package generated_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestXGrammar binds XGrammar, which has metadata in the old format, and decodes under a
// JSON schema with the bindings.
func TestXGrammar(t *testing.T) {
	m := newConsumer(t, "xgrammar.txtar")
	nativetest.Pinned(t, "xgrammar")
	m.Bind("gen", "--report", "report.json")
	r := readReport(t, m.Read("report.json"))
	equalCounts(t, r.counts(), map[string]int{"function generated": 23, "type generated": 6, "constructor generated": 4, "method generated": 57})
	vetAndTest(t, m)
}
