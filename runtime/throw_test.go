//go:build linux && (amd64 || arm64) && !tvmffi_portable

package tvmffi_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"

	"github.com/ebitengine/purego"
)

// thrownTypes are what calls.throw_value throws, and their types.
var thrownTypes = map[string]string{"int": "int", "text": "char const*", "class": "calls::Thrown", "string": "tvm::ffi::String"}

func wantThrown(t testing.TB, err error, what string) {
	t.Helper()
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "threw a C++ exception of the type "+thrownTypes[what]+", which TVM-FFI does not pass on")
}

// A C++ exception that TVM-FFI does not catch is an error of the call; what the function
// held is destroyed.
func TestThrown(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Balanced(t)
	for what := range thrownTypes {
		_, err := runtimetest.Call("calls.throw_value", what, func() {})
		wantThrown(t, err, what)
		done := make(chan error)
		go func() { // on a small stack, which moves before the exception
			_, err := runtimetest.Call("calls.throw_value", what, func() { runtimetest.UseStack(2000) })
			done <- err
		}()
		wantThrown(t, <-done, what)
	}
	fn := bindrt.Func{Library: &runtimetest.Calls, Name: "calls.throw_value"} // as generated code calls
	nothing := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {}))
	defer nothing.Release()
	var c bindrt.Call3
	c.Begin(&fn, 2)
	c.String(0, "int")
	c.Object(1, bindrt.Ref(nothing))
	runtimetest.WantError(t, c.Do(), tvmffi.ErrRuntime, "calls.throw_value threw a C++ exception of the type int, which TVM-FFI does not pass on")
	if _, err := runtimetest.Call("calls.add_one", "text"); !errors.Is(err, tvmffi.ErrType) {
		t.Errorf("the next error: %v", err)
	}
}

// Each crossing stops the exception, so none reaches a frame of Go: it is a Go error in
// the callback, and an error of TVM-FFI beyond it.
func TestThrownThroughCallbacks(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Balanced(t)
	var seen []error
	var nested func(depth int) error
	nested = func(depth int) error {
		_, err := runtimetest.Call("calls.throw_value", "class", func() error {
			if depth == 0 {
				return nil
			}
			return nested(depth - 1)
		})
		seen = append(seen, err)
		return err
	}
	wantThrown(t, nested(20), "class")
	if len(seen) != 21 {
		t.Fatalf("%d calls returned", len(seen))
	}
	for _, err := range seen {
		wantThrown(t, err, "class")
	}
	_, err := runtimetest.Call("calls.on_thread", func(int64) error { // a thread that C++ made
		_, err := runtimetest.Call("calls.throw_value", "int", func() {})
		wantThrown(t, err, "int")
		return err
	}, 1)
	wantThrown(t, err, "int")
}

// Exceptions of many threads at once.
func TestThrownConcurrently(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Balanced(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				for what := range thrownTypes {
					_, err := runtimetest.Call("calls.throw_value", what, func() {})
					wantThrown(t, err, what)
				}
			}
		})
	}
	all.Wait()
}

// A constructor and a destructor that throw: the first is an error, and the second, which has
// nobody to tell, keeps nothing else from its end.
func TestThrownByTypes(t *testing.T) {
	runtimetest.Load(t)
	if err := tvmffi.LoadLibrary(nativetest.Build(t, "throws")); err != nil {
		t.Fatal(err)
	}
	typ := bindrt.Type{Key: "throws.Unmade"}
	info, err := typ.Info()
	if err != nil {
		t.Fatal(err)
	}
	_, err = fields.Create(info)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "threw a C++ exception of the type int, which TVM-FFI does not pass on")
	ending := func(throws int) *tvmffi.Object { return runtimetest.Get[*tvmffi.Object](t, "throws.ending", throws) }
	runtime.LockOSThread() // which has the error
	defer runtime.UnlockOSThread()
	ending(1).Release()
	ending(2).Release()
	if n := runtimetest.Get[int64](t, "throws.ended"); n != 2 {
		t.Errorf("%d objects have ended, want 2", n)
	}
	left := new(uintptr)
	if purego.SyscallN(capi.API.ErrorMoveFromRaised, uintptr(unsafe.Pointer(left))); *left != 0 {
		t.Error("the error of a destructor is left on its thread")
	}
	var s tvmffi.Scope
	for i := range 100 {
		s.Add(ending(i % 3))
	}
	s.Release()
	if n := runtimetest.Get[int64](t, "throws.ended"); n != 102 {
		t.Errorf("%d objects have ended, want 102", n)
	}
}
