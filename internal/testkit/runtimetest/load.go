package runtimetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Calls is the library of testdata/calls.cc, which [Load] loads.
var Calls = bindrt.Library{Files: []bindrt.File{{Name: "libcalls.so"}}}

var loadOnce, tensorsOnce, defineOnce nativetest.Once

// Load loads the libraries of the tests into this process: libtvm_ffi, its testing
// library and [Calls].
func Load(t testing.TB) {
	t.Helper()
	loadOnce.Do(t, func() {
		library, callsPath := nativetest.Library(t), nativetest.Build(t, "calls")
		if err := tvmffi.Load(tvmffi.WithLibrary(library)); err != nil {
			t.Fatal(err)
		}
		if err := tvmffi.LoadLibrary(nativetest.Testing(t)); err != nil {
			t.Fatal(err)
		}
		if err := bindrt.Load(&Calls, tvmffi.WithFile(callsPath)); err != nil {
			t.Fatal(err)
		}
	})
	if !capi.Attached() {
		t.Fatal("the libraries did not load")
	}
}

// LoadTensors is [Load] and loads the library of testdata/tensors.cc too.
func LoadTensors(t testing.TB) {
	t.Helper()
	Load(t)
	tensorsOnce.Do(t, func() {
		if err := tvmffi.LoadLibrary(nativetest.Build(t, "tensors")); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := tvmffi.Lookup("tensors.sum"); err != nil {
		t.Fatal(err)
	}
}

// LoadDefine is [Load] and loads the library of testdata/define.cc too, which uses
// types that are defined in Go.
func LoadDefine(t testing.TB) {
	t.Helper()
	Load(t)
	defineOnce.Do(t, func() {
		if err := tvmffi.LoadLibrary(nativetest.Build(t, "define")); err != nil {
			t.Fatal(err)
		}
	})
}

// NeedFunctions skips the test if the loaded libtvm_ffi is older than one of the
// global functions.
func NeedFunctions(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		f, err := tvmffi.Lookup(name)
		if err != nil {
			t.Skipf("the loaded libtvm_ffi has no %s", name)
		}
		f.Release()
	}
}

// Older reports whether the loaded libtvm_ffi is older than version. If it is, err
// must say so.
func Older(t testing.TB, version string, err error) bool {
	t.Helper()
	loaded := nativetest.Version()
	minor := func(v string) int {
		n := 0
		for _, c := range strings.Split(v, ".")[2] {
			n = 10*n + int(c-'0')
		}
		return n
	}
	if minor(loaded) >= minor(version) {
		return false
	}
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "this needs "+version+" or newer") {
		t.Errorf("with libtvm_ffi %s the error is %v, want one that needs %s or newer", loaded, err, version)
	}
	return true
}
