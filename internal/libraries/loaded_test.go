package libraries

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// The hash of a file is known until the size or the time of the file changes.
func TestHashOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "library")
	for _, text := range []string{"one", "another"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := find.HashFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := hashOf(path); err != nil || got != want {
				t.Errorf("%s: %s, %v, want %s", text, got, err, want)
			}
		}
	}
	// It is known, so a file whose size and time are as before is not read again.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := find.HashFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("ANOTHER"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got, err := hashOf(path); err != nil || got != want {
		t.Errorf("the size and the time are as before: %s, %v, want %s", got, err, want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := hashOf(path); err == nil {
		t.Errorf("a file that is not there has the hash %s", got)
	}
}
