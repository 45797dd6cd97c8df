package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

const generated = "// ours\n\npackage x\n"

func isOurs(data []byte) bool { return strings.HasPrefix(string(data), "// ours\n") }

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree lists the files below dir with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			files[filepath.ToSlash(rel)+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestOutput_changesOnlyWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "same.go"), generated)
	writeFile(t, filepath.Join(dir, "windows.go"), generated+"// \r\n")
	writeFile(t, filepath.Join(dir, "old.go"), generated)
	writeFile(t, filepath.Join(dir, "left.go"), generated)
	writeFile(t, filepath.Join(dir, "user.go"), "package x\n")
	writeFile(t, filepath.Join(dir, "gone", "sub.go"), generated)
	writeFile(t, filepath.Join(dir, "other", "not_ours.go"), generated)
	files := map[string][]byte{
		"same.go":    []byte(generated),
		"windows.go": []byte(generated + "// \r\n"),
		"old.go":     []byte(generated + "// new\n"),
		"new/new.go": []byte(generated),
	}
	o, err := GoPackage(dir, files, []string{"gone/sub.go", "../outside.go", "user.go"}, isOurs)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range o.Changes {
		verb, _ := c.words()
		rel, err := filepath.Rel(dir, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, verb+" "+filepath.ToSlash(rel))
	}
	want := []string{"remove gone/sub.go", "remove left.go", "create new/new.go", "update old.go"}
	if !slices.Equal(got, want) || o.Same != 2 {
		t.Fatalf("changes %q and %d unchanged, want %q and 2", got, o.Same, want)
	}
	diff := o.Diff()
	for _, line := range []string{"+// new", "+++ " + os.DevNull, "--- " + os.DevNull} {
		if !strings.Contains(diff, line) {
			t.Errorf("the diff lacks %q:\n%s", line, diff)
		}
	}
	if err := o.Write(); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	for name, text := range map[string]string{
		"same.go": generated, "windows.go": generated + "// \r\n", "old.go": generated + "// new\n", "new/new.go": generated,
		"user.go": "package x\n", "other/not_ours.go": generated, "new/": "", "other/": "",
	} {
		if got, ok := after[name]; !ok || got != text {
			t.Errorf("%s holds %q, want %q", name, got, text)
		}
		delete(after, name)
	}
	if len(after) > 0 {
		t.Errorf("unexpected files: %v", after)
	}
}

func TestOutput_refusesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "hand.go"), "package x\n")
	writeFile(t, filepath.Join(dir, "folder.go", "f"), "")
	for _, name := range []string{"hand.go", "folder.go"} {
		_, err := GoPackage(dir, map[string][]byte{name: []byte(generated)}, nil, isOurs)
		var r *console.Refusal
		if !errors.As(err, &r) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want a refusal that names it", name, err)
		}
	}
}

// TestWrite_isAllOrNothing makes the last rename fail: after the second comparison its target
// becomes a folder that is not empty. By then a.go is replaced, b.go removed, and
// fresh/c.go new, so each kind of change must be undone.
//
// How "all or none" is kept: before the first rename every new file is on the disk, in
// the folder of its target, so a full disk or a folder without permission stops Write
// before it has changed anything. If a rename fails, Write renames the old content
// back into place, and removes files and folders that were not there before.
func TestWrite_isAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.go"), generated)
	writeFile(t, filepath.Join(dir, "b.go"), generated)
	o, err := GoPackage(dir, map[string][]byte{
		"a.go":       []byte(generated + "// 2\n"),
		"fresh/c.go": []byte(generated),
		"z.go":       []byte(generated),
	}, nil, isOurs)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "z.go", "in the way"), "")
	before := tree(t, dir)
	tx, held := transaction{}, locks{}
	defer held.unlock()
	if err := tx.lock(o, held); err != nil {
		t.Fatal(err)
	}
	err = tx.write(o)
	if err == nil || !strings.Contains(err.Error(), "z.go") {
		t.Fatalf("error %v, want one that names z.go", err)
	}
	if err := tx.rollback(); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	if len(after) != len(before) {
		t.Errorf("files after the failure: %v, want %v", after, before)
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s holds %q after the failure, want %q", name, after[name], text)
		}
	}
}

func TestWrite_folderNotWritable(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "file"), "in the way")
	tx := transaction{}
	o := &Output{Changes: []Change{
		{Path: filepath.Join(dir, "good", "a.go"), New: []byte(generated)},
		{Path: filepath.Join(dir, "file", "b.go"), New: []byte(generated)},
	}}
	err := errors.Join(tx.lock(o, locks{}), tx.rollback())
	if err == nil || !strings.Contains(err.Error(), "cannot write to the folder") {
		t.Fatalf("error %v, want one about the folder", err)
	}
	if got := tree(t, dir); len(got) != 1 {
		t.Errorf("files after the failure: %v, want only the first one", got)
	}
}

// A full disk has another remedy than a folder of somebody else.
func TestUnwritable(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "no space left on device; free some space (nothing was written)",
		syscall.EDQUOT: "; free some space (nothing was written)",
		syscall.EACCES: "permission denied; change its permissions or choose another one (nothing was written)",
	} {
		if err := unwritable("dir", &fs.PathError{Op: "open", Path: "dir/x", Err: errno}); !strings.HasSuffix(err.Error(), want) || !errors.Is(err, errno) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRollback_failure: what cannot be put back is an error, and does not keep the rest from
// being put back.
func TestRollback_failure(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.go"), "new")
	writeFile(t, filepath.Join(dir, "temporary"), "")
	tx := transaction{
		staged: []stagedChange{
			{Change: Change{Path: filepath.Join(dir, "a.go"), Old: []byte("old"), New: []byte("new")}, done: true},
			{Change: Change{Path: filepath.Join(dir, "a.go", "b.go"), Old: []byte("old")}, done: true},
			{Change: Change{Path: filepath.Join(dir, "gone.go"), New: []byte("new")}, done: true},
			{Change: Change{Path: filepath.Join(dir, "c.go"), New: []byte("new")}, temp: filepath.Join(dir, "temporary")},
		},
		created: []string{filepath.Join(dir, "never")},
	}
	err := tx.rollback()
	for _, name := range []string{"mkdir " + filepath.Join(dir, "a.go") + ": ", "gone.go", "never"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that names %s", err, name)
		}
	}
	if got := tree(t, dir); len(got) != 1 || got["a.go"] != "old" {
		t.Errorf("files after the rollback: %v, want the old a.go", got)
	}
}
