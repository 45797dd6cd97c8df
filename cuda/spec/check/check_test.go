package check_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// handle stands for a *cuda.Stream.
type handle struct{ address uintptr }

func (h *handle) Pointer() tvmffi.Pointer { return tvmffi.Pointer{Address: h.address} }

type wrapped struct{ *tvmffi.Tensor }

// TestGoArguments passes what only Go can pass.
func TestGoArguments(t *testing.T) {
	use(t)
	m := maker{t}
	g := m.f32(8)
	released := m.f32(8)
	released.Release()
	gone := m.shape(8)
	gone.Release()
	ints, err := tvmffi.NewArray[int64](7, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer ints.Release()
	odd := uintptr(4)
	if (base()+odd)%12 == 0 {
		odd = 8
	}
	const (
		one    = "f(a: Tensor([n], float32))"
		tuple  = "f(t: Tuple[Tensor([n], float32), int32])"
		option = "f(o: Optional[Tensor([n], float32)], s: Shape([n]))"
	)
	for _, c := range []struct {
		text string
		args []any
		want string
	}{
		{one, []any{g}, "accepted"},
		{one, []any{(*tvmffi.Tensor)(nil)}, "TypeError: Mismatched type on argument #0 when calling: `f(a: Tensor([n], float32))`, expected Tensor"},
		{one, []any{released}, "RuntimeError: Invalid value on argument #0 when calling: `f(a: Tensor([n], float32))`, the object was released"},
		{one, []any{wrapped{g}}, "accepted"},
		{one, []any{&wrapped{g}}, "accepted"},
		{one, []any{make(chan int)}, "TypeError: Mismatched type on argument #0 when calling: `f(a: Tensor([n], float32))`, expected Tensor"},
		{one, []any{[]float32{1}}, "TypeError: Mismatched type on argument #0 when calling: `f(a: Tensor([n], float32))`, expected Tensor"},
		{one, []any{tvmffi.Float32}, "TypeError: Mismatched type on argument #0 when calling: `f(a: Tensor([n], float32))`, expected Tensor"},
		{one, []any{tvmffi.CPU}, "TypeError: Mismatched type on argument #0 when calling: `f(a: Tensor([n], float32))`, expected Tensor"},
		{one, nil, "TypeError: Expects 1 parameters when calling: `f(a: Tensor([n], float32))`"},
		{"f()", []any{1}, "TypeError: Expects 0 parameters when calling: `f()`"},
		{"f()", nil, "accepted"},
		{"f(a: Tensor([2, n], float32), b: Tensor([n], float32))", []any{m.tensor(tvmffi.Float32, []int64{2, 4}, strides(5, 1)), m.f32(4)},
			"ValueError: Mismatched Tensor on argument #0 when calling: `f(a: Tensor([2, n], float32), b: Tensor([n], float32))`, expected contiguous"},
		{"f(k: int64)", []any{uint64(math.MaxUint64)}, "ValueError: Invalid value on argument #0 when calling: `f(k: int64)`, the number does not fit int64"},
		{"f(k: int64)", []any{uint(math.MaxUint64)}, "ValueError: Invalid value on argument #0 when calling: `f(k: int64)`, the number does not fit int64"},
		{"f(k: uint64)", []any{uint64(math.MaxInt64)}, "accepted"},
		{"f(k: int8 % 3)", []any{int8(4)}, "ValueError: Invalid value on argument #0 when calling: `f(k: int8)`, expected to be divisible by 3"},
		{"f(n: int32, a: Tensor([n], float32))", []any{7, g}, "ValueError: Mismatched a.shape[0] on argument #1 when calling: `f(n: int32, a: Tensor([n], float32))`, expected to match n"},
		{"f(a: Tensor([n], float32), n: int32)", []any{g, 7}, "ValueError: Mismatched value on argument #1 when calling: `f(a: Tensor([n], float32), n: int32)`, expected to match a.shape[0]"},
		{"f(a: Tensor([n], float32, device=cuda:1))", []any{g}, "ValueError: Mismatched device index on argument #0 when calling: `f(a: Tensor([n], float32))`, expected to be 1"},
		{"f(a: Tensor([n], float32, device=cuda:d), b: Tensor([n], float32, device=cuda:e))", []any{g, m.f32(8, on(tvmffi.CUDA(1)))}, "accepted"},
		{"f(a: Tensor([n], float32, align=32))", []any{m.f32(8, shifted(odd))}, "ValueError: Misaligned Tensor data on argument #0 when calling: `f(a: Tensor([n], float32))`, expected data alignment=32 bytes"},
		{"f(s: Stream)", []any{&handle{64}}, "accepted"},
		{"f(s: Stream)", []any{(*handle)(nil)}, "accepted"},
		{"f(s: Stream)", []any{uintptr(64)}, "accepted"},
		{"f(h: handle)", []any{64}, "TypeError: Mismatched type on argument #0 when calling: `f(h: handle)`, expected handle"},
		{"f(h: handle)", []any{tvmffi.Pointer{}}, "accepted"},
		{"f(s: Shape([7, n]))", []any{[]int64{7, 4}}, "accepted"},
		{"f(s: Shape([7, n]))", []any{ints}, "accepted"},
		{"f(s: Shape([7, n]))", []any{[]any{7, 4}}, "accepted"},
		{"f(s: Shape([7, n]))", []any{[]any{7, "x"}}, "TypeError: Invalid shape element type s[1] on argument #0 when calling: `f(s: Shape([7, n]))`, expected int"},
		{"f(s: Shape([7, n]))", []any{[]int64{7}}, "ValueError: Mismatched Shape on argument #0 when calling: `f(s: Shape([7, n]))`, expected shape size=2"},
		{"f(s: Shape([7, n]))", []any{gone}, "RuntimeError: Invalid value on argument #0 when calling: `f(s: Shape([7, n]))`, the object was released"},
		{tuple, []any{[]any{g, 1}}, "accepted"},
		{tuple, []any{[]any{nil, 1}}, "TypeError: Mismatched type on t[0] in argument #0 when calling: `f(t: Tuple[Tensor([n], float32), int32])`, expected Tensor"},
		{tuple, []any{[]any{released, 1}}, "RuntimeError: Invalid value on t[0] in argument #0 when calling: `f(t: Tuple[Tensor([n], float32), int32])`, the object was released"},
		{option, []any{nil, []int64{3}}, "accepted"},
		{option, []any{g, []int64{8}}, "accepted"},
		{option, []any{g, []int64{3}}, "ValueError: Mismatched s[0] on argument #1 when calling: `f(o: Optional[Tensor([n], float32)], s: Shape([n]))`, expected to match o.shape[0]"},
		{option, []any{nil, []int64{1 << 40}}, "ValueError: Out of bound s[0] on argument #1 when calling: `f(o: Optional[Tensor([n], float32)], s: Shape([n]))`, expected to be in int32 range [-2147483648, 2147483647]"},
		{option, []any{1, []int64{3}}, "TypeError: Mismatched type on argument #0 when calling: `f(o: Optional[Tensor([n], float32)], s: Shape([n]))`, expected Tensor or None"},
		{option, []any{released, []int64{3}}, "RuntimeError: Invalid value on argument #0 when calling: `f(o: Optional[Tensor([n], float32)], s: Shape([n]))`, the object was released"},
		{"f(o: Optional[Shape([n])], p: Optional[Shape([n])], s: Shape([n]), t: Shape([n]))", []any{nil, []int64{5}, []int64{5}, []int64{6}},
			"ValueError: Mismatched t[0] on argument #3 when calling: `f(o: Optional[Shape([n])], p: Optional[Shape([n])], s: Shape([n]), t: Shape([n]))`, expected to match p[0]"},
		{"f(o: Optional[Shape([n])], p: Optional[Shape([n])], s: Shape([n]), t: Shape([n]))", []any{nil, nil, []int64{5}, []int64{6}},
			"ValueError: Mismatched t[0] on argument #3 when calling: `f(o: Optional[Shape([n])], p: Optional[Shape([n])], s: Shape([n]), t: Shape([n]))`, expected to match s[0]"},
		{"f(o: Optional[int32], k: Optional[float32])", []any{nil, nil}, "accepted"},
		{"f(o: Optional[int32], k: Optional[float32])", []any{1, "x"}, "TypeError: Mismatched type on argument #1 when calling: `f(o: Optional[int32], k: Optional[float32])`, expected float or None"},
		{"f(c: Float(nan))", []any{math.NaN()}, "ValueError: Mismatched constexpr value on argument #0 when calling: `f(c: Float(nan))`, expected nan"},
		{"f(c: Float(0.0))", []any{math.Copysign(0, -1)}, "accepted"},
	} {
		got := text(check.MustCompile(c.text).Check(c.args...))
		if got != c.want {
			t.Errorf("%s of %v:\ngot  %s\nwant %s", c.text, c.args, got, c.want)
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

func TestValues(t *testing.T) {
	use(t)
	m := maker{t}
	var v check.Values
	if n, ok := v.Int("n"); n != 0 || ok {
		t.Error("a value before a call")
	}
	c := check.MustCompile("f(a: Tensor([n, 4], float32, strides=[s, 1]), k: int32, o: Optional[Shape([m])])")
	a := m.tensor(tvmffi.Float32, []int64{3, 4}, strides(9, 1))
	wants := func(names string, want ...string) {
		t.Helper()
		var got []string
		for _, name := range strings.Fields(names) {
			n, ok := v.Int(name)
			got = append(got, fmt.Sprintf("%d %v", n, ok))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", names, got, want)
		}
	}
	if err := c.Bind(&v, a, 7, nil); err != nil {
		t.Fatal(err)
	}
	wants("n s k m x", "3 true", "9 true", "7 true", "0 false", "0 false")
	if err := c.Bind(&v, a, 8, []int64{5}); err != nil {
		t.Fatal(err)
	}
	wants("n s k m", "3 true", "9 true", "8 true", "5 true")
	if err := c.Bind(&v, a, 8, nil); err != nil {
		t.Fatal(err)
	}
	wants("m", "0 false") // nothing is left of the call before
	// The same Values for a function of the fast way, and for one with many names.
	if err := check.MustCompile("g(m: int32, n: int32)").Bind(&v, 1, 2); err != nil {
		t.Fatal(err)
	}
	wants("n m k", "2 true", "1 true", "0 false")
	var args []any
	for i := range 20 {
		args = append(args, m.f32(int64(i)))
	}
	if err := check.MustCompile(manyText(20)).Bind(&v, args...); err != nil {
		t.Fatal(err)
	}
	wants("n0 n19 n20", "0 true", "19 true", "0 false")
}

// TestPackedOddities passes what only C can pass.
func TestPackedOddities(t *testing.T) {
	var v check.Values
	c := check.MustCompile("f(a: Tensor([n, 2], float32, device=cpu))")
	const expected = "TypeError: Mismatched type on argument #0 when calling: `f(a: Tensor([n, 2], float32))`, expected Tensor"
	if got := text(c.BindPacked(&v, []abi.Any{{TypeIndex: abi.TypeDLTensorPtr}})); got != expected {
		t.Errorf("null pointer: %s", got)
	}
	for _, index := range []abi.TypeIndex{-1, 99, 1 << 30, abi.TypeObjectRValueRef, abi.TypeRawStr} {
		if got := text(c.BindPacked(&v, []abi.Any{{TypeIndex: index, Bits: 1}})); got != expected {
			t.Errorf("index %d: %s", index, got)
		}
	}
	shape := []int64{3, 2}
	d := abi.DLTensor{Device: abi.DLDevice{Type: abi.DLCPU}, NDim: 2, DType: abi.DLDataType(tvmffi.Float32), Shape: addressOf(shape)}
	if err := c.BindPacked(&v, []abi.Any{{TypeIndex: abi.TypeDLTensorPtr, Bits: uint64(addressOf([]abi.DLTensor{d}))}}); err != nil {
		t.Errorf("a tensor without strides: %v", err)
	}
	if n, ok := v.Int("n"); n != 3 || !ok {
		t.Errorf("n is %d, %v", n, ok)
	}
	d.Shape = 0
	const rank = "ValueError: Mismatched Tensor on argument #0 when calling: `f(a: Tensor([n, 2], float32))`, expected ndim=2"
	if got := text(c.BindPacked(&v, []abi.Any{{TypeIndex: abi.TypeDLTensorPtr, Bits: uint64(addressOf([]abi.DLTensor{d}))}})); got != rank {
		t.Errorf("a tensor without a shape: %s", got)
	}
}

// TestFastAgrees makes random calls both ways: what the fast way accepts, the slow
// one must accept, and the other way round where the fast way knows all checks.
func TestFastAgrees(t *testing.T) {
	use(t)
	m := maker{t}
	r := rand.New(rand.NewPCG(1, 2))
	dims := []string{"n", "m", "2", "3", "_", "n", "k: int8 % 2", "_ % 2", "_: int8"}
	devices := []string{"", ", device=cpu", ", device=cuda:1", ", device=cuda:d", ", device=cuda:m"}
	var tensors []*tvmffi.Tensor
	for range 60 {
		shape := make([]int64, r.IntN(3))
		var step []int64
		for i := range shape {
			shape[i] = 1 + int64(r.IntN(4))
			if r.IntN(20) == 0 {
				shape[i] = 1 << 40
			}
			step = append(step, 1+int64(r.IntN(3)))
		}
		changes := []change{shifted(uintptr(r.IntN(3)) * 4), on(tvmffi.CUDA(r.IntN(2)))}
		if r.IntN(4) == 0 {
			changes = append(changes, on(tvmffi.CPU))
		}
		if r.IntN(2) == 0 && len(step) > 0 {
			changes = append(changes, strides(step...))
		}
		tensors = append(tensors, m.tensor([]tvmffi.DataType{tvmffi.Int8, tvmffi.Uint8, tvmffi.Float32}[r.IntN(3)], shape, changes...))
	}
	accepted, refused := 0, 0
	for range 400 {
		var params []string
		list := func(n int) string {
			var s []string
			for range n {
				d := dims[r.IntN(len(dims))]
				s = append(s, d)
			}
			return "[" + strings.Join(s, ", ") + "]"
		}
		var ranks []int
		for i := range 1 + r.IntN(2) {
			rank := r.IntN(3)
			ranks = append(ranks, rank)
			p := fmt.Sprintf("p%d: Tensor(%s, %s", i, list(rank), []string{"int8", "float32"}[r.IntN(2)])
			if r.IntN(2) == 0 && rank > 0 {
				p += ", strides=" + strings.ReplaceAll(list(rank), "3", "1")
			}
			if r.IntN(2) == 0 {
				p += fmt.Sprintf(", align=%d", []int{1, 4, 8}[r.IntN(3)])
			}
			params = append(params, p+devices[r.IntN(len(devices))]+")")
		}
		params = append(params, []string{"n: int32", "x: int8 % 2", "x: float32", "x: Stream", "x: None", "x: Bool(True)"}[r.IntN(6)])
		text := "f(" + strings.Join(params, ", ") + ")"
		c := check.MustCompile(text)
		values := []any{nil, 1, 2, 4, 1000, true, false, 1.5, tvmffi.Pointer{}, "x"}
		for range 300 {
			var args []any
			for _, rank := range ranks {
				x := tensors[r.IntN(len(tensors))]
				for try := 0; x.NDim() != rank && try < 20; try++ {
					x = tensors[r.IntN(len(tensors))]
				}
				args = append(args, x)
			}
			args = append(args, values[r.IntN(len(values))])
			slow := check.Slowly(c, args...)
			if fast := check.Fast(c, args...); fast != (slow == nil) {
				t.Fatalf("%s of %v: the fast way accepts: %v, the slow way: %v", text, args, fast, slow)
			}
			if slow == nil {
				accepted++
			} else {
				refused++
			}
		}
	}
	if accepted < 300 || refused < 300 {
		t.Errorf("%d calls were accepted and %d refused: too few to see anything", accepted, refused)
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
}

func TestConcurrent(t *testing.T) {
	use(t)
	m := maker{t}
	a, b := m.f32(8), m.f32(9)
	c := check.MustCompile("f(a: Tensor([n], float32), o: Optional[Tensor([n], float32)], s: " + "Tuple[" + strings.Repeat("int32, ", 20) + "int32])")
	var ints []any
	for range 21 {
		ints = append(ints, 1)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 500 {
				second := a
				if i%2 == 1 {
					second = b
				}
				err := c.Check(a, second, ints)
				if (err == nil) != (i%2 == 0) {
					t.Errorf("%d: %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
