//go:build bindings

package main

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestRun does what the program does. Nothing of Python comes into the process.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"B[v_i] = A[v_i] * T.float32(2.0) + T.float32(1.0)",
		"has replaced 1 product by a sum",
		"B[v_i] = A[v_i] + A[v_i] + T.float32(1.0)",
		"makes [3 5 7 9] of [1 2 3 4]",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q, but:\n%s", want, &out)
		}
	}
	maps := mapped(t)
	if !strings.Contains(maps, "libtvm_compiler.so") {
		t.Errorf("the list of mapped files is wrong, it has no libtvm_compiler.so:\n%s", maps)
	}
	if strings.Contains(maps, "libpython") {
		t.Errorf("Python is in the process:\n%s", maps)
	}
}

// mapped returns the list of the files in the memory of this process.
func mapped(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Fatalf("%s has no list of mapped files; the wheel of TVM that this example uses is for Linux", runtime.GOOS)
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRun_ends(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, new(bytes.Buffer)); err == nil {
		t.Errorf("with a context that has ended the error is %v", err)
	}
}
