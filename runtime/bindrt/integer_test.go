package bindrt_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// same returns a function of the library's ints: it returns its argument.
func same(t testing.TB) *tvmffi.Function {
	t.Helper()
	nativetest.Library(t)
	f, err := tvmffi.FuncOf(func(n int64) int64 { return n })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f
}

// call makes a call with an int and returns what do makes of the result.
func call[T any](f *tvmffi.Function, n int64, do func(*bindrt.Call) (T, error)) (T, error) {
	var c bindrt.Call1
	c.BeginFunction(bindrt.Ref(f), 1)
	c.Int(0, n)
	return do(&c.Call)
}

func doInteger[T int8 | uint32 | uint64](c *bindrt.Call) (T, error) {
	v, err := c.DoInt()
	return bindrt.Integer[T](c, v, err)
}

func TestInteger(t *testing.T) {
	f := same(t)
	for n, want := range map[int64]string{
		-128: "", 127: "", -129: "expected an int from -128 to 127, got -129", 1<<40 + 7: "expected an int from -128 to 127, got 1099511627783",
	} {
		got, err := call(f, n, doInteger[int8])
		if want == "" && (err != nil || int64(got) != n) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d as an int8 is %d, %v, want the error %q", n, got, err, want)
		}
	}
	if got, err := call(f, -1, doInteger[uint32]); err == nil {
		t.Errorf("-1 as a uint32 is %d", got)
	}
	// A uint64 of C++ crosses with all its bits.
	if got, err := call(f, -1, doInteger[uint64]); err != nil || got != math.MaxUint64 {
		t.Errorf("the greatest uint64 is %d, %v", got, err)
	}
}

func TestIntegerArg(t *testing.T) {
	nativetest.Library(t)
	var got int32
	take := func(a *bindrt.Args) error {
		got = bindrt.IntegerArg[int32](a, 0)
		if err := a.Check(1); err != nil {
			return err
		}
		return a.ReturnInt(int64(got))
	}
	visit := func(int32) (int32, error) { return got, nil }
	apply, err := tvmffi.FuncOf(func(f *tvmffi.Function, n int64) (int64, error) { return call(f, n, (*bindrt.Call).DoInt) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apply.Release)
	for n, want := range map[int64]string{math.MinInt32: "", math.MaxInt32: "", math.MaxInt32 + 1: "expected an int from -2147483648 to 2147483647, got 2147483648"} {
		var c bindrt.Call2
		c.BeginFunction(bindrt.Ref(apply), 2)
		bindrt.Callback(&c.Call, 0, visit, take)
		c.Int(1, n)
		result, err := c.DoInt()
		if want == "" && (err != nil || result != n) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d as an int32 is %d, %v, want the error %q", n, result, err, want)
		}
	}
}

// TestInteger_allocations: an int of a certain width costs no allocation.
func TestInteger_allocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	nativetest.Library(t)
	hash := bindrt.Func{Library: &bindrt.Library{}, Name: "ffi.StructuralHash"}
	n := testing.AllocsPerRun(100, func() {
		var c bindrt.Call3
		c.Begin(&hash, 3)
		c.Int(0, 1)
		c.Bool(1, false)
		c.Bool(2, false)
		v, err := c.DoInt()
		if _, err := bindrt.Integer[uint64](&c.Call, v, err); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// BenchmarkInteger compares a parameter and a result of int32 with those of int64.
func BenchmarkInteger(b *testing.B) {
	nativetest.Library(b)
	same := bindrt.Func{Library: &bindrt.Library{}, Name: "ffi.StructuralHash"}
	b.Run("int64", func(b *testing.B) {
		for b.Loop() {
			var c bindrt.Call3
			c.Begin(&same, 3)
			c.Int(0, 1)
			c.Bool(1, false)
			c.Bool(2, false)
			_, _ = c.DoInt()
		}
	})
	var n int32 = 1
	b.Run("int32", func(b *testing.B) {
		for b.Loop() {
			var c bindrt.Call3
			c.Begin(&same, 3)
			c.Int(0, int64(n))
			c.Bool(1, false)
			c.Bool(2, false)
			v, err := c.DoInt()
			_, _ = bindrt.Integer[uint64](&c.Call, v, err)
		}
	})
}
