package cuda_test

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestGraphCopies is about what copies and fills refuse, and about two devices.
func TestGraphCopies(t *testing.T) {
	r := newGraphRig(t, 0)
	x, y := r.memory(1, 2, 3, 4), r.memory(0, 0, 0, 0)
	far := must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{7, 8}))
	defer far.Free()
	ok(t, cuda.Device(1).Synchronize())
	peer := node(t)(r.b.After().Copy(y, far))
	r.f.expectCall("cuGraphAddMemcpyNode 4:" + hex(far.Pointer().Address) + " 4:" + hex(y.Pointer().Address) + " 8x1x1")
	gr := r.graph(r.b)
	r.run(gr)
	r.reads(y, 7, 8, 0, 0)
	wantError(t, gr.SetCopy(peer, y, x), tvmffi.ErrValue, "node 1 (copy of 8 bytes, cuda:1 to cuda:0) copies between other kinds of memory")
	part := must[*cuda.Memory](t)(y.Part(2, 6))
	none := must[*cuda.Memory](t)(r.d.Alloc(0))
	empty, short := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 0)), must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 8))
	defer short.Free()
	var nilHost *cuda.Host[float32]
	fill := node(t)(cuda.FillNode(r.b.After(), y, uint8(1)))
	second := r.graph(r.b)
	at := r.b.After()
	for _, x := range []struct {
		text string
		f    func() error
	}{
		{"the source has 16 bytes, the destination has 8", func() error { _, err := at.Copy(far, x); return err }},
		{"the memory has 0 bytes: leave the copy out", func() error { _, err := at.Copy(x, none); return err }},
		{"the memory is nil", func() error { _, err := at.Copy(nil, x); return err }},
		{"the memory is nil", func() error { _, err := at.Copy(x, nil); return err }},
		{"the memory has 0 bytes: leave the fill out", func() error { _, err := cuda.FillNode(at, none, int8(0)); return err }},
		{"is not an array of elements of 4 bytes", func() error { _, err := cuda.FillNode(at, part, int32(0)); return err }},
		{"the memory is on cuda:1", func() error { _, err := cuda.FillNode(at, far, int32(0)); return err }},
		{"the host memory has 32 bytes, the memory on cuda:0 has 16", func() error { _, err := cuda.CopyInNode(at, x, short); return err }},
		{"the host memory has 32 bytes, the memory on cuda:0 has 16", func() error { _, err := cuda.CopyOutNode(at, short, x); return err }},
		{"the host memory has 0 bytes: leave the copy out", func() error { _, err := cuda.CopyInNode(at, x, empty); return err }},
		{"the pinned host memory is nil", func() error { _, err := cuda.CopyOutNode(at, nilHost, x); return err }},
		{"node 2 (fill of 16 bytes) is not a copy", func() error { return second.SetCopy(fill, x, y) }},
		{"node 1 (copy of 8 bytes, cuda:1 to cuda:0) is not a fill", func() error { return cuda.SetFill(second, peer, x, uint8(1)) }},
		{"the source has 16 bytes, the destination has 8", func() error { return second.SetCopy(peer, far, x) }},
		{"the elements of node 2 (fill of 16 bytes) have the size 1, found 4: ", func() error { return cuda.SetFill(second, fill, x, float32(1)) }},
		{"is not an array of elements of 4 bytes", func() error { return cuda.SetFill(second, fill, part, uint32(1)) }},
		{"the host memory has 32 bytes", func() error { return cuda.SetCopyIn(second, peer, x, short) }},
		{"the host memory has 32 bytes", func() error { return cuda.SetCopyOut(second, peer, short, x) }},
	} {
		wantError(t, x.f(), tvmffi.ErrValue, x.text)
	}
	there := must[*cuda.GraphBuilder](t)(cuda.Device(1).NewGraph())
	defer there.Close()
	_, err := there.After().Copy(x, y)
	wantError(t, err, tvmffi.ErrValue, "a copy from cuda:0 to cuda:0 cannot be in a graph on cuda:1")
	r.f.failing("cuGraphAddMemcpyNode", 2, 0)
	_, err = at.Copy(x, y)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuGraphAddMemcpyNode")
	wantError(t, err, nil, "node 3 (copy of 16 bytes, cuda:0 to cuda:0) of the graph builder on cuda:0")
	r.run(second)
	// The driver takes a copy that was refused as if nothing had happened.
	node(t)(at.Copy(x, y))
}

// TestGraphBoxes copies and fills parts of a matrix.
func TestGraphBoxes(t *testing.T) {
	r := newGraphRig(t, 0)
	x, y := r.memory(1, 2, 3, 4, 5, 6), r.memory(0, 0, 0, 0, 0, 0) // 2 rows of 3, 3 rows of 2
	host := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 4))
	defer host.Free()
	size := cuda.Extent{Width: 8, Height: 2}
	move := node(t)(r.b.After().CopyBox(cuda.Region{Memory: y, Offset: 8, Pitch: 8}, cuda.Region{Memory: x, Offset: 4, Pitch: 12}, size))
	r.f.expectCall("cuGraphAddMemcpyNode 2:" + hex(x.Pointer().Address+4) + " 2:" + hex(y.Pointer().Address+8) + " 8x2x1")
	save := node(t)(r.b.After(move).CopyBox(cuda.Region{Memory: host}, cuda.Region{Memory: y, Offset: 8}, size))
	fill := node(t)(cuda.FillBoxNode(r.b.After(save), cuda.Region{Memory: y, Pitch: 8}, float32(9), cuda.Extent{Width: 4, Height: 3}))
	r.f.expectCall("cuGraphAddMemsetNode " + hex(y.Pointer().Address) + " 41100000 4 1x3")
	node(t)(cuda.FillNode(r.b.After(fill), x, uint64(0)))
	gr := r.graph(r.b)
	r.run(gr)
	r.reads(y, 9, 0, 9, 3, 9, 6)
	r.reads(x, 0, 0, 0, 0, 0, 0)
	if !slices.Equal(host.Slice(), []float32{2, 3, 5, 6}) {
		t.Errorf("the host has %v", host.Slice())
	}
	at, whole := r.b.After(), cuda.Region{Memory: x}
	for _, c := range []struct {
		text string
		f    func() error
	}{
		{"node 1 (copy of 2 rows of 8 bytes, cuda:0 to cuda:0) has several rows", func() error { return gr.SetCopy(move, x, y) }},
		{"node 3 (fill of 3 rows of 4 bytes) has several rows", func() error { return cuda.SetFill(gr, fill, x, float32(0)) }},
		{"the box has 0 bytes: leave the copy out", func() error { _, err := at.CopyBox(whole, cuda.Region{Memory: y}, cuda.Extent{}); return err }},
		{"the box has 0 bytes: leave the fill out", func() error { _, err := cuda.FillBoxNode(at, whole, uint8(0), cuda.Extent{}); return err }},
		{"overlap", func() error { _, err := at.CopyBox(whole, whole, size); return err }},
		{"one is negative", func() error { _, err := at.CopyBox(whole, whole, cuda.Extent{Width: -1}); return err }},
		{"one is negative", func() error {
			_, err := cuda.FillBoxNode(at, whole, uint8(0), cuda.Extent{Height: -1})
			return err
		}},
		{"the destination: the memory is nil", func() error { _, err := at.CopyBox(cuda.Region{}, whole, size); return err }},
		{"the source: the memory is nil", func() error { _, err := at.CopyBox(whole, cuda.Region{}, size); return err }},
		{"the memory: the memory is nil", func() error { _, err := cuda.FillBoxNode(at, cuda.Region{}, uint8(0), size); return err }},
		{"a copy without memory on cuda:0", func() error {
			_, err := at.CopyBox(cuda.Region{Memory: host}, cuda.Region{Memory: host, Offset: 8}, cuda.Extent{Width: 8})
			return err
		}},
		{"the memory is not on cuda:0", func() error {
			_, err := cuda.FillBoxNode(at, cuda.Region{Memory: host}, uint8(0), cuda.Extent{Width: 8})
			return err
		}},
		{"must be multiples of the 4 bytes of an element", func() error {
			_, err := cuda.FillBoxNode(at, cuda.Region{Memory: x, Offset: 2}, uint32(0), cuda.Extent{Width: 8})
			return err
		}},
		{"add a node for each plane", func() error {
			_, err := cuda.FillBoxNode(at, cuda.Region{Memory: x, Rows: 2}, uint32(0), cuda.Extent{Width: 4, Height: 1, Depth: 2})
			return err
		}},
		{"elements of 8 bytes whose halves differ", func() error { _, err := cuda.FillNode(at, x, uint64(1)); return err }},
	} {
		wantError(t, c.f(), tvmffi.ErrValue, c.text)
	}
}
