package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
)

// TestConsumer_requirements makes a module that uses the runtime alone, as
// generated code does, and counts what its go.mod requires then.
func TestConsumer_requirements(t *testing.T) {
	const most = 4 // this one, purego, x/sys, float16
	root, dir := repository(t), t.TempDir()
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": fmt.Sprintf("module example.com/consumer\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %[1]s => %q\n", self, root),
		"go.sum": string(sums),
		"main.go": fmt.Sprintf(`package main

import (
	tvmffi "%s/runtime"
	bindrt "%[1]s/runtime/bindrt"
)

const _ = bindrt.Generation1

func main() { _ = tvmffi.Load() }
`, self),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "mod", "tidy")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), consumer.Offline(t)...)
	cmd.Env = append(cmd.Env, "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(mod.Require); n == 0 || n > most {
		t.Errorf("a consumer of the runtime requires %d modules, at most %d are allowed:\n%s", n, most, text)
	}
}
