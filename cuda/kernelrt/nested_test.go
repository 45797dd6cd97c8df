package kernelrt_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const (
	axpyText   = "axpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)"
	nestedText = "nested(p: Tuple[x: Tensor([n % 2], float32), k: int32], s: Shape([n, 4, m: int64]), t: Tuple[int8, Tuple[float32, Stream], Optional[Tensor([m], int8)]], c: Int(5), d: Tuple[Bool(True), Float(1.5), None, bool, Shape([_: uint8, n])], u: Tuple[y: Optional[Tensor([n], float32)], q: DataPointer])"
	shapedText = "shaped(s: Shape([a, 2, b: uint8]), x: Tensor([_], float32), c: Int(-3), d: Bool(False), e: None, f: Float(inf), g: Float(-0.0), t: Tuple[uint8, z: handle])"
)

// TestNested launches kernels whose arguments are tuples, shapes and constants, from Go.
func TestNested(t *testing.T) {
	f := load(t)
	x, y := f32(t, 0, 8), f32(t, 0, 8)
	data := little(uint64(base()), 8)
	f.calls()
	ok(t, Nested(x, 64, [3]int64{8, 4, 3}, -2, 1.5, nil, nil, true, [2]int64{255, 8}, y, tvmffi.Pointer{Address: 0x1234}))
	want := "cuLaunchKernel grid=8,3,1 block=64,1,1 shared=0 stream=0 args=" + strings.Join([]string{data, little(64, 4), little(3, 8), "fe", little(uint64(math.Float32bits(1.5)), 4),
		little(0, 8), "01", data, little(0x1234, 8)}, ",") + " extra=0"
	if got := f.calls(); !slices.Contains(got, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	ok(t, Shaped([3]int64{7, 2, 200}, x, 250, tvmffi.Pointer{}))
	want = "cuLaunchKernel grid=7,1,1 block=32,1,1 shared=0 stream=0 args=" + strings.Join([]string{little(7, 4), "c8", data, "fa", little(0, 8)}, ",") + " extra=0"
	if got := f.calls(); !slices.Contains(got, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	// What the checker of the description says to the same arguments.
	released := f32(t, 0, 8)
	released.Release()
	checker := check.MustCompile(nestedText)
	for i, c := range []struct {
		x    *tvmffi.Tensor
		s    [3]int64
		t2   *tvmffi.Tensor
		d4   [2]int64
		want string
	}{
		{x, [3]int64{9, 4, 3}, nil, [2]int64{0, 8}, "Mismatched s[0] on argument #1"},
		{nil, [3]int64{8, 4, 3}, nil, [2]int64{0, 8}, "Mismatched type on p[0] in argument #0"},
		{released, [3]int64{8, 4, 3}, nil, [2]int64{0, 8}, "Invalid value on p[0] in argument #0"},
		{f32(t, 0, 7), [3]int64{7, 4, 3}, nil, [2]int64{0, 7}, "expected to be divisible by 2"},
	} {
		got := Nested(c.x, 1, c.s, 0, 0, nil, c.t2, true, c.d4, nil, tvmffi.Pointer{})
		want := checker.Check([]any{c.x, 1}, c.s[:], []any{0, []any{0.5, nil}, c.t2}, 5, []any{true, 1.5, nil, true, c.d4[:]}, []any{nil, tvmffi.Pointer{}})
		if got == nil || want == nil || got.Error() != want.Error() || !strings.Contains(got.Error(), c.want) {
			t.Errorf("call %d: %v\nwant %v, with %q", i, got, want, c.want)
		}
	}
	if got := f.calls(); len(got) > 0 {
		t.Errorf("calls of the driver in spite of errors: %q", got)
	}
}

// TestCalls calls kernels as other languages do. The errors are those of package check. What the checks say to
// each change of an argument is compared in package testkernels.
func TestCalls(t *testing.T) {
	f := load(t)
	ok(t, Register())
	ok(t, Register()) // a second time, and in TestRegistered
	x, null := f32(t, 0, 8), tvmffi.Pointer{}
	array := func(items ...any) *tvmffi.Array[any] {
		a, err := tvmffi.NewArray(items...)
		ok(t, err)
		t.Cleanup(a.Release)
		return a
	}
	shape := array(8, 4, 3)
	rest := []any{array(-2, array(1.5, nil), nil), 5, array(true, 1.5, nil, true, array(0, 8)), array(nil, tvmffi.Pointer{Address: 8})}
	data := little(uint64(base()), 8)
	for _, c := range []struct {
		text string
		args []any
		want string // of the launch, or of the error
	}{
		{axpyText, []any{x, x, 2, nil}, "args=" + strings.Join([]string{little(8, 4), "00000040", data, data}, ",")},
		{axpyText, []any{x, x, 2.0}, "Expects 4 parameters"},
		{axpyText, []any{x, "y", 2.0, null}, "Mismatched type on argument #1"},
		{axpyText, []any{x, f32(t, 0, 9), 2.0, null}, "Mismatched y.shape[0] on argument #1"},
		{nestedText, append([]any{array(x, 64), shape}, rest...), "args=" + strings.Join([]string{data, little(64, 4), little(3, 8), "fe", little(uint64(math.Float32bits(1.5)), 4),
			little(0, 8), "01", little(0, 8), little(8, 8)}, ",")},
		{nestedText, append([]any{array(x), shape}, rest...), "Mismatched tuple size on argument #0"},
		{nestedText, append([]any{array(x, 64), array(8, 4, 3.0)}, rest...), "Invalid shape element type s[2] on argument #1"},
		{shapedText, []any{array(7, 2, 200), x, -3, false, nil, math.Inf(1), 0.0, array(250, nil)}, "args=" + strings.Join([]string{little(7, 4), "c8", data, "fa", little(0, 8)}, ",")},
		{shapedText, []any{array(7, 2, 200), x, -4, false, nil, math.Inf(1), 0.0, array(250, nil)}, "Mismatched constexpr value on argument #2"},
	} {
		name, _, _ := strings.Cut(c.text, "(")
		fn, err := tvmffi.Lookup("testkernels." + name)
		ok(t, err)
		f.calls()
		_, got := fn.Call(c.args...)
		fn.Release()
		launched := strings.Join(f.calls(), "\n")
		if want := check.MustCompile(c.text).Check(c.args...); want == nil {
			if got != nil || !strings.Contains(launched, c.want) {
				t.Errorf("%s%v: %v\n%s\nwant %s", name, c.args, got, launched, c.want)
			}
			continue
		} else if got == nil || got.Error() != want.Error() || !strings.Contains(got.Error(), c.want) || strings.Contains(launched, "cuLaunch") {
			t.Errorf("%s%v: %v\nwant %v, with %q", name, c.args, got, want, c.want)
		}
	}
}
