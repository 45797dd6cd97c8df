package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
)

const generated = gen.Marker + "\n\npackage x\n"

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
	writeFile(t, filepath.Join(dir, "old.go"), generated)
	writeFile(t, filepath.Join(dir, "left.go"), generated)
	writeFile(t, filepath.Join(dir, "user.go"), "package x\n")
	writeFile(t, filepath.Join(dir, "gone", "sub.go"), generated)
	writeFile(t, filepath.Join(dir, "other", "not_ours.go"), generated)
	files := map[string][]byte{
		"same.go":    []byte(generated),
		"old.go":     []byte(generated + "// new\n"),
		"new/new.go": []byte(generated),
	}
	o, err := goOutput(dir, files, []string{"gone/sub.go", "../outside.go", "user.go"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range o.changes {
		rel, err := filepath.Rel(dir, c.path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.verb()+" "+filepath.ToSlash(rel))
	}
	want := []string{"remove gone/sub.go", "remove left.go", "create new/new.go", "update old.go"}
	if !slices.Equal(got, want) || o.same != 1 {
		t.Fatalf("changes %q and %d unchanged, want %q and 1", got, o.same, want)
	}
	diff := o.diff()
	for _, line := range []string{"+// new", "+++ " + os.DevNull, "--- " + os.DevNull} {
		if !strings.Contains(diff, line) {
			t.Errorf("the diff lacks %q:\n%s", line, diff)
		}
	}
	if err := o.write(); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	for name, text := range map[string]string{
		"same.go": generated, "old.go": generated + "// new\n", "new/new.go": generated,
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
		_, err := goOutput(dir, map[string][]byte{name: []byte(generated)}, nil)
		var r *console.Refusal
		if !errors.As(err, &r) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want a refusal that names it", name, err)
		}
	}
}

// TestWrite_isAllOrNothing makes the last rename fail: its target becomes a folder
// that is not empty after the comparison.
func TestWrite_isAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.go"), generated)
	writeFile(t, filepath.Join(dir, "b.go"), generated)
	o, err := goOutput(dir, map[string][]byte{
		"a.go":       []byte(generated + "// 2\n"),
		"fresh/c.go": []byte(generated),
		"z.go":       []byte(generated),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "z.go", "in the way"), "")
	before := tree(t, dir)
	err = o.write()
	if err == nil || !strings.Contains(err.Error(), "z.go") {
		t.Fatalf("error %v, want one that names z.go", err)
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
	o := &output{changes: []change{
		{path: filepath.Join(dir, "good", "a.go"), new: []byte(generated)},
		{path: filepath.Join(dir, "file", "b.go"), new: []byte(generated)},
	}}
	err := o.write()
	if err == nil || !strings.Contains(err.Error(), "cannot write to the folder") {
		t.Fatalf("error %v, want one about the folder", err)
	}
	if got := tree(t, dir); len(got) != 1 {
		t.Errorf("files after the failure: %v, want only the first one", got)
	}
}

func TestPackageName(t *testing.T) {
	for file, want := range map[string]string{
		"libgarden.so": "garden", "./build/libtvm_ffi_testing.so.1": "tvmffitesting",
		"func.dll": "libfunc", "123.so": "lib", "Größe.so": "gre", "main.so": "libmain", "9lives.dylib": "lives",
	} {
		if got := packageName(file); got != want {
			t.Errorf("packageName(%q) = %q, want %q", file, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "a.b", true}, {"b", "a.b", true}, {"c", "a.b", false},
		{"a.*", "a.b", true}, {"*", "a.b", true}, {"?.c", "a.b", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}
