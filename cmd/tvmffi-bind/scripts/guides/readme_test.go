package guides

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestReadme_fourSteps does the four steps of the README, once it has the tool as the README says, and compiles
// the first lines of Go in the README against the bindings.
func TestReadme_fourSteps(t *testing.T) {
	nativetest.Pinned(t, "xgrammar")
	readme := document(t, "README.md")
	steps := section(t, readme, "Four steps to a typed call")
	lines := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindStringSubmatch(readme)
	clone := regexp.MustCompile("(?m)^    (go mod edit -replace .*)$").FindStringSubmatch(steps)
	if lines == nil || clone == nil {
		t.Fatal("the README has no Go, or no command for a clone")
	}
	g := guide{
		dir: t.TempDir(),
		text: steps + "\n`first.go`\n```go\n" + firstLines + lines[1] + "\t_ = ok\n\treturn err\n}\n```\n" +
			"\n    go vet ./...\n",
		replace: []string{
			"go get -tool github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind",
			"cp " + root(t) + "/go.sum .\n" + strings.ReplaceAll(clone[1], "PATH-OF-THE-CLONE", root(t)) + "\ngo mod tidy",
			"PATH-OF-THE-CLONE", root(t),
		},
	}
	if commands, outputs := g.follow(t); commands < 7 || outputs != 1 {
		t.Errorf("the four steps have %d commands and %d outputs", commands, outputs)
	}
}

// firstLines precede the first lines of Go in the README: what these name.
const firstLines = `package main

import "example.com/hello/xgrammar"

func first(compiler *xgrammar.GrammarCompiler, schema string, anyWhitespace, strictMode, anyOrder,
	terminateWithoutStopToken bool, tokenID int64, debugPrint bool) error {
`

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
