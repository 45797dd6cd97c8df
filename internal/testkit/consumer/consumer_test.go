package consumer

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// A module outside the repository builds a program on it, without the network.
func TestModule(t *testing.T) {
	m := New(t, "example.test/user")
	m.Write("main.go", []byte(`package main

import (
	"fmt"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func main() { fmt.Println(tvmffi.Float32) }
`))
	if got := m.Run("go", "run", "."); got != "float32\n" {
		t.Errorf("the program printed %q, want float32", got)
	}
	if got := strings.Fields(m.Run("go", "env", "GOPROXY", "GOSUMDB", "GOWORK")); !slices.Equal(got, []string{"off", "off", "off"}) {
		t.Errorf("GOPROXY, GOSUMDB and GOWORK are %q, want off", got)
	}
	m.Run("go", "mod", "tidy")
	if text := m.Read("go.mod"); !strings.HasPrefix(text, "module example.test/user\n") || !strings.Contains(text, Self) {
		t.Errorf("go.mod after go mod tidy:\n%s", text)
	}
	m.Write("folder/copy.go", nil)
	m.Copy(filepath.Join(m.Dir, "main.go"), "folder/copy.go")
	if m.Read("folder/copy.go") != m.Read("main.go") {
		t.Error("the copy of a file differs from the file")
	}
	cmd := m.Command(t.Context(), []string{"GOPROXY=direct"}, "go", "env", "GOPROXY")
	if out, err := cmd.Output(); err != nil || string(out) != "direct\n" {
		t.Errorf("GOPROXY of a command that sets it is %q, %v; want direct", out, err)
	}
	if got := m.Bind("--help"); !strings.Contains(got, "tvmffi-bind") {
		t.Errorf("tvmffi-bind --help printed:\n%s", got)
	}
}

// TestWatched: a folder that gets its first package is watched, too.
func TestWatched(t *testing.T) {
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*/*.go", "*/*/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			rel, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			folder, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
			// Programs outside the repository use none of the others.
			if !strings.HasPrefix(folder, ".") && folder != "bench" && folder != "examples" && !slices.Contains(watched, folder) {
				t.Errorf("%s is not in a folder that is watched: add %s", rel, folder)
			}
		}
	}
}
