package cuda_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// TestGraphBodyChanges changes the nodes of bodies of conditional nodes in a graph. The fake does it by the rule of NVIDIA,
// that the parameters of such nodes may change as those of others do.
func TestGraphBodyChanges(t *testing.T) {
	r := newGraphRig(t, 0)
	add, set := kernel(t, r.m, "add_to"), kernel(t, r.m, "set_conditional")
	sum, left, other := r.ints(0), r.ints(7), r.ints(8)
	b := r.b
	c := must[*cuda.GraphCondition](t)(b.NewCondition(1))
	branch, body, err := b.After().If(c)
	ok(t, err)
	one := node(t)(body.After().Kernel(add, r.config, sum, 1))
	inner := must[*cuda.GraphCondition](t)(body.NewCondition(1))
	deep, then, err := body.After(one).If(inner)
	ok(t, err)
	ten := node(t)(then.After().Kernel(add, r.config, sum, 10))
	move := node(t)(then.After(ten).Copy(left, other))
	fill := node(t)(cuda.FillNode(then.After(move), other, int32(3)))
	gr := r.graph(b)
	r.run(gr)
	r.numbers(sum, 11)
	r.numbers(left, 8)
	r.numbers(other, 3)

	ok(t, gr.SetKernel(one, add, r.config, sum, 2))
	ok(t, gr.SetKernel(ten, add, r.config, sum, 20))
	ok(t, gr.SetCopy(move, left, sum))
	ok(t, cuda.SetFill(gr, fill, other, int32(4)))
	r.run(gr)
	r.numbers(sum, 11+22)
	r.numbers(left, 33)
	r.numbers(other, 4)

	ok(t, gr.Enable(ten, false))
	ok(t, gr.SetKernel(ten, add, r.config, sum, 30)) // which is off still
	r.run(gr)
	r.numbers(sum, 33+2)
	ok(t, gr.Enable(ten, true))
	r.run(gr)
	r.numbers(sum, 35+2+30)

	// After an update of the whole graph its nodes name their parts as before.
	ok(t, gr.UpdateFrom(b))
	ok(t, gr.SetKernel(ten, add, r.config, sum, 40))
	r.run(gr)
	r.numbers(sum, 67+1+40)

	// Another kernel may take the place of a kernel.
	ok(t, gr.SetKernel(one, set, r.config, inner.Handle(), 0))
	r.run(gr)
	r.numbers(sum, 108)

	// An error of the driver names the node and its body.
	r.f.failing("cuGraphNodeSetEnabled", int(cuda.ErrInvalidValue), 0)
	err = gr.Enable(ten, false)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuGraphNodeSetEnabled")
	wantError(t, err, nil, `for node 4 (kernel "add_to") in the body of node 3 (if) in the graph on cuda:0`)
	r.f.failing("cuGraphExecKernelNodeSetParams", int(cuda.ErrInvalidValue), 0)
	wantError(t, gr.SetKernel(one, add, r.config, sum, 1), cuda.ErrInvalidValue, `for node 2 (kernel "add_to") in the body of node 1 (if) in the graph on cuda:0`)
	_, _ = branch, deep
}

// TestGraphDOTCopies is about what a picture says of copies and fills: how much, and from where to where.
func TestGraphDOTCopies(t *testing.T) {
	r := newGraphRig(t, 0)
	x, y := r.memory(1, 2, 3, 4, 5, 6), r.memory(0, 0, 0, 0, 0, 0)
	far := must[*cuda.Memory](t)(cuda.AllocOf(1, make([]float32, 6)))
	defer far.Free()
	host := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 6))
	defer host.Free()
	managed := must[*cuda.Memory](t)(r.d.AllocManaged(24))
	defer managed.Free()
	rows, planes := cuda.Extent{Width: 4, Height: 3}, cuda.Extent{Width: 4, Height: 1, Depth: 2}
	at := r.b.After()
	node(t)(at.Copy(y, x))
	node(t)(at.Copy(y, far))
	node(t)(at.Copy(managed, x))
	node(t)(cuda.CopyInNode(at, x, host))
	node(t)(cuda.CopyOutNode(at, host, managed))
	node(t)(at.CopyBox(cuda.Region{Memory: host}, cuda.Region{Memory: y, Pitch: 8}, rows))
	node(t)(at.CopyBox(cuda.Region{Memory: y, Pitch: 8}, cuda.Region{Memory: managed, Pitch: 8}, rows))
	node(t)(at.CopyBox(cuda.Region{Memory: far, Rows: 2}, cuda.Region{Memory: y, Rows: 2}, planes))
	node(t)(cuda.FillBoxNode(at, cuda.Region{Memory: y, Pitch: 8}, uint16(1), rows))
	picture := must[string](t)(r.b.DOT())
	for i, label := range []string{"copy of 24 bytes, cuda:0 to cuda:0", "copy of 24 bytes, cuda:1 to cuda:0", "copy of 24 bytes, cuda:0 to managed memory",
		"copy of 24 bytes, host to cuda:0", "copy of 24 bytes, managed memory to host", "copy of 3 rows of 4 bytes, cuda:0 to host",
		"copy of 3 rows of 4 bytes, managed memory to cuda:0", "copy of 2 planes of 4 bytes, cuda:0 to cuda:1", "fill of 3 rows of 4 bytes"} {
		if line := fmt.Sprintf("n%d [label=\"%d: %s\"];", i+1, i+1, label); !strings.Contains(picture, line) {
			t.Errorf("%q is not in\n%s", line, picture)
		}
	}
}
