package kernelrt_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const (
	nestedText = "nested(p: Tuple[x: Tensor([n % 2], float32), k: int32], s: Shape([n, 4, m: int64]), t: Tuple[int8, Tuple[float32, Stream], Optional[Tensor([m], int8)]], c: Int(5), d: Tuple[Bool(True), Float(1.5), None, bool, Shape([_: uint8, n])], u: Tuple[y: Optional[Tensor([n], float32)], q: DataPointer])"
	shapedText = "shaped(s: Shape([a, 2, b: uint8]), x: Tensor([_], float32), c: Int(-3), d: Bool(False), e: None, f: Float(inf), g: Float(-0.0), t: Tuple[uint8, z: handle])"
)

// TestNested launches kernels whose arguments are tuples, shapes and constants, from Go.
func TestNested(t *testing.T) {
	f := load(t)
	x, y := f32(t, 0, 8), f32(t, 0, 8)
	bytes := tensor(t, tvmffi.CUDA(0), tvmffi.Int8, []int64{1 << 33})
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
		{x, [3]int64{8, 5, 3}, nil, [2]int64{0, 8}, "Mismatched s[1] on argument #1"},
		{x, [3]int64{8, 4, 3}, y, [2]int64{0, 8}, "expected dtype=int8"},
		{x, [3]int64{8, 4, 3}, bytes, [2]int64{0, 8}, "Mismatched t[2].shape[0] on t[2] in argument #2"},
		{x, [3]int64{8, 4, 3}, nil, [2]int64{256, 8}, "Out of bound d[4][0] on d[4] in argument #4"},
		{x, [3]int64{8, 4, 3}, nil, [2]int64{0, 9}, "Mismatched d[4][1] on d[4] in argument #4"},
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

// TestNestedCalls calls the same kernels as other languages do.
func TestNestedCalls(t *testing.T) {
	f := load(t)
	ok(t, Register())
	x := f32(t, 0, 8)
	array := func(items ...any) *tvmffi.Array[any] {
		a, err := tvmffi.NewArray(items...)
		ok(t, err)
		t.Cleanup(a.Release)
		return a
	}
	shape := func(sizes ...int64) *tvmffi.Shape {
		s, err := tvmffi.NewShape(sizes...)
		ok(t, err)
		t.Cleanup(s.Release)
		return s
	}
	nested := func(i int, v any) []any {
		args := []any{array(x, 64), shape(8, 4, 3), array(-2, array(1.5, nil), nil), 5, array(true, 1.5, nil, true, shape(0, 8)), array(nil, tvmffi.Pointer{Address: 8})}
		if i >= 0 {
			args[i] = v
		}
		return args
	}
	shaped := func(i int, v any) []any {
		args := []any{shape(7, 2, 200), x, -3, false, nil, math.Inf(1), 0.0, array(250, nil)}
		if i >= 0 {
			args[i] = v
		}
		return args
	}
	calls := map[string][][]any{
		"nested": {
			nested(-1, nil), nested(1, array(8, 4, 3)), {}, nested(-1, nil)[1:], nested(0, 5), nested(0, nil), nested(0, array(x)), nested(0, array(x, 64, 1)),
			nested(0, shape(1, 2)), nested(0, array(1, 64)), nested(0, array(x, 1.5)), nested(0, array(x, int64(1)<<31)), nested(0, array(f32(t, 0, 7), 64)), nested(1, x),
			nested(1, shape(8, 4)), nested(1, array(8, 4, 3.0)), nested(1, array(8, true, 3)), nested(1, shape(8, 3, 3)), nested(1, array(9, 4, 3)), nested(2, array(-2, 1.5, nil)),
			nested(2, array(-2, array(1.5), nil)), nested(2, array(-129, array(1.5, nil), nil)), nested(2, array(0, array("x", nil), nil)), nested(2, array(0, array(1, "s"), nil)),
			nested(2, array(0, array(1, 0), x)), nested(2, array(0, array(1, 0), 1)), nested(3, 6), nested(3, 5.0), nested(3, true), nested(4, array(false, 1.5, nil, true, shape(0, 8))),
			nested(4, array(true, 2.5, nil, true, shape(0, 8))), nested(4, array(true, 1, nil, true, shape(0, 8))), nested(4, array(true, 1.5, 0, true, shape(0, 8))), nested(4, array(1, 1.5, nil, true, shape(0, 8))),
			nested(4, array(true, 1.5, nil, 200, shape(0, 8))), nested(4, array(true, 1.5, nil, true, shape(0, 9))), nested(4, array(true, 1.5, nil, true, array(-1, 8))),
			nested(5, array(f32(t, 0, 9), nil)), nested(5, array(x, 1.5)), nested(5, array(f32(t, 1, 8), nil)),
		},
		"shaped": {
			shaped(-1, nil), shaped(0, shape(7, 3, 0)), shaped(0, shape(int64(1)<<31, 2, 0)), shaped(0, shape(0, 2, 256)), shaped(0, array(0, 2, "x")), shaped(1, nil), shaped(2, -4), shaped(2, nil), shaped(3, true),
			shaped(3, 0), shaped(4, 0), shaped(5, math.Inf(-1)), shaped(5, math.NaN()), shaped(5, 1), shaped(6, math.Copysign(0, -1)), shaped(6, 1.0), shaped(7, array(256, nil)), shaped(7, array(1, 5)), shaped(7, array(1)),
		},
	}
	wrong := 0
	for name, text := range map[string]string{"nested": nestedText, "shaped": shapedText} {
		fn, err := tvmffi.Lookup("testkernels." + name)
		ok(t, err)
		checker := check.MustCompile(text)
		for i, args := range calls[name] {
			want := checker.Check(args...)
			_, got := fn.Call(args...)
			var w, g *tvmffi.Error
			if want == nil && got == nil {
				continue
			}
			if !errors.As(want, &w) || !errors.As(got, &g) || w.Kind != g.Kind || w.Message != g.Message {
				t.Errorf("%s, call %d %v:\n%v\nwant\n%v", name, i, args, got, want)
			}
			wrong++
		}
		fn.Release()
	}
	if wrong < 55 {
		t.Errorf("only %d wrong calls", wrong)
	}
	launches := 0
	data := little(uint64(base()), 8)
	want := "args=" + strings.Join([]string{data, little(64, 4), little(3, 8), "fe", little(uint64(math.Float32bits(1.5)), 4), little(0, 8), "01", little(0, 8), little(8, 8)}, ",")
	for _, call := range f.calls() {
		if strings.HasPrefix(call, "cuLaunchKernel grid=8,3,1") {
			launches++
			if !strings.Contains(call, want) {
				t.Errorf("%s\nwant %s", call, want)
			}
		}
	}
	if launches != 2 {
		t.Errorf("%d launches of nested, want 2", launches)
	}
}
