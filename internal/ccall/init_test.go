//go:build linux && (amd64 || arm64) && !tvmffi_portable

package ccall_test

import (
	"errors"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestCatchThrown_withoutMemory: the unwinder gets nothing if C has no memory.
func TestCatchThrown_withoutMemory(t *testing.T) {
	load(t)
	h, err := dynlib.Open(nativetest.Library(t))
	if err != nil {
		t.Fatal(err)
	}
	zero, err := purego.Dlsym(purego.RTLD_DEFAULT, "sched_yield") // takes nothing and returns 0
	if err != nil {
		t.Fatal(err)
	}
	malloc, free := ccall.Allocator()
	defer ccall.SetAllocator(malloc, free)
	// Nor if the unwinder is missing.
	ccall.CatchThrown(func(name string) (uintptr, error) {
		if name == "__register_frame" {
			return 0, errors.New("missing")
		}
		return h.Symbol(name)
	})
	ccall.SetAllocator(zero, zero)
	if at := ccall.Allocate(8); at != 0 {
		t.Fatalf("memory at %x", at)
	}
	ccall.CatchThrown(h.Symbol) // and all functions are there for the tests that follow
}

// TestThreadsAreBound: the threads of C++ keep what Go gave them until they end. Without
// it each callback costs a microsecond more.
func TestThreadsAreBound(t *testing.T) {
	load(t)
	if got, want := ccall.Bound(), ccall.Binds; got != want {
		t.Errorf("threads are bound: %t, want %t", got, want)
	}
}
