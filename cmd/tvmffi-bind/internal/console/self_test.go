package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWritingCommand(t *testing.T) {
	got := WritingCommand([]string{"gen", "--lib", "a.so", "--check", "--report", "r.json", "--report=x", "--out", "x"})
	if want := Command() + " gen --lib a.so --out x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBuiltForOneRun(t *testing.T) {
	hash := strings.Repeat("0c", 32)
	for exe, want := range map[string]bool{
		"/cache/go-build/0c/" + hash + "-d/tvmffi-bind": true,
		"/ci/cache/0c/" + hash + "-d/tvmffi-bind":       true,
		"/x/go-build123/b001/exe/tvmffi-bind":           true,
		"/go/bin/tvmffi-bind":                           false,
		"/ci/cache/" + hash + "/tvmffi-bind":            false,
	} {
		if got := builtForOneRun(exe); got != want {
			t.Errorf("%s: got %t, want %t", exe, got, want)
		}
	}
	if exe, err := os.Executable(); err != nil || strings.HasPrefix(Command(), "go tool ") != builtForOneRun(filepath.ToSlash(exe)) {
		t.Errorf("%s (%v) is run as %s", exe, err, Command())
	}
}
