package generated_test

import (
	"path/filepath"
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
	for name, dir := range map[string]string{"first": filepath.Dir(first), "next": filepath.Dir(next), "missing": t.TempDir()} {
		c.env = append(env, "SHED="+name, "TVMFFI_LIBRARY_PATH="+dir, "SHED_FILE="+first)
		c.run("go", "test", "-count=1", ".")
	}
}
