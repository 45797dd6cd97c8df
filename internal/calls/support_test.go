package calls_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/machinetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

var loadOnce nativetest.Once

func load(t testing.TB) {
	t.Helper()
	loadOnce.Do(t, func() {
		library, calls := nativetest.Library(t), nativetest.Build(t, "calls")
		if err := libraries.OpenCore(&find.Options{Core: library}); err != nil {
			t.Fatal(err)
		}
		if err := libraries.OpenFile(calls); err != nil {
			t.Fatal(err)
		}
	})
	if !capi.Attached() {
		t.Fatal("the libraries did not load")
	}
}

// inPlace skips a test where this path does not build arrays in place.
func inPlace(t *testing.T) {
	load(t)
	if ccall.ReleaseArray() == 0 {
		t.Skip("without assembly no array is built in place")
	}
}

func fn(name string) *calls.Func { return &calls.Func{Name: "calls." + name} }

var (
	fnAddOne   = fn("add_one")
	fnScale    = fn("scale")
	fnNegate   = fn("negate")
	fnLength   = fn("length")
	fnConcat   = fn("concat")
	fnText     = fn("text")
	fnString   = fn("echo_string")
	fnBytes    = fn("echo_bytes")
	fnApply    = fn("apply")
	fnRepeat   = fn("repeat")
	fnOnThread = fn("repeat_on_thread")
	fnThreads  = fn("repeat_on_threads")
	fnFail     = fn("fail")
	fnBox      = fn("box")
	fnNop3     = fn("nop3_objects")
	fnTensors  = fn("nop3_tensors")
	fnSum      = fn("sum")
	fnSum32    = fn("sum32")
	fnLive     = fn("live")
)

var typeBox = fields.Type{Key: "calls.Box"}

func addOne(x int64) (int64, error) {
	var c calls.Call1
	c.Begin(fnAddOne, 1)
	c.Int(0, x)
	return c.DoInt()
}

// echoText has room for texts of up to 63 bytes in its block.
func echoText(s string) (string, error) {
	var c calls.Call6
	c.Begin(fnString, 1)
	c.String(0, s)
	return c.DoString()
}

func echoBytes(b []byte) ([]byte, error) {
	var c calls.Call2
	c.Begin(fnBytes, 1)
	c.Bytes(0, b)
	return c.DoBytes()
}

func concat(a, b string) (string, error) {
	var c calls.Call12
	c.Begin(fnConcat, 2)
	c.String(0, a)
	c.String(1, b)
	return c.DoString()
}

func newBox(n int64) (*objects.Object, error) {
	var c calls.Call1
	c.Begin(fnBox, 1)
	c.Int(0, n)
	return c.DoObject(&typeBox)
}

// dropGarbage waits until the collector has ended the errors and functions that nobody
// uses; nothing else ends them.
func dropGarbage(t testing.TB) {
	t.Helper()
	machinetest.Settle(func() int64 { return live(t) })
}

func fail(kind, message string) error {
	var c calls.Call12
	c.Begin(fnFail, 2)
	c.String(0, kind)
	c.String(1, message)
	return c.Do()
}

// callback makes a Function of a func from int to int, to be released.
func callback(t testing.TB, f func(x int64) (int64, error)) *objects.Object {
	t.Helper()
	return objects.Own(callbacks.New(func(a *callbacks.Args) error {
		if err := a.Check(1); err != nil {
			return err
		}
		v, err := f(int64(a.Value(0).Bits))
		if err == nil {
			a.Return(abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)})
		}
		return err
	}))
}

// call2 calls f(o, n), which returns an int.
func call2(f *calls.Func, o *objects.Object, n int64) (int64, error) {
	var c calls.Call2
	c.Begin(f, 2)
	c.Object(0, o)
	c.Int(1, n)
	return c.DoInt()
}

// repeat sums f(0) to f(n-1); where says on which thread.
func repeat(where *calls.Func, f *objects.Object, n int64) (int64, error) { return call2(where, f, n) }

func live(t testing.TB) int64 {
	t.Helper()
	var c calls.Call1
	c.Begin(fnLive, 0)
	if err := c.Do(); err != nil {
		t.Fatal(err)
	}
	n, err := c.IntResult()
	if err != nil {
		t.Fatal(err)
	}
	return n
}
