package archtest

import (
	"bytes"
	"go/build/constraint"
	"path"
	"regexp"
	"strings"
	"testing"
)

// budget caps what go test ./... starts besides the tests themselves: places in tests that do so, not how often. A test
// beyond it has the tag e2e, or uses a library or a module that is there. A change may raise a number by one or two, and
// its commit says why; a change that needs more brings a journey, which has the tag.
var budget = []struct {
	what, pattern string
	most          int
}{
	{"libraries in C++", `nativetest\.(Build|BuildText|FakeCUDA|NoopCUDA)\(`, 67},
	{"modules of their own", `(consumer\.New|newConsumer)\(t`, 8},
	{"shared libraries in Go", `consumer\.Shared\(`, 0},
	{"runs of tvmffi-bind", `consumer\.Tool\(|\bm\.Bind\(`, 3},
	{"wheels of other packages", `nativetest\.(NVRTC|Pinned)\(`, 9},
	{"environments of Python", `nativetest\.(Auditwheel|Checkers|CuTe|FlashInfer|OpenAI|Python|Pythons|TVM|Zig)\(`, 0},
	{"go commands", `(Command|CommandContext|Run)\((t\.Context\(\), )?"go"`, 13},
	{"guides", `\.follow\(t\)`, 1},
}

// mostCompilingScripts caps the scripts with a command that compiles a program.
const mostCompilingScripts = 4

var compiles = regexp.MustCompile(`(?m)^exec (go (build|generate|run|test|tool|vet)|sh -c .*g\+\+)|^exec tvmffi-bind build`)

func TestBudget(t *testing.T) {
	counts := make([]int, len(budget))
	tests, scripts := 0, 0
	tagged := map[string]bool{} // folders of scripts that a tag runs
	for _, f := range goFiles(t) {
		if !f.test || strings.HasPrefix(f.path, "examples/") || strings.HasPrefix(f.path, "internal/testkit/") {
			continue
		}
		if needsTag(f.text) {
			tagged[path.Dir(f.path)] = true
			continue
		}
		tests++
		for i, b := range budget {
			counts[i] += len(regexp.MustCompile(b.pattern).FindAll(f.text, -1))
		}
	}
	for _, f := range allFiles(t) {
		dir, script := strings.CutSuffix(path.Dir(f.path), "/testdata")
		if path.Ext(f.path) == ".txtar" && script && strings.HasPrefix(dir, "cmd/tvmffi-bind") && !tagged[dir] && compiles.Match(f.text) {
			scripts++
		}
	}
	if tests < 100 || scripts == 0 {
		t.Fatalf("%d files of tests, %d scripts", tests, scripts)
	}
	for i, b := range budget {
		if t.Logf("%d %s", counts[i], b.what); counts[i] > b.most {
			t.Errorf("go test ./... has %d %s, more than %d: give the test the tag e2e, or use what is there", counts[i], b.what, b.most)
		}
	}
	if t.Logf("%d scripts that compile", scripts); scripts > mostCompilingScripts {
		t.Errorf("go test ./... runs %d scripts that compile, more than %d: move the script to scripts/guides, or look at messages alone", scripts, mostCompilingScripts)
	}
}

// needsTag reports whether the go command leaves a file out on linux/amd64 without a tag.
func needsTag(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	expr, err := constraint.Parse(string(line))
	return err == nil && !expr.Eval(func(tag string) bool { return tag == "linux" || tag == "unix" || tag == "amd64" })
}
