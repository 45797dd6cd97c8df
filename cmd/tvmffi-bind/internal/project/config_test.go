package project

import (
	"os"
	"path/filepath"
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
