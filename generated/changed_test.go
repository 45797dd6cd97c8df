package generated_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
)

// TestOtherLibrary runs bindings with the library that they were made of, with its
// next version, and without one.
func TestOtherLibrary(t *testing.T) {
	first := nativetest.Build(t, "shed")
	next := nativetest.Build(t, "shed", nativetest.Flags("-DSHED_NEXT"))
	c := newConsumer(t, "shed.txtar")
	c.library(first, "libshed.so")
	c.bind("gen", "--lib", "libshed.so", "--package", "shed", "--out", "shed")
	c.run("go", "vet", "./...")
	env := c.env
	for test, dir := range map[string]string{"TestUnchanged": filepath.Dir(first), "TestChanged": filepath.Dir(next), "TestMissing": t.TempDir()} {
		c.env = append(env, "TVMFFI_LIBRARY_PATH="+dir, "SHED_FILE="+first)
		if out := c.run("go", "test", "-count=1", "-v", "-run", "^"+test+"$", "."); !strings.Contains(out, "--- PASS: "+test) {
			t.Errorf("%s did not run:\n%s", test, out)
		}
	}
}
