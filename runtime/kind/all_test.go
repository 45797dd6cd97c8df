package kind_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TestAll: each exception of Python that is a kind has a variable, here or in package tvmffi, and no variable has another kind.
func TestAll(t *testing.T) {
	named := map[string]bool{}
	for _, file := range []string{"kind.go", "../error.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, after, ok := strings.Cut(line, `indError("`); ok {
				name, _, _ := strings.Cut(after, `"`)
				named[name] = true
			}
		}
	}
	for _, k := range crossing.ErrorKinds {
		if !named[k.Name] && !k.Native {
			t.Errorf("%s has no variable: add one to kind.go", k.Name)
		}
		delete(named, k.Name)
	}
	for name := range named {
		t.Errorf("%s has a variable, but is not a kind of crossing.ErrorKinds", name)
	}
}
