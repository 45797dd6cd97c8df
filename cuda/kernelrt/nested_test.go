package kernelrt_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	. "github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestCalls calls kernels whose arguments are tuples, shapes and constants, from Go and as other languages do. What the checks say
// to each change of an argument is compared in package testkernels.
func TestCalls(t *testing.T) {
	f := load(t)
	ok(t, Register())
	ok(t, Register()) // a second time, and in TestRegistered
	x, pointer := f32(t, 0, 8), tvmffi.Pointer{Address: 0x1234}
	array := func(items ...any) *tvmffi.Array[any] {
		a, err := tvmffi.NewArray(items...)
		ok(t, err)
		t.Cleanup(a.Release)
		return a
	}
	of := func(name string, args ...any) func() error {
		return func() error {
			fn, err := tvmffi.Lookup("testkernels." + name)
			ok(t, err)
			defer fn.Release()
			_, err = fn.Call(args...)
			return err
		}
	}
	shape := array(8, 4, 3)
	rest := []any{array(-2, array(1.5, nil), nil), 5, array(true, 1.5, nil, true, array(255, 8)), array(x, pointer)}
	data := little(uint64(checktest.Base()), 8)
	nested := "cuLaunchKernel grid=8,3,1 block=64,1,1 shared=0 stream=0 args=" + strings.Join([]string{data, little(64, 4), little(3, 8), "fe",
		little(uint64(math.Float32bits(1.5)), 4), little(0, 8), "01", data, little(0x1234, 8)}, ",") + " extra=0"
	shaped := "cuLaunchKernel grid=7,1,1 block=32,1,1 shared=0 stream=0 args=" + strings.Join([]string{little(7, 4), "c8", data, "fa", little(0, 8)}, ",") + " extra=0"
	for i, c := range []struct {
		call   func() error
		launch string
		want   string // the error, from its beginning
	}{
		{func() error {
			return Nested(x, 64, [3]int64{8, 4, 3}, -2, 1.5, nil, nil, true, [2]int64{255, 8}, x, pointer)
		}, nested, ""},
		{of("nested", append([]any{array(x, 64), shape}, rest...)...), nested, ""},
		{func() error { return Shaped([3]int64{7, 2, 200}, x, 250, tvmffi.Pointer{}) }, shaped, ""},
		{of("shaped", array(7, 2, 200), x, -3, false, nil, math.Inf(1), 0.0, array(250, nil)), shaped, ""},
		{of("axpy", x, x, 2.0), "", "TypeError: Expects 4 parameters when calling: `axpy("},
		{of("nested", append([]any{array(x, 64), array(8, 4, 3.0)}, rest...)...), "", "TypeError: Invalid shape element type s[2] on argument #1 when calling: `nested("},
		{of("shaped", array(7, 2, 200), x, -4, false, nil, math.Inf(1), 0.0, array(250, nil)), "", "ValueError: Mismatched constexpr value on argument #2 when calling: `shaped("},
	} {
		f.calls()
		err := c.call()
		calls := f.calls()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("call %d: %v, want %q", i, err, c.want)
		}
		if launched := slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "cuLaunch") }); launched != (c.launch != "") || launched && !slices.Contains(calls, c.launch) {
			t.Errorf("call %d: calls\n%s\nwant %s", i, strings.Join(calls, "\n"), c.launch)
		}
	}
}
