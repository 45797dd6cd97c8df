package check_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestGoArguments has the errors of what only Go can pass, and of what no compiler's recorded messages have: optional
// arguments. That the errors are the same in all forms of the arguments is in TestWays.
func TestGoArguments(t *testing.T) {
	use(t)
	m := maker{t}
	g, released := m.f32(8), m.f32(8)
	released.Release()
	gone := m.shape(8)
	gone.Release()
	const (
		one    = "f(a: Tensor([n], float32))"
		shape  = "f(s: Shape([7, n]))"
		tuple  = "f(t: Tuple[Tensor([n], float32), int32])"
		option = "f(o: Optional[Tensor([n], float32)], s: Shape([n]))"
		shapes = "f(o: Optional[Shape([n])], p: Optional[Shape([n])], s: Shape([n]), t: Shape([n]))"
	)
	for _, c := range []struct {
		text string
		args []any
		want string // where %s is the signature
	}{
		{one, []any{released}, "RuntimeError: Invalid value on argument #0 when calling: `%s`, the object was released"},
		{shape, []any{gone}, "RuntimeError: Invalid value on argument #0 when calling: `%s`, the object was released"},
		{tuple, []any{[]any{released, 1}}, "RuntimeError: Invalid value on t[0] in argument #0 when calling: `%s`, the object was released"},
		{option, []any{released, []int64{3}}, "RuntimeError: Invalid value on argument #0 when calling: `%s`, the object was released"},
		{"f(k: uint64)", []any{uint64(math.MaxUint64)}, "ValueError: Invalid value on argument #0 when calling: `%s`, the number does not fit int64"},
		{"f(k: int64)", []any{uint(math.MaxUint64)}, "ValueError: Invalid value on argument #0 when calling: `%s`, the number does not fit int64"},
		{option, []any{g, []int64{3}}, "ValueError: Mismatched s[0] on argument #1 when calling: `%s`, expected to match o.shape[0]"},
		{option, []any{nil, []int64{1 << 40}}, "ValueError: Out of bound s[0] on argument #1 when calling: `%s`, expected to be in int32 range [-2147483648, 2147483647]"},
		{option, []any{1, []int64{3}}, "TypeError: Mismatched type on argument #0 when calling: `%s`, expected Tensor or None"},
		{shapes, []any{nil, []int64{5}, []int64{5}, []int64{6}}, "ValueError: Mismatched t[0] on argument #3 when calling: `%s`, expected to match p[0]"},
		{shapes, []any{nil, nil, []int64{5}, []int64{6}}, "ValueError: Mismatched t[0] on argument #3 when calling: `%s`, expected to match s[0]"},
		{"f(c: Float(nan))", []any{math.NaN()}, "ValueError: Mismatched constexpr value on argument #0 when calling: `%s`, expected nan"},
		{"f(c: Float(0.0))", []any{math.Copysign(0, -1)}, "accepted"},
	} {
		if got, want := text(check.MustCompile(c.text).Check(c.args...)), strings.ReplaceAll(c.want, "%s", c.text); got != want {
			t.Errorf("%s of %v:\ngot  %s\nwant %s", c.text, c.args, got, want)
		}
	}
}

func TestErrorKinds(t *testing.T) {
	c := check.MustCompile("f(k: int8)")
	if err := c.Check("x"); !errors.Is(err, tvmffi.ErrType) {
		t.Error(err)
	}
	if err := c.Check(1000); !errors.Is(err, tvmffi.ErrValue) {
		t.Error(err)
	}
	if _, err := check.New(spec.New("f", nil)); !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "parameter 0 has no name") {
		t.Error(err)
	}
	for _, bad := range []string{"f(", "f(a: int32, a: int32)"} {
		func() {
			defer func() {
				if _, ok := recover().(error); !ok {
					t.Errorf("%s did not panic with an error", bad)
				}
			}()
			check.MustCompile(bad)
		}()
		if c, err := check.Compile(bad); c != nil || !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("Compile(%q) returned %v, %v, want an error of kind ValueError", bad, c, err)
		}
	}
}

// TestValues_none: a name that only an argument uses that is None has no value, whatever the call before was.
func TestValues_none(t *testing.T) {
	use(t)
	var v check.Values
	c := check.MustCompile("f(o: Optional[Shape([m])])")
	for _, dims := range [][]int64{{5}, nil} {
		var arg any
		if dims != nil {
			arg = dims
		}
		if err := c.Bind(&v, arg); err != nil {
			t.Fatal(err)
		}
		if n, ok := v.Int("m"); ok != (dims != nil) || ok && n != 5 {
			t.Errorf("m of %v is %d, %t", dims, n, ok)
		}
	}
}
