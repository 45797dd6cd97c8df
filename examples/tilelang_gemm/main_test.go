//go:build bindings

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// TestRun does what the program does. Nothing of Python comes into the process.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, problem{m: 64, n: 32, k: 48, tile: 16, tileK: 8}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`A_tile = T.sblock_alloc_buffer((16, 8), scope="local")`,
		"for step in range(6):",
		"T.copy(T.region(A[by * 16, step * 8], 1, 16, 8), ",
		"int32_t gemm_kernel(float* A, float* B, float* C) {",
		"equal to that of Go",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q, but:\n%s", want, &out)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(maps, []byte("libpython")) {
		t.Errorf("Python is in the process:\n%s", maps)
	}
}

// TestProduct compares the products of tile programs with Go's, for problems in which
// rows, columns and tiles differ.
func TestProduct(t *testing.T) {
	for _, p := range []problem{
		{m: 8, n: 8, k: 8, tile: 8, tileK: 8}, // one program, one step
		{m: 64, n: 16, k: 24, tile: 16, tileK: 8},
		{m: 16, n: 80, k: 6, tile: 16, tileK: 3},
		{m: 128, n: 64, k: 192, tile: 64, tileK: 64}, // the largest tiles
	} {
		f := built(t, p)
		for collected := int64(-1); collected != memstat.Collected(); runtime.GC() {
			collected = memstat.Collected() // the expressions of the description are left to the collector
		}
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			leaktest.Check(t)
			a, b := matrices(p)
			got, err := product(f, p, a, b)
			if err != nil {
				t.Fatal(err)
			}
			if want := inGo(p, a, b); !slices.Equal(got, want) {
				t.Errorf("the product is\n%v\nwant\n%v", got, want)
			}
		})
	}
}

// TestMemory requires that memory settles: programs that were described and lowered leave nothing
// behind. Whenever a thread that is new to the allocator of C does the work, memory grows by 40 MB,
// so one of the rounds has to keep its size. 20 programs that are kept take 700 KiB.
func TestMemory(t *testing.T) {
	runtime.LockOSThread() // TileLang keeps 40 MB for each thread that has lowered a program
	defer runtime.UnlockOSThread()
	p := problem{m: 64, n: 64, k: 64, tile: 32, tileK: 16}
	const rounds = 8
	before := 0
	for i := range rounds {
		for range 20 {
			program, err := gemm(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := source(program); err != nil {
				t.Fatal(err)
			}
		}
		for collected := int64(-1); collected != memstat.Collected(); runtime.GC() {
			collected = memstat.Collected()
		}
		after := resident(t)
		if i > 0 && after <= before+256 {
			return
		}
		before = after
	}
	t.Errorf("each of %d rounds of 20 programs grows by more than 256 KiB, at last to %d KiB", rounds, before)
}

// resident returns the memory of this process in KiB.
func resident(t *testing.T) (kib int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// built returns the compiled tile program of a problem, which the test releases.
func built(t *testing.T, p problem) *tvmffi.Function {
	t.Helper()
	program, err := gemm(p)
	if err != nil {
		t.Fatal(err)
	}
	kernel, host, err := source(program)
	if err != nil {
		t.Fatal(err)
	}
	f, err := compile(t.Context(), kernel, host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f
}

// TestRefused: the function of a program checks its tensors, and the program its sizes.
func TestRefused(t *testing.T) {
	p := problem{m: 16, n: 16, k: 16, tile: 16, tileK: 16}
	f := built(t, p)
	other := p
	other.m = 32
	a, b := matrices(other)
	if _, err := product(f, other, a, b); !errors.Is(err, tvmffi.ErrRuntime) || !strings.Contains(err.Error(), "A shape[0]") {
		t.Errorf("a matrix of 32 rows: %v", err)
	}
	for _, p := range []problem{
		{m: 0, n: 16, k: 16, tile: 16, tileK: 16},
		{m: 16, n: 24, k: 16, tile: 16, tileK: 16},
		{m: 16, n: 16, k: 16, tile: 16, tileK: 0},
		{m: 128, n: 128, k: 16, tile: 128, tileK: 16},
		{m: 1 << 20, n: 16, k: 16, tile: 16, tileK: 16},
	} {
		if _, err := gemm(p); err == nil || !strings.Contains(err.Error(), "that divide them") {
			t.Errorf("%+v: %v", p, err)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := compile(stopped, "int x;", "int y;"); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
