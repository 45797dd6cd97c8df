package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClosedPipe: a reader of the output that ends early, such as head, ends the command without a message and without a
// signal. What else fails is still an error.
func TestClosedPipe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "garden.json")
	const text = `{"format": 1, "abi": {"major": 0, "minor": 1, "patch": 15}, "libraries": [{"file": "libtvm_ffi.so", "role": "core"}, {"file": "libgarden.so", "role": "bound"}],
		"functions": [{"name": "garden.alive", "source": "global", "library": "libgarden.so"}], "types": []}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ls", file}, 0, ""},
		{[]string{"ls", "--json", file}, 0, ""},
		{[]string{"gen", "--from", file, "--package", "garden", "--out", "garden", "--dry-run", "--report", filepath.Join(dir, "none", "report.json")}, 2, "cannot write "},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd := exec.Command("tvmffi-bind", c.args...)
		cmd.Stdout, cmd.Stderr = w, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != c.code || !strings.Contains(stderr.String(), c.want) || c.want == "" && stderr.Len() > 0 {
			t.Errorf("%v: %v, %q, want code %d and %q", c.args, err, stderr.String(), c.code, c.want)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
