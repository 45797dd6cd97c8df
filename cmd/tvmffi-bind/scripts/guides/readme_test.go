package guides

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestReadme writes the program of the README into an empty folder, does the commands below it, and compares what the
// program prints. The clone of the README is this repository.
func TestReadme(t *testing.T) {
	nativetest.Pinned(t, "xgrammar")
	g := guide{
		dir: consumer.Folder(t), text: section(t, document(t, "README.md"), "A program"),
		vars: []string{"GOWORK="}, replace: []string{"../tvmffi", root(t)},
	}
	if commands, outputs := g.follow(t); commands != 4 || outputs != 1 {
		t.Errorf("the program of the README has %d commands and %d outputs", commands, outputs)
	}
}
