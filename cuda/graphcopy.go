package cuda

import (
	"fmt"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// graphCopy is a copy of a graph, and its text.
type graphCopy struct {
	copy3D
	label string // such as "copy of 8 bytes, host to cuda:0"
}

// flat describes a copy of one row.
func flat(to, from box, bytes int64) *graphCopy {
	return boxes(to, from, Extent{bytes, 1, 1})
}

// boxes describes a copy. Between two devices the driver looks at the addresses.
func boxes(to, from box, x Extent) *graphCopy {
	c := &graphCopy{copy3D{srcPitch: from.pitch, srcHeight: from.rows, dstPitch: to.pitch, dstHeight: to.rows,
		widthInBytes: uintptr(x.Width), height: uintptr(x.Height), depth: uintptr(x.Depth)},
		fmt.Sprintf("copy of %s, %s to %s", x.text(), from.place(), to.place())}
	if x.Height*x.Depth == 1 { // the pitch is not used, and may be larger than the driver takes
		c.srcPitch, c.dstPitch = 0, 0
	}
	c.srcType, c.srcHost, c.srcDevice = from.sort()
	c.dstType, c.dstHost, c.dstDevice = to.sort()
	if !to.host && !from.host && to.s != from.s {
		const unified = 4
		c.srcType, c.dstType = unified, unified
	}
	return c
}

// deviceCopy describes the copy of all of src to the start of dst, for a graph on the
// device of s.
func (s *state) deviceCopy(dst, src *Memory) (*graphCopy, error) {
	to, err := dst.at(nil)
	if err != nil {
		return nil, err
	}
	from, err := src.at(nil)
	if err != nil {
		return nil, err
	}
	switch {
	case src.size > dst.size:
		return nil, valueError("the source has %d bytes, the destination has %d", src.size, dst.size)
	case src.size == 0:
		return nil, valueError("the memory has 0 bytes: leave the copy out")
	case dst.s != s && src.s != s && !dst.managed && !src.managed:
		return nil, valueError("a copy from %s to %s cannot be in a graph on %s", src.s.device, dst.s.device, s.device)
	}
	if err := apart(to, from, src.size); err != nil {
		return nil, err
	}
	here, there := box{s: dst.s, address: to, managed: dst.managed}, box{s: src.s, address: from, managed: src.managed}
	if dst.managed || src.managed { // which is on no device, and must not be looked at on some
		there.s = here.s
	}
	return flat(here, there, src.size), nil
}

// hostCopy describes a copy between memory on the device and pinned memory.
func hostCopy[T Scalar](s *state, m *Memory, h *Host[T], in bool) (*graphCopy, error) {
	address, err := m.at(s)
	if err != nil {
		return nil, err
	}
	host, err := h.hostPointer()
	if err != nil {
		return nil, err
	}
	here, there := box{s: s, address: address, managed: m.managed}, box{s: s, address: host, host: true}
	switch bytes := h.bytes(); {
	case bytes > m.size:
		return nil, valueError("the host memory has %d bytes, the memory on %s has %d", bytes, m.s.device, m.size)
	case bytes == 0:
		return nil, valueError("the host memory has 0 bytes: leave the copy out")
	case in:
		return flat(here, there, bytes), nil
	default:
		return flat(there, here, bytes), nil
	}
}

// copies adds a copy.
func (p GraphPlace) copies(c *graphCopy, keep ...any) (*GraphNode, error) {
	n := &GraphNode{kind: nodeCopy, label: c.label, flat: c.height == 1 && c.depth == 1, direction: [2]uint32{c.srcType, c.dstType}, arguments: keep}
	return p.put(n, func(a *adding) error {
		return a.call(driver.GraphAddMemcpyNode, uintptr(unsafe.Pointer(&c.copy3D)), a.g.s.current())
	})
}

// on returns the state of the device of the graph, with the error of a graph that is
// closed.
func (p GraphPlace) on() (*state, error) {
	_, err := p.b.live()
	if err != nil {
		return nil, err
	}
	return p.b.s, nil
}

// Copy adds a copy of all of src to the start of dst. One of the two is on the device of
// the graph.
func (p GraphPlace) Copy(dst, src *Memory) (*GraphNode, error) {
	s, err := p.on()
	if err != nil {
		return nil, err
	}
	c, err := s.deviceCopy(dst, src)
	if err != nil {
		return nil, err
	}
	return p.copies(c, dst, src)
}

// CopyBox adds a copy of a box of bytes, as [CopyBox] does it. One region at least is on the
// device of the graph. [Graph.SetCopy] cannot change the node unless the box is one row.
func (p GraphPlace) CopyBox(dst, src Region, size Extent) (*GraphNode, error) {
	s, err := p.on()
	if err != nil {
		return nil, err
	}
	x, empty, err := size.checked()
	if err != nil {
		return nil, err
	}
	to, err := dst.box("the destination", x)
	if err != nil {
		return nil, err
	}
	from, err := src.box("the source", x)
	if err != nil {
		return nil, err
	}
	switch {
	case empty:
		return nil, valueError("the box has 0 bytes: leave the copy out")
	case to.overlaps(from, x):
		return nil, valueError("the source and the destination overlap: copy through other memory")
	case (to.host || to.s != s) && (from.host || from.s != s):
		return nil, valueError("a copy without memory on %s cannot be in a graph on %s", s.device, s.device)
	}
	if err := s.pitches(to, from, x); err != nil {
		return nil, err
	}
	return p.copies(boxes(to, from, x), dst.Memory, src.Memory)
}

// CopyInNode adds a copy of pinned memory to the start of device memory.
func CopyInNode[T Scalar](p GraphPlace, dst *Memory, src *Host[T]) (*GraphNode, error) {
	s, err := p.on()
	if err != nil {
		return nil, err
	}
	c, err := hostCopy(s, dst, src, true)
	if err != nil {
		return nil, err
	}
	return p.copies(c, dst, src)
}

// CopyOutNode adds a copy of the start of device memory that fills pinned memory.
func CopyOutNode[T Scalar](p GraphPlace, dst *Host[T], src *Memory) (*GraphNode, error) {
	s, err := p.on()
	if err != nil {
		return nil, err
	}
	c, err := hostCopy(s, src, dst, false)
	if err != nil {
		return nil, err
	}
	return p.copies(c, dst, src)
}

// setCopy changes a copy.
func (gr *Graph) setCopy(n *GraphNode, c *graphCopy, keep ...any) (err error) {
	h, node, err := gr.part(n)
	if err != nil {
		return err
	}
	switch {
	case n.kind != nodeCopy:
		return valueError("%s is not a copy", n)
	case n.b.from == nil && !n.flat:
		return valueError("%s has several rows, and CUDA can change copies of one row only: make a new graph", n)
	case n.b.from == nil && n.direction != [2]uint32{c.srcType, c.dstType}:
		return valueError("%s copies between other kinds of memory (host, one device, two devices), which cannot be changed: make a new graph", n)
	}
	g, err := gr.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	if err := g.callGo(driver.GraphExecMemcpyNodeSetParams, h, node, uintptr(unsafe.Pointer(&c.copy3D)), gr.s.current()); err != nil {
		return gr.about(n, err)
	}
	gr.keep(n, keep)
	return nil
}

// SetCopy changes what a node copies, for launches of the graph from now on: all of src to the
// start of dst. The memory must be on the same devices as before.
func (gr *Graph) SetCopy(n *GraphNode, dst, src *Memory) error {
	if _, err := gr.live(); err != nil {
		return err
	}
	c, err := gr.s.deviceCopy(dst, src)
	if err != nil {
		return err
	}
	return gr.setCopy(n, c, dst, src)
}

// SetCopyIn changes a node of [CopyInNode] like [Graph.SetCopy].
func SetCopyIn[T Scalar](gr *Graph, n *GraphNode, dst *Memory, src *Host[T]) error {
	if _, err := gr.live(); err != nil {
		return err
	}
	c, err := hostCopy(gr.s, dst, src, true)
	if err != nil {
		return err
	}
	return gr.setCopy(n, c, dst, src)
}

// SetCopyOut changes a node of [CopyOutNode] like [Graph.SetCopy].
func SetCopyOut[T Scalar](gr *Graph, n *GraphNode, dst *Host[T], src *Memory) error {
	if _, err := gr.live(); err != nil {
		return err
	}
	c, err := hostCopy(gr.s, src, dst, false)
	if err != nil {
		return err
	}
	return gr.setCopy(n, c, dst, src)
}

// fillNode is CUDA_MEMSET_NODE_PARAMS of CUDA 10.
type fillNode struct {
	to, pitch     uintptr
	value, size   uint32
	width, height uintptr
}

// flatFill describes a fill of all of the memory.
func flatFill[T Fillable](s *state, m *Memory, value T) (*fillNode, error) {
	address, err := m.at(s)
	if err != nil {
		return nil, err
	}
	f, err := fillParams(value)
	if err != nil {
		return nil, err
	}
	switch size := int64(f.size); {
	case m.size == 0:
		return nil, valueError("the memory has 0 bytes: leave the fill out")
	case m.size%size != 0 || address%uintptr(size) != 0:
		return nil, valueError("memory of %d bytes at %#x is not an array of elements of %d bytes", m.size, address, size)
	}
	f.to, f.width, f.height = address, uintptr(m.size/int64(f.size)), 1
	return f, nil
}

// fillParams holds a value. One of 8 bytes is filled as its halves if they are the same.
func fillParams[T Fillable](value T) (*fillNode, error) {
	f := &fillNode{size: uint32(unsafe.Sizeof(value))}
	switch p := unsafe.Pointer(&value); f.size {
	case 1:
		f.value = uint32(*(*uint8)(p))
	case 2:
		f.value = uint32(*(*uint16)(p))
	case 4:
		f.value = *(*uint32)(p)
	default:
		word := *(*uint64)(p)
		if uint32(word) != uint32(word>>32) {
			return nil, valueError("a node cannot fill with elements of 8 bytes whose halves differ, such as %v: use a kernel, or capture Fill", value)
		}
		f.value, f.size = uint32(word), 4
	}
	return f, nil
}

// FillBoxNode adds a node that fills rows, as [FillBox] does. The halves of a value of 8 bytes
// must be equal: fill with other values by a kernel, or capture FillBox. Planes must follow each
// other without a gap.
func FillBoxNode[T Fillable](p GraphPlace, dst Region, value T, size Extent) (*GraphNode, error) {
	s, err := p.on()
	if err != nil {
		return nil, err
	}
	x, empty, err := size.checked()
	if err != nil {
		return nil, err
	}
	b, err := dst.box("the memory", x)
	if err != nil {
		return nil, err
	}
	f, err := fillParams(value)
	if err != nil {
		return nil, err
	}
	switch {
	case empty:
		return nil, valueError("the box has 0 bytes: leave the fill out")
	case b.host || b.s != s:
		return nil, valueError("the memory is not on %s: a fill is for memory of the device of its graph", s.device)
	case (b.address|b.pitch|uintptr(x.Width))%unsafe.Sizeof(value) != 0:
		return nil, valueError("rows of %d bytes at %#x with a pitch of %d bytes: all three must be multiples of the %d bytes of an element", x.Width, b.address, b.pitch, unsafe.Sizeof(value))
	case x.Depth > 1 && b.rows != uintptr(x.Height):
		return nil, valueError("planes of %d rows, %d from one to the next, are not one fill: add a node for each plane", x.Height, b.rows)
	}
	if err := s.pitches(b, b, x); err != nil {
		return nil, err
	}
	f.to, f.pitch, f.width, f.height = b.address, b.pitch, uintptr(x.Width)/uintptr(f.size), uintptr(x.Height*x.Depth)
	return p.fills(f, f.height == 1, dst.Memory)
}

// fills adds a fill.
func (p GraphPlace) fills(f *fillNode, flat bool, memory any) (*GraphNode, error) {
	n := &GraphNode{kind: nodeFill, label: "fill of " + Extent{Width: int64(f.width) * int64(f.size), Height: int64(f.height)}.text(), flat: flat, element: f.size, arguments: []any{memory}}
	return p.put(n, func(a *adding) error {
		return a.call(driver.GraphAddMemsetNode, uintptr(unsafe.Pointer(f)), a.g.s.current())
	})
}

// FillNode adds a node that sets all elements of memory to a value, as [Fill] does. The halves of
// a value of 8 bytes must be equal: fill with other values by a kernel, or capture Fill.
func FillNode[T Fillable](p GraphPlace, dst *Memory, value T) (*GraphNode, error) {
	s, err := p.on()
	if err != nil {
		return nil, err
	}
	f, err := flatFill(s, dst, value)
	if err != nil {
		return nil, err
	}
	return p.fills(f, true, dst)
}

// SetFill changes memory and value of a node that fills, for launches of the graph from now
// on. The elements must have as many bytes as before; the driver may refuse another size of
// the memory.
func SetFill[T Fillable](gr *Graph, n *GraphNode, dst *Memory, value T) (err error) {
	h, node, err := gr.part(n)
	if err != nil {
		return err
	}
	switch {
	case n.kind != nodeFill:
		return valueError("%s is not a fill", n)
	case n.b.from == nil && !n.flat:
		return valueError("%s has several rows: make a new graph", n)
	}
	f, err := flatFill(gr.s, dst, value)
	if err != nil {
		return err
	}
	if n.element != 0 && n.element != f.size {
		return valueError("the elements of %s have the size %d, found %d: fill with a value of that size, or make a new graph", n, n.element, f.size)
	}
	g, err := gr.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	if err := g.callGo(driver.GraphExecMemsetNodeSetParams, h, node, uintptr(unsafe.Pointer(f)), gr.s.current()); err != nil {
		return gr.about(n, err)
	}
	gr.keep(n, []any{dst})
	return nil
}
