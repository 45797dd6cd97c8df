//go:build e2e

package guides

import "testing"

// TestGotvm runs the program that docs/GOTVM.md has moved over, with the library that it builds.
func TestGotvm(t *testing.T) {
	g := guide{
		dir: t.TempDir(), text: section(t, document(t, "docs/GOTVM.md"), "A program before and after"),
		replace: []string{"PATH-OF-THE-CLONE", root(t)},
	}
	if commands, outputs := g.follow(t); commands != 6 || outputs != 1 {
		t.Errorf("the guide has %d commands and %d outputs", commands, outputs)
	}
}
