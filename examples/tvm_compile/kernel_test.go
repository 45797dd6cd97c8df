//go:build bindings

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func linked(t *testing.T) string {
	t.Helper()
	cpu, err := thisCPU()
	if err != nil {
		t.Fatal(err)
	}
	m, err := twicePlusOne()
	if err != nil {
		t.Fatal(err)
	}
	library, err := compile(m, cpu)
	if err != nil {
		t.Fatal(err)
	}
	path, err := link(t.Context(), library, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKernel(t *testing.T) {
	path := linked(t)
	for _, n := range []int{1, 7, 1000} {
		numbers, want := make([]float32, n), make([]float32, n)
		for i := range n {
			numbers[i], want[i] = float32(i), 2*float32(i)+1
		}
		got, err := applyFrom(path, numbers)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %v it is %v", numbers, got)
		}
	}
}

// The kernel checks what it is called with.
func TestKernel_refuses(t *testing.T) {
	library, err := tvmffi.LoadModule(linked(t))
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := library.Function(twicePlusOneName)
	if err != nil {
		t.Fatal(err)
	}
	in, err := tvmffi.NewTensor(tvmffi.Int32, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kernel.Call(in, in); !errors.Is(err, tvmffi.ErrType) || !strings.Contains(err.Error(), "A.dtype") {
		t.Errorf("with integers: %v, want a TypeError for the type of A", err)
	}
}

// A program that loads the linked kernel needs nothing of TVM but libtvm_ffi. This test starts itself
// as such a program.
func TestKernel_alone(t *testing.T) {
	const variable = "TVM_COMPILE_KERNEL"
	if path := os.Getenv(variable); path != "" {
		results, err := applyFrom(path, []float32{1, 2})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(mapped(t), "libtvm_compiler") || strings.Contains(mapped(t), "libtvm_runtime") {
			t.Error("TVM is in the process")
		}
		fmt.Println(results)
		return
	}
	alone := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKernel_alone$", "-test.timeout=1m")
	alone.Env = append(os.Environ(), variable+"="+linked(t))
	alone.WaitDelay = time.Minute
	if out, err := alone.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "[3 5]\n") {
		t.Errorf("%v:\n%s", err, out)
	}
}
