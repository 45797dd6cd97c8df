package ccall_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// core has C functions of libtvm_ffi. Package capi, which has them all, stands on ccall.
var core struct{ functionCall, functionGetGlobal, decRef uintptr }

var loadOnce nativetest.Once

// load prepares the crossings for libtvm_ffi, as package capi does, and loads the library of testdata/calls.
func load(t testing.TB) {
	t.Helper()
	loadOnce.Do(t, func() {
		path, calls := nativetest.Library(t), nativetest.Build(t, "calls")
		library, err := dynlib.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		symbol := func(name string) uintptr {
			address, err := library.Symbol(name)
			if err != nil {
				t.Fatal(err)
			}
			return address
		}
		core.functionCall, core.functionGetGlobal = symbol("TVMFFIFunctionCall"), symbol("TVMFFIFunctionGetGlobal")
		core.decRef = symbol("TVMFFIObjectDecRef")
		ffi := library
		if runtime.GOOS == "windows" { // a DLL does not have the symbols of those that it needs
			if library, err = dynlib.Open("ucrtbase.dll"); err != nil {
				t.Fatal(err)
			}
		}
		ccall.SetAllocator(symbol("malloc"), symbol("free"))
		library = ffi
		ccall.Init(symbol("TVMFFIErrorMoveFromRaised"), core.decRef)
		ccall.CatchThrown(library.Symbol)
		ccall.ReportFaults()
		ccall.SetCallback(func(*ccall.CallbackFrame) { panic("C called Go") })
		if _, err := dynlib.Open(calls); err != nil {
			t.Fatal(err)
		}
	})
	if core.decRef == 0 {
		t.Fatal("the libraries did not load")
	}
}

// function returns a global function after load.
func function(t testing.TB, name string) (handle uintptr) {
	t.Helper()
	load(t)
	out, text := new(uintptr), append([]byte(name), 0)
	key := &abi.ByteArray{Data: uintptr(unsafe.Pointer(&text[0])), Size: uintptr(len(name))}
	rc, _, _ := purego.SyscallN(core.functionGetGlobal, uintptr(unsafe.Pointer(key)), uintptr(unsafe.Pointer(out)))
	runtime.KeepAlive(text)
	if rc != 0 || *out == 0 {
		t.Fatal(name, rc, *out)
	}
	return *out
}

// drop ends a reference to an object.
func drop(handle uint64) { purego.SyscallN(core.decRef, uintptr(handle)) }

// cell returns what follows the header of an object.
func cell[T any](handle uint64) *T {
	address := uintptr(handle) + abi.ObjectSize
	return *(**T)(unsafe.Pointer(&address))
}

// goString copies a text in C memory.
func goString(s abi.ByteArray) string {
	return string(unsafe.Slice(*(**byte)(unsafe.Pointer(&s.Data)), s.Size))
}
