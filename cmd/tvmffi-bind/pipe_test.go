package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestClosedPipe: a reader of the output that ends early, such as head, ends the command without a message and without a signal.
func TestClosedPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "garden.json")
	const text = `{"format": 1, "abi": {"major": 0, "minor": 1, "patch": 15}, "libraries": [{"file": "libtvm_ffi.so", "role": "core"}, {"file": "libgarden.so", "role": "bound"}],
		"functions": [{"name": "garden.alive", "source": "global", "library": "libgarden.so"}], "types": []}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ls", file}, {"ls", "--json", file}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd := exec.Command("tvmffi-bind", args...)
		cmd.Stdout, cmd.Stderr = w, &stderr
		if err := cmd.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%v: %v, %q", args, err, stderr.String())
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
