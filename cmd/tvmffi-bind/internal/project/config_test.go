package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestFindConfig_link: in a folder that was entered by a link, the configuration is the one
// above the folder itself, which the path with .. opens.
func TestFindConfig_link(t *testing.T) {
	top := t.TempDir()
	inside := filepath.Join(top, "real", "sub")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", ConfigName, "real/go.mod"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(top, "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Skip(err) // Windows may forbid it
	}
	t.Chdir(link)
	if file, err := FindConfig(); err == nil {
		t.Errorf("found %s, which is above the link", file)
	}
	if err := os.WriteFile(filepath.Join(top, "real", ConfigName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err := FindConfig(); err != nil || file != filepath.Join("..", ConfigName) {
		t.Errorf("%s, %v", file, err)
	}
}

// TestReadConfig_mark: some editors put a byte order mark before the text.
func TestReadConfig_mark(t *testing.T) {
	file := filepath.Join(t.TempDir(), ConfigName)
	if err := os.WriteFile(file, []byte("\ufeffpackage: garden\nout: ./garden\nlibraries: [{file: a.so}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadConfig(file); err != nil || c.Package != "garden" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestConfigs: a pattern stands for the configurations of one module.
func TestConfigs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"tvmffi.yaml", "b/tvmffi.yaml", "a/c/tvmffi.yaml", "a/tvmffi.yml", "a/testdata/tvmffi.yaml", "vendor/x/tvmffi.yaml", ".git/tvmffi.yaml", "_old/tvmffi.yaml", "other/go.mod", "other/in/tvmffi.yaml", "go.mod"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{"./...": "a/c/tvmffi.yaml b/tvmffi.yaml tvmffi.yaml", "...": "a/c/tvmffi.yaml b/tvmffi.yaml tvmffi.yaml", "a/...": "a/c/tvmffi.yaml", "./other/...": "other/in/tvmffi.yaml"} {
		all, err := Configs(pattern)
		if got := filepath.ToSlash(strings.Join(all, " ")); err != nil || got != want || !IsPattern(pattern) {
			t.Errorf("%s is %s, %v, want %s", pattern, got, err, want)
		}
	}
	if _, err := Configs("a/testdata/none/..."); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if os.Getuid() > 0 && runtime.GOOS != "windows" { // root reads all folders
		if err := os.Chmod("b", 0); err != nil {
			t.Fatal(err)
		}
		all, err := Configs("./...")
		if !slices.Equal(all, []string{"a/c/tvmffi.yaml", "tvmffi.yaml"}) || err == nil || !strings.Contains(err.Error(), "open b: permission denied: make the folder readable") {
			t.Errorf("a folder that nobody can read: %q, %v", all, err)
		}
		if err := os.Chmod("b", 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove("a/c/tvmffi.yaml"); err != nil {
		t.Fatal(err)
	}
	if _, err := Configs("a/..."); err == nil || err.Error() != "a/... stands for no tvmffi.yaml: name the folder of a module that has some" {
		t.Errorf("a folder without one: %v", err)
	}
}
