package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModuleWithoutRuntime checks generated code in a module that does not require the runtime.
func TestModuleWithoutRuntime(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/app\n\ngo 1.26\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"garden/garden.go": []byte("package garden\n\nimport (\n\t_ \"" + runtimePath + "\"\n\t_ \"" + runtimePath + "/bindrt\"\n)\n")}
	err := Check(dir, func([]byte) bool { return false }, files)
	want := "the module example.com/app in " + dir + " cannot import " + runtimePath + ", which generated code needs: run there go get -tool "
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with %q", err, want)
	}
}
