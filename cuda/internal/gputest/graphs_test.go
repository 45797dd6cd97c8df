package gputest

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

func builder(t *testing.T, d cuda.Device) *cuda.GraphBuilder {
	t.Helper()
	b, err := d.NewGraph()
	supported(t, "graphs of nodes", err)
	t.Cleanup(func() { ok(t, b.Close()) })
	return b
}

// node is for calls that return a node.
func node(t *testing.T) func(*cuda.GraphNode, error) *cuda.GraphNode {
	return func(n *cuda.GraphNode, err error) *cuda.GraphNode {
		t.Helper()
		ok(t, err)
		return n
	}
}

// TestGraphMemory allocates memory in a graph, uses it by kernels, and frees it there or afterwards.
func TestGraphMemory(t *testing.T) {
	const n = 1000
	for d, m := range prepare(t) {
		device, k := cuda.Device(d), kernel(t, m, "saxpy")
		config := cuda.LaunchConfig{Grid: cuda.GridFor(n, 256), Block: cuda.Dim(256)}
		st := streamOn(t, device, cuda.NonBlocking())
		sum, err := cuda.AllocOf(device, ramp(n))
		ok(t, err)
		t.Cleanup(func() { ok(t, sum.Free()) })
		before, err := device.GraphMemory()
		supported(t, "memory of graphs", err)

		b := builder(t, device)
		alloc, x, err := b.After().Alloc(4 * n)
		supported(t, "memory of graphs", err)
		fill := node(t)(cuda.FillNode(b.After(alloc), x, float32(5)))
		use := node(t)(b.After(fill).Kernel(k, config, int32(n), float32(2), x, sum))
		node(t)(b.After(use).Free(x))
		graph, err := b.Instantiate()
		ok(t, err)
		t.Cleanup(func() { ok(t, graph.Close()) })
		for range 3 {
			ok(t, graph.Launch(st))
		}
		ok(t, st.Synchronize())
		wantNumbers(t, sum, plus(n, 30))
		after, err := device.GraphMemory()
		ok(t, err)
		if after.UsedHigh < 4*n || after.Used != before.Used {
			t.Errorf("%s: the graph used %+v, before %+v", device, after, before)
		}

		// Without a node that frees it, the memory is there after the launch, and the next launch makes it again.
		keep := builder(t, device)
		alloc, kept, err := keep.After().Alloc(4 * n)
		ok(t, err)
		fill = node(t)(cuda.FillNode(keep.After(alloc), kept, float32(1)))
		node(t)(keep.After(fill).Kernel(k, config, int32(n), float32(1), sum, kept))
		auto, err := keep.Instantiate(cuda.AutoFree())
		ok(t, err)
		t.Cleanup(func() { ok(t, auto.Close()) })
		for range 2 {
			ok(t, auto.Launch(st))
		}
		ok(t, st.Synchronize())
		wantNumbers(t, kept, plus(n, 31))
		ok(t, auto.Free(kept, st))
		ok(t, st.Synchronize())
		ok(t, device.TrimGraphMemory())
	}
}

// conditions has a graph with conditional nodes for a test.
type conditions struct {
	t             *testing.T
	set, down, to *cuda.Kernel
	b             *cuda.GraphBuilder
	st            *cuda.Stream
	left, sum     *cuda.Memory // one int32 each
}

// one launches a kernel of one thread.
var one = cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}

func newConditions(t *testing.T, d cuda.Device) *conditions {
	t.Helper()
	c := &conditions{t: t, b: builder(t, d), st: streamOn(t, d, cuda.NonBlocking())}
	_, err := c.b.NewCondition(0) // the driver that lacks it cannot load the kernels
	supported(t, "conditional nodes", err)
	c.b = builder(t, d)
	m, err := loadFile(d, "conditional")
	ok(t, err)
	t.Cleanup(func() { ok(t, m.Close()) })
	c.set, c.down, c.to = kernel(t, m, "set_conditional"), kernel(t, m, "count_down"), kernel(t, m, "add_to")
	for _, x := range []**cuda.Memory{&c.left, &c.sum} {
		*x, err = cuda.AllocOf(d, []int32{0})
		ok(t, err)
		t.Cleanup(func() { ok(t, (*x).Free()) })
	}
	return c
}

// chosen makes a condition that a kernel sets to a value, and the place behind that kernel.
func (c *conditions) chosen(value uint32) (*cuda.GraphCondition, cuda.GraphPlace) {
	c.t.Helper()
	condition, err := c.b.NewCondition(0)
	ok(c.t, err)
	return condition, c.b.After(node(c.t)(c.b.After(c.b.Nodes()...).Kernel(c.set, one, condition.Handle(), value)))
}

// adds adds a kernel that adds a number to the sum to each body.
func (c *conditions) adds(numbers []int32, bodies ...*cuda.GraphBuilder) {
	c.t.Helper()
	for i, body := range bodies {
		node(c.t)(body.After(body.Nodes()...).Kernel(c.to, one, c.sum, numbers[i]))
	}
}

// run launches the graph twice, each time with the sum at 0.
func (c *conditions) run(want int32) {
	c.t.Helper()
	graph, err := c.b.Instantiate()
	supported(c.t, "conditional nodes", err)
	defer func() { ok(c.t, graph.Close()) }()
	for range 2 {
		ok(c.t, cuda.Fill(c.sum, int32(0), c.st))
		ok(c.t, graph.Launch(c.st))
		got := []int32{0}
		ok(c.t, cuda.CopyOutAt(got, c.sum, 0, c.st))
		if !slices.Equal(got, []int32{want}) {
			c.t.Errorf("the sum is %d, want %d", got[0], want)
		}
	}
}

// TestConditionalNodes lets kernels decide what a graph runs, and how often.
func TestConditionalNodes(t *testing.T) {
	for d := range prepare(t) {
		device := cuda.Device(d)
		t.Run(device.String()+", while", func(t *testing.T) {
			c := newConditions(t, device)
			start := node(t)(cuda.FillNode(c.b.After(), c.left, int32(10)))
			condition, err := c.b.NewCondition(1)
			ok(t, err)
			_, body, err := c.b.After(start).While(condition)
			supported(t, "while in graphs", err)
			c.adds([]int32{1}, body)
			node(t)(body.After(body.Nodes()...).Kernel(c.down, one, condition.Handle(), c.left))
			c.run(10)
		})
		t.Run(device.String()+", if", func(t *testing.T) {
			c := newConditions(t, device)
			for i, value := range []uint32{1, 0} {
				condition, place := c.chosen(value)
				_, body, err := place.If(condition)
				supported(t, "if in graphs", err)
				c.adds([]int32{int32(1 + 9*i)}, body)
			}
			c.run(1)
		})
		t.Run(device.String()+", if else", func(t *testing.T) {
			c := newConditions(t, device)
			for i, value := range []uint32{0, 7} {
				condition, place := c.chosen(value)
				_, then, otherwise, err := place.IfElse(condition)
				supported(t, "else in graphs", err)
				c.adds([]int32{int32(1 + 9*i), int32(100 + 900*i)}, then, otherwise)
			}
			c.run(100 + 10)
		})
		t.Run(device.String()+", switch", func(t *testing.T) {
			c := newConditions(t, device)
			for _, value := range []uint32{2, 3} { // there is no body 3
				condition, place := c.chosen(value)
				_, bodies, err := place.Switch(condition, 3)
				supported(t, "switch in graphs", err)
				c.adds([]int32{1, 10, 100}, bodies...)
			}
			c.run(100)
		})
	}
}
