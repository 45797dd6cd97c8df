package archtest

import (
	"runtime"
	"testing"
)

// TestTutorial does what the tutorial says, to the letter, in a new module.
func TestTutorial(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skipf("the tutorial is for Linux, not %s", runtime.GOOS)
	}
	needsLibrary(t)
	g := guide{dir: t.TempDir(), text: document(t, "docs/TUTORIAL.md"), replace: []string{"PATH-OF-THE-CLONE", repository(t)}}
	if commands, outputs := g.follow(t); commands < 20 || outputs < 8 {
		t.Errorf("the tutorial has %d commands and %d outputs", commands, outputs)
	}
}
