//go:build orcjit

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"

	"github.com/tvmffi-go/tvmffi/examples/orcjit/orcjit"
)

// start loads orcjit and returns a JIT that the test closes.
func start(t *testing.T) *JIT {
	t.Helper()
	nativetest.StartsCompiler(t)
	nativetest.Compiler(t)
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	library := nativetest.Pinned(t, "apache-tvm-ffi-orcjit").Path("tvm_ffi_orcjit/lib/libtvm_ffi_orcjit.so")
	if err := orcjit.Load(tvmffi.WithFile(library)); err != nil {
		t.Fatal(err)
	}
	jit, err := NewJIT()
	if err != nil {
		t.Fatal(err)
	}
	return jit
}

func TestProgram(t *testing.T) {
	jit := start(t)
	leaktest.Check(t)
	var out bytes.Buffer
	for _, part := range []func() error{
		func() error { return call(t.Context(), jit, &out) },
		func() error { return replace(t.Context(), jit, &out) },
	} {
		if err := part(); err != nil {
			t.Fatal(err)
		}
	}
	const want = `tea costs 2.5
KeyError: nobody sells gold - a key error: true
the mean is 3
every caller has seen version 2
discounted_0.cc does not compile, so version 2 stays
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	jit.Close()
	if _, _, err := jit.Load(t.Context(), native.Code{Name: "late", CPP: []string{discount(1)}}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after Close: %v", err)
	}
}

// TestCycle compiles ten texts and expects a line for each part of the way.
func TestCycle(t *testing.T) {
	jit := start(t)
	defer jit.Close()
	var out bytes.Buffer
	if err := cycle(t.Context(), jit, &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), " ms\n"); got != 3 || !strings.Contains(out.String(), " ns\n") {
		t.Errorf("the table is\n%s", &out)
	}
	t.Log(&out)
}

func TestErrors(t *testing.T) {
	jit := start(t)
	load := func(ctx context.Context, text string) error {
		_, _, err := jit.Load(ctx, native.Code{Name: "bad", CPP: []string{text}, Exports: map[string]string{"bad": ""}})
		return err
	}
	err := load(t.Context(), "double nobody(double x);\ndouble bad(double x) { return nobody(x); }")
	if _, ok := errors.AsType[*LinkError](err); !ok || !errors.Is(err, tvmffi.ErrInternal) || len(err.Error()) > 300 {
		t.Errorf("a function without a definition: %v", err)
	}
	err = load(t.Context(), "double bad(double x) {\n\treturn y;\n}")
	if _, ok := errors.AsType[*native.CompileError](err); !ok || !strings.Contains(err.Error(), "bad_0.cc:2:") {
		t.Errorf("a mistake in line 2: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := load(stopped, fmt.Sprintf("double bad(double x) { return %d; }", time.Now().UnixNano())); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if err := load(t.Context(), "double bad(double x) { return x; }"); err != nil {
		t.Errorf("after the errors: %v", err)
	}
	if _, _, err := NewLive[func(string, string) error](t.Context(), jit, "discounted", discount(1)); err != nil {
		t.Errorf("a type is compared at the call, not before: %v", err)
	}
	jit.Close()
	jit = start(t) // a text that could not be linked leaves nothing behind
	defer jit.Close()
	if err := load(t.Context(), "double bad(double x) { return x; }"); err != nil {
		t.Errorf("in a new session: %v", err)
	}
}

// TestMemory: a session gives back the memory of 200 versions.
func TestMemory(t *testing.T) {
	start(t).Close()
	objects, err := native.BuildObjects(t.Context(), native.Code{Name: "discounted", CPP: []string{discount(1)}, Exports: map[string]string{"discounted": ""}})
	if err != nil {
		t.Fatal(err)
	}
	once := func() {
		jit, err := NewJIT()
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			module, _, err := jit.Load(t.Context(), native.Code{Name: "discounted", Files: objects})
			if err != nil {
				t.Fatal(err)
			}
			f, err := module.Function("discounted")
			if err != nil {
				t.Fatal(err)
			}
			if v, err := f.Call(100.0); err != nil || v.Value() != any(99.0) {
				t.Fatal(v, err)
			}
			f.Release()
		}
		jit.Close()
	}
	once()
	before, files := mappings(t), openFiles(t)
	for range 10 {
		once()
	}
	if after := mappings(t); after > before+10 {
		t.Errorf("%d mappings of memory, then %d", before, after)
	}
	if after := openFiles(t); after > files {
		t.Errorf("%d open files, then %d", files, after)
	}
}

func mappings(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestBindings compares the committed package with the library.
func TestBindings(t *testing.T) {
	start(t).Close()
	cmd := exec.Command(consumer.Tool(t), "gen", "--check")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TVMFFI_LIBRARY") })
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
