//go:build e2e

package packaging

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestBuild_trim builds a library without the folders of this machine. The second one is a copy: it needs no source.
func TestBuild_trim(t *testing.T) {
	nativetest.StartsCompiler(t)
	main := t.TempDir()
	source := filepath.Join(main, "main.go")
	for file, text := range map[string]string{"go.mod": "module example.com/lib\n\ngo 1.24\n", "main.go": "package main\n\nimport \"C\"\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(main, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	b := Build{Target: Host, Trim: true, Made: map[bool]string{}}
	var first []byte
	for _, name := range []string{"first.so", "second.so"} {
		file := filepath.Join(t.TempDir(), name)
		if err := b.Library(t.Context(), main, file); err != nil {
			t.Fatal(err)
		}
		library, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range append(strings.Fields(string(roots)), main) {
			if bytes.Contains(library, []byte(dir)) {
				t.Errorf("%s contains the folder %s", name, dir)
			}
		}
		if first != nil && !bytes.Equal(library, first) {
			t.Errorf("%s differs from the first library", name)
		}
		first = library
		_ = os.Remove(source)
	}
}
