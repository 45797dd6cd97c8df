//go:build tvm

package main

import (
	"bytes"
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
		"main(x, w1, b1, w2, b2, w3, b3)\n", "scores: float32[2, 3]@cpu:0\n[[-0.3409, -0.5267, -0.2283],\n [-0.2522, -0.5032, -0.2916]]\n",
		"hidden layer: float32[2, 16]@cpu:0\n", "\nrelu     2 calls", "\nrefused: vm: call main: ValueError: ", "param=x",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

// networkFile returns the exported network.
func networkFile(t *testing.T) string {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	return nativetest.Model(t, "testdata/mlp.py")
}
