package guides

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/consumer"
)

// TestReadme_quickStart does what the README says about a library of one's own, to
// the letter, in a new module. A replace stands in for the published module.
func TestReadme_quickStart(t *testing.T) {
	g := guide{
		dir:  t.TempDir(),
		text: section(t, document(t, "README.md"), "Quick start with a library of your own"),
		before: []string{
			"cp " + root(t) + "/go.sum .",
			"go mod init example.com/hello",
			"go mod edit -replace " + consumer.Self + "=" + root(t),
			"go get -tool " + consumer.Self + "/cmd/tvmffi-bind@v0.0.0",
		},
	}
	if commands, outputs := g.follow(t); commands < 3 || outputs < 1 {
		t.Errorf("the quick start has %d commands and %d outputs", commands, outputs)
	}
}
