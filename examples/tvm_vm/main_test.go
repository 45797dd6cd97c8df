//go:build tvm

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// TestRun runs the program. TestCalls of package vm compares the network with Python.
func TestRun(t *testing.T) {
	model := networkFile(t)
	var out bytes.Buffer
	if err := run(&out, model); err != nil { // loads what stays loaded
		t.Fatal(err)
	}
	leaktest.Check(t)
	out.Reset()
	if err := run(&out, model); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"main(x: R.Tensor((n, 4)", "scores: float32[2, 3]@cpu:0\n[[-0.3409, -0.5267, -0.2283],\n [-0.2522, -0.5032, -0.2916]]\n",
		"hidden layer: float32[2, 16]@cpu:0\n", "\nrelu     2 calls", "\nrefused: vm: call main: ValueError: ", "param=x",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

// TestGenerated compares package mlp with what vmgen writes.
func TestGenerated(t *testing.T) {
	nativetest.StartsCompiler(t)
	model := filepath.Join(t.TempDir(), "mlp.so")
	b, err := os.ReadFile(networkFile(t))
	if err == nil {
		err = os.WriteFile(model, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mlp", "mlp.go")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "github.com/tvmffi-go/tvmffi/tvm/vm/vmgen", "-o", file, model).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("mlp/mlp.go")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("mlp/mlp.go is not what vmgen writes, %v:\n%s", err, got)
	}
}

// networkFile returns the exported network.
func networkFile(t *testing.T) string {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	return nativetest.Model(t, "testdata/mlp.py")
}
