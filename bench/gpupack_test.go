//go:build gpupack && linux

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestGPUPack makes a pack and runs it on the fake driver. Only a GPU can run the kernels of the CuTe DSL.
func TestGPUPack(t *testing.T) {
	t.Chdir("..")
	bench, err := newTree(t.Context())
	if err != nil {
		nativetest.Unavailable(t, err)
	}
	dir := filepath.Join(t.TempDir(), "pack")
	if err := bench.pack(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := bench.pack(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a second pack in the folder: %v", err)
	}
	for _, c := range []struct {
		env    []string
		status int
		says   string
	}{
		{nil, 0, "passed: 13\nnot run: cutetest/TestResults"},
		{[]string{"FAKECUDA_INIT=100"}, 1, "FAILED: gputest/TestMemory"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "run"), "-with-fake", "-faults")
		cmd.Env = append(cmd.Environ(), c.env...)
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("%q: status %d, want %d and %q:\n%s", c.env, status, c.status, c.says, out)
		}
	}
}
