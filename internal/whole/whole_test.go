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

// TestTree: a folder that is not empty stays, an empty one is replaced, and an error names the file in the folder as it would be.
func TestTree(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "tree")
	put := func(into string) error { return os.WriteFile(filepath.Join(into, "new"), nil, 0o600) }
	torn := errors.New("torn")
	err := whole.Tree(dir, func(into string) error {
		return errors.Join(put(into), whole.Write(filepath.Join(into, "x", "y"), iotest.ErrReader(torn), 0o600))
	})
	if at, ok := errors.AsType[*fs.PathError](err); !ok || at.Path != filepath.Join(dir, "x", "y") {
		t.Errorf("a folder that is missing in it: %v", err)
	}
	if got := names(t, parent); len(got) > 0 {
		t.Errorf("it leaves %v", got)
	}
	for _, existing := range []string{"", "old"} {
		if err := os.MkdirAll(filepath.Join(dir, existing), 0o700); err != nil {
			t.Fatal(err)
		}
		err := whole.Tree(dir, put)
		if want := []string{"new", "old"}[len(existing)/3]; (err == nil) != (existing == "") || !slices.Equal(names(t, dir), []string{want}) {
			t.Errorf("a folder with %q: %v, then it has %v", existing, err, names(t, dir))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := whole.Tree(file, put); err == nil || !slices.Equal(names(t, parent), []string{"file"}) {
		t.Errorf("in the place of a file: %v", err)
	}
	if err := whole.Tree(filepath.Join(parent, "none", "tree"), put); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join("none", "tree")) {
		t.Errorf("a parent that is missing: %v", err)
	}
}
