package cuda

import (
	"fmt"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// allocParams is CUDA_MEM_ALLOC_NODE_PARAMS.
type allocParams struct {
	pool     poolProperties
	access   uintptr
	accesses uintptr
	bytes    uintptr
	address  uintptr
}

// Alloc adds a node that allocates memory on the device of the graph at each launch. The address
// is the same each time. Nodes that come after may use the memory until a node of
// [GraphPlace.Free]. Without such a node the work after a launch may use it too, until
// [Graph.Free] frees it; it must be freed before the next launch unless the graph is made with
// [AutoFree], and before the graph is closed. Free of the memory itself does nothing. When the
// graph and the builder are closed, use of the memory is an error.
func (p GraphPlace) Alloc(bytes int64) (*GraphNode, *Memory, error) {
	s, err := p.on()
	if err != nil {
		return nil, nil, err
	}
	if bytes <= 0 {
		return nil, nil, valueError("allocation of %d bytes in a graph on %s: the size must be 1 or more", bytes, s.device)
	}
	n := &GraphNode{kind: nodeAlloc, label: fmt.Sprintf("allocation of %d bytes", bytes)}
	const pinned = 1
	a := &allocParams{pool: poolProperties{allocation: pinned, locationType: onDevice, location: int32(s.device)}, bytes: uintptr(bytes)}
	if _, err := p.put(n, func(at *adding) error { return at.call(driver.GraphAddMemAllocNode, uintptr(unsafe.Pointer(a))) }); err != nil {
		return nil, nil, err
	}
	return n, &Memory{s: s, address: a.address, size: bytes, node: n}, nil
}

// ended reports whether nothing launches the node any more: the builder is closed, after which it
// makes no graph, and so are the last graphs that have its nodes.
func (n *GraphNode) ended() bool {
	closed := func(gr *Graph) bool { return gr == nil || gr.handle.Load() == 0 }
	b := n.b.root
	return b.handle.Load() == 0 && closed(b.made) && closed(b.given)
}

// Free adds a node that frees memory of [GraphPlace.Alloc]. It comes after all nodes that use the
// memory.
func (p GraphPlace) Free(m *Memory) (*GraphNode, error) {
	address, err := m.at(nil)
	if err != nil {
		return nil, err
	}
	switch {
	case m.node == nil:
		return nil, valueError("the memory of %d bytes was not allocated by a node of a graph: free it by its own Free", m.size)
	case m.node.freed != nil:
		return nil, valueError("the memory of %s is freed by %s already", m.node, m.node.freed)
	}
	n, err := p.put(&GraphNode{kind: nodeFree, label: "free of " + m.node.String()}, func(a *adding) error { return a.call(driver.GraphAddMemFreeNode, address) })
	if n != nil && p.b.root == m.node.b.root { // another graph may free the memory too, once
		m.node.freed = n
	}
	return n, err
}

// Free frees memory of a node of [GraphPlace.Alloc] that no node frees, after a launch, in the
// order of a stream and without waiting. The next launch allocates it again.
func (gr *Graph) Free(m *Memory, stream *Stream) error {
	if _, err := gr.live(); err != nil {
		return err
	}
	address, err := m.at(nil)
	if err != nil {
		return err
	}
	switch {
	case m.node == nil || m.node.b.root != gr.from:
		return valueError("the memory of %d bytes was not allocated by a node of this graph", m.size)
	case m.node.freed != nil && m.node.freed.index <= gr.nodes: // a later node is not part of the graph
		return valueError("the memory of %s is freed by %s", m.node, m.node.freed)
	}
	return about(gr.s.queue(driver.MemFreeAsync, stream, address), "the memory of %s", m.node)
}

// unfreed returns a node whose memory the graph allocates and does not free, nil if there is
// none. Launches of several goroutines may ask at once: it changes nothing.
func (gr *Graph) unfreed() *GraphNode {
	if gr.from != nil {
		return gr.keeping
	}
	b, err := gr.readCaptured()
	if err != nil {
		return nil
	}
	var found *GraphNode
	left := 0
	for _, n := range b.nodes { // of captured work it is not known what a node frees
		switch n.kind {
		case nodeAlloc:
			found = n
			left++
		case nodeFree:
			left--
		}
	}
	if left <= 0 {
		return nil
	}
	return found
}

// GraphMemory is what the driver holds for the allocations of graphs on a device, in bytes.
// [Device.TrimGraphMemory] gives back what no graph uses.
type GraphMemory struct {
	Used     int64 // by graphs now
	UsedHigh int64 // the most that it was
	// Reserved is what the driver has taken from the system for graphs.
	Reserved     int64
	ReservedHigh int64 // the most that it was
}

// GraphMemory asks what the allocations of graphs hold on the device.
func (d Device) GraphMemory() (m GraphMemory, err error) {
	s, err := stateOf(d)
	if err != nil {
		return m, err
	}
	g, err := s.enter()
	if err != nil {
		return m, err
	}
	defer g.leave(&err)
	for i, to := range []*int64{&m.Used, &m.UsedHigh, &m.Reserved, &m.ReservedHigh} { // as CUgraphMem_attribute
		if err := g.call(driver.DeviceGetGraphMemAttribute, s.handle, uintptr(i), g.out(0)); err != nil {
			return GraphMemory{}, about(err, "%s", d)
		}
		*to = int64(g.result(0))
	}
	return m, nil
}

// TrimGraphMemory returns memory to the system that the driver keeps for graphs and none
// uses.
func (d Device) TrimGraphMemory() error {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	return about(s.do(driver.DeviceGraphMemTrim, s.handle), "%s", d)
}

// ResetGraphMemoryHigh sets UsedHigh and ReservedHigh of [Device.GraphMemory] to what is in use
// now.
func (d Device) ResetGraphMemoryHigh() (err error) {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	g, err := s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	for _, attribute := range []uintptr{1, 3} { // the two of CUgraphMem_attribute; 0 is the one value that they take
		g.scratch.out[0] = 0
		if err := g.call(driver.DeviceSetGraphMemAttribute, s.handle, attribute, g.out(0)); err != nil {
			return about(err, "%s", d)
		}
	}
	return nil
}
