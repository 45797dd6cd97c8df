package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModuleAround: the error for a go.mod that cannot be used names the file.
func TestModuleAround(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"module a b\n": "go.mod:1: ", "go 1.26\n": "go.mod does not name a module", "module example.com/a\n\nnewer \"x\"\n": ""} {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := ModuleAround(filepath.Join(dir, "not", "there"))
		if want == "" && (err != nil || m == nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
}
