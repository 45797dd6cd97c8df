package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const shared = "add_one(a: Tensor([n], float32, strides=[1], align=4, device=cpu:d), b: Tensor([n], float32, strides=[1], align=4, device=cpu:d))"

// pair makes two tensors of one element.
func pair(t testing.TB) (a, b *tvmffi.Tensor) {
	use(t)
	m := maker{t}
	return m.f32(1, on(tvmffi.CPU)), m.f32(1, on(tvmffi.CPU))
}

// packed makes the packed form of tensors.
func packed(tensors ...*tvmffi.Tensor) (args []abi.Any) {
	for _, x := range tensors {
		args = append(args, abi.Any{TypeIndex: abi.TypeTensor, Bits: uint64(objects.StateOf(x).Handle())})
	}
	return args
}

func BenchmarkCheck(b *testing.B) {
	x, y := pair(b)
	c := check.MustCompile(shared)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Check(x, y); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBindPacked(b *testing.B) {
	x, y := pair(b)
	c := check.MustCompile(shared)
	args := packed(x, y)
	var v check.Values
	b.ReportAllocs()
	for b.Loop() {
		if err := c.BindPacked(&v, args); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	use(t)
	nativetest.NeedOptimised(t)
	m := maker{t}
	g, h := m.f32(8), m.f32(8, strides(1))
	pair := m.array(g, 1)
	shape := m.shape(8, 4)
	var many []any
	for range 20 {
		many = append(many, g)
	}
	one, two := m.f32(1, on(tvmffi.CPU)), m.f32(1, on(tvmffi.CPU))
	big := int64(1) << 40
	dims := []int64{big}
	for _, c := range []struct {
		text string
		call func(c *check.Checker) error
	}{
		{shared, func(c *check.Checker) error { return c.Check(one, two) }},
		{"f(a: Tensor([n], float32), b: Tensor([n], float32), k: int64, s: Stream)", func(c *check.Checker) error {
			return c.Check(g, h, big, tvmffi.Pointer{Address: 64})
		}},
		{"f(x: float64, y: float32, n: int64)", func(c *check.Checker) error { return c.Check(float64(big), float32(big), uint64(big)) }},
		{"f(o: Optional[Tensor([n], float32)], p: Optional[Stream])", func(c *check.Checker) error { return c.Check(g, nil) }},
		{"f(t: Tuple[Tensor([n], float32), int32], s: Shape([n, 4]), c: Int(5), r: Shape([_]))", func(c *check.Checker) error {
			return c.Check(pair, shape, 5, dims)
		}},
		{"tvm: f(t: Tensor([n], float32, device=cuda))", func(c *check.Checker) error { return c.Check(g) }},
		{manyText(20), func(c *check.Checker) error { return c.Check(many...) }},
	} {
		checker := check.MustCompile(c.text)
		if err := c.call(checker); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if n := testing.AllocsPerRun(200, func() {
			if c.call(checker) != nil {
				t.Fail()
			}
		}); n != 0 {
			t.Errorf("%.120s: %v allocations", c.text, n)
		}
	}
	checker := check.MustCompile(shared)
	args := packed(one, two)
	if n := testing.AllocsPerRun(200, func() {
		var v check.Values
		if checker.BindPacked(&v, args) != nil {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("packed: %v allocations", n)
	}
}

// manyText describes a function of n tensors, each with a size of its own.
func manyText(n int) string {
	var params []string
	for i := range n {
		params = append(params, fmt.Sprintf("a%d: Tensor([n%d], float32)", i, i))
	}
	return "f(" + strings.Join(params, ", ") + ")"
}
