package guides

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestReadme writes the program of the README into an empty folder, does the commands below it, and compares what the
// program prints. The clone of the README is this repository. The program that is built prints the same in the folder that ship
// makes, without an environment.
func TestReadme(t *testing.T) {
	nativetest.Pinned(t, "xgrammar")
	g := guide{
		dir: consumer.Folder(t), text: section(t, document(t, "README.md"), "A program"),
		vars: []string{"GOWORK="}, replace: []string{"../tvmffi", root(t)},
	}
	_, output, ok := strings.Cut(g.text, "\n    go run .\n")
	if !ok {
		t.Fatal("the README does not end by running the program")
	}
	g.text += "\n    go build -o hello .\n    go tool tvmffi-bind ship hello app\n    env --ignore-environment app/hello\n" + output
	if commands, outputs := g.follow(t); commands != 7 || outputs != 2 {
		t.Errorf("the program of the README has %d commands and %d outputs, with those to ship it", commands, outputs)
	}
}
