//go:build unix

package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// TestHashFile changes a file in all ways that must not go unnoticed, and puts another hash into the note to see when it counts.
func TestHashFile(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	file := filepath.Join(t.TempDir(), "libgarden.so")
	content := []byte("garden")
	write := func() {
		time.Sleep(20 * time.Millisecond) // a tick of the clock of the file system
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, size int64, age time.Duration, fromNote bool) {
		t.Helper()
		real, err := find.HashFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := hashFile(file, size, age)
		if err != nil || (got == real) == fromNote {
			t.Errorf("%s: got %s, %v; the real one is %s", what, got, err, real)
		}
	}
	write()
	check("first", 6, 0, false)
	note := Note("hashes", file)
	data, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(note, append([]byte(strings.Repeat("f", 64)), data[64:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	check("again", 6, 0, true)
	check("small", 7, 0, false)
	check("young", 6, time.Minute, false)
	if err := os.Chmod(filepath.Dir(note), 0o777); err != nil {
		t.Fatal(err)
	}
	check("note of anybody", 6, 0, false)
	if err := os.Chmod(filepath.Dir(note), 0o700); err != nil {
		t.Fatal(err)
	}
	check("again", 6, 0, true)

	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	content = []byte("weeds!")
	write()
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	check("other content with the old size and mtime", 6, 0, false)
	if err := os.WriteFile(note, []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("broken note", 6, 0, false)
}
