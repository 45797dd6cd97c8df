package generated_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestOtherLibrary runs bindings with the library that they were made from, with its
// next version, and without a library.
func TestOtherLibrary(t *testing.T) {
	m := newConsumer(t, "shed.txtar")
	first := nativetest.Build(t, "shed")
	next := nativetest.Build(t, "shed", nativetest.Flags("-DSHED_NEXT"))
	m.Copy(first, "libshed.so")
	m.Bind("gen", "--lib", "libshed.so", "--package", "shed", "--out", "shed")
	m.Run("go", "vet", "./...")
	program := filepath.Join(t.TempDir(), "shed.test") // not beside the library, because a program searches its own folder
	m.Run("go", "test", "-c", "-o", program, ".")
	for test, dir := range map[string]string{"TestUnchanged": filepath.Dir(first), "TestChanged": filepath.Dir(next), "TestChecked": filepath.Dir(next), "TestMissing": t.TempDir()} {
		cmd := m.Command(t.Context(), []string{"TVMFFI_LIBRARY_PATH=" + dir, "SHED_FILE=" + first},
			program, "-test.v", "-test.run=^"+test+"$")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
			t.Errorf("%s: %v\n%s", test, err, out)
		}
	}
	// A program that does not check all items is linked without those that it does not use.
	small := filepath.Join(t.TempDir(), "small")
	m.Run("go", "build", "-o", small, "./small")
	for file, want := range map[string]bool{program: true, small: false} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte("shed.same")) || bytes.Contains(data, []byte("shed.vanished")) != want {
			t.Errorf("%s has shed.same and not shed.vanished: %t, want %t", filepath.Base(file), want, !want)
		}
	}
}
