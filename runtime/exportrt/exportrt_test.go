package exportrt_test

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
)

// number is an exported function without parameters.
func number(name, global string, n int64) exportrt.Function {
	return exportrt.Function{
		Name: name, Global: global, Func: func() int64 { return n },
		Call: func(a *bindrt.Args) error { return bindrt.Return(a, n) },
	}
}

// called calls a global function of number.
func called(t *testing.T, name string) int64 {
	t.Helper()
	f, err := tvmffi.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	v, err := f.Call()
	if err != nil {
		t.Fatal(err)
	}
	n, err := tvmffi.As[int64](v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIncludes: an included package is registered under its own names, once, and stays when
// the package that includes it fails.
func TestIncludes(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	inner := exportrt.Exports{Name: "inner", Prefix: "inner.", Functions: []exportrt.Function{number("one", "", 1), number("two", "elsewhere.two", 2)}}
	outer := exportrt.Exports{Name: "outer", Prefix: "outer.", Functions: []exportrt.Function{number("three", "", 3)}, Includes: []*exportrt.Exports{&inner}}
	wrong := exportrt.Exports{Name: "wrong", Prefix: "outer.", Functions: []exportrt.Function{number("new", "", 4), number("three", "", 4)}, Includes: []*exportrt.Exports{&inner}}
	t.Cleanup(func() {
		for _, name := range []string{"inner.one", "elsewhere.two", "outer.three"} {
			if was, err := tvmffi.Unregister(name); !was || err != nil {
				t.Errorf("%s: %v, %v", name, was, err)
			}
		}
	})
	for range 2 {
		if err := outer.Register(); err != nil {
			t.Fatal(err)
		}
		if err := inner.Register(); err != nil {
			t.Fatal(err)
		}
	}
	const want = "wrong cannot be registered: the global function outer.three already exists"
	if err := wrong.Register(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := tvmffi.Lookup("outer.new"); err == nil {
		t.Error("outer.new was registered in spite of the error")
	}
	for name, n := range map[string]int64{"inner.one": 1, "elsewhere.two": 2, "outer.three": 3} {
		if got := called(t, name); got != n {
			t.Errorf("%s: %d, want %d", name, got, n)
		}
	}

	// One that is included and fails makes all fail.
	taken := exportrt.Exports{Name: "taken", Prefix: "inner.", Functions: []exportrt.Function{number("one", "", 5)}}
	last := exportrt.Exports{Name: "last", Prefix: "last.", Functions: []exportrt.Function{number("one", "", 5)}, Includes: []*exportrt.Exports{&taken}}
	if err := last.Register(); err == nil || !strings.Contains(err.Error(), "taken cannot be registered: the global function inner.one already exists") {
		t.Error(err)
	}
	if _, err := tvmffi.Lookup("last.one"); err == nil {
		t.Error("last.one was registered in spite of the error")
	}
}

// TestSignature: a function reports a signature that no Go func has.
func TestSignature(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	f := number("tensor", "", 0)
	f.Signature = "(DLTensor*, Optional<DLTensor*>, void*) -> None"
	l := exportrt.Exports{Name: "signed", Prefix: "signed.", Functions: []exportrt.Function{f}}
	if err := l.Register(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = tvmffi.Unregister("signed.tensor") }()
	metadata, err := tvmffi.FunctionMetadata("signed.tensor")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ffi.Function", "DLTensor*", "Optional", "void*", "None"} {
		if !strings.Contains(metadata, want) {
			t.Errorf("%s has no %s", metadata, want)
		}
	}
}
