package whole_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/tvmffi-go/tvmffi/internal/whole"
)

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestWrite_fails: the old file stays, nothing else does, and the error is about the file or about what was read.
func TestWrite_fails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := whole.Write(file, strings.NewReader("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	torn := errors.New("torn")
	for _, x := range []struct {
		file string
		from io.Reader
		want error
	}{
		{file, io.MultiReader(strings.NewReader("ne"), iotest.ErrReader(torn)), torn},
		{file, iotest.ErrReader(&fs.PathError{Op: "read", Path: "source", Err: torn}), torn},
		{filepath.Join(dir, "missing", "file"), strings.NewReader("new"), fs.ErrNotExist},
		{filepath.Join(dir, "folder"), strings.NewReader("new"), nil},
	} {
		err := whole.Write(x.file, x.from, 0o600)
		if err == nil || !strings.HasPrefix(err.Error(), "write "+x.file+": ") || x.want != nil && !errors.Is(err, x.want) {
			t.Errorf("%s: %v", x.file, err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"file", "folder"}) {
		t.Errorf("the folder has %v", got)
	}
}

// TestSweep_atOnce: nobody removes what others are making.
func TestSweep_atOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if err := whole.Write(filepath.Join(dir, "file"), strings.NewReader("text"), 0o600); err != nil {
					t.Error(err)
				}
				made, remove, err := whole.Folder(dir)
				if err != nil {
					t.Error(err)
					return
				}
				whole.Sweep(dir)
				if _, err := os.Stat(made); err != nil {
					t.Error(err)
				}
				if err := remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := names(t, dir); !slices.Equal(got, []string{"file"}) {
		t.Errorf("the folder has %v", got)
	}
}
