package cuda

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// GraphCondition is the number that controls a conditional node. Kernels of the graph set it. A
// kernel takes [GraphCondition.Handle] as a parameter of type cudaGraphConditionalHandle, which
// is an unsigned long long, and sets the number by cudaGraphSetConditional(handle, value).
type GraphCondition struct {
	b      *GraphBuilder
	handle uint64
	node   *GraphNode
}

// NewCondition makes a condition for a conditional node of the graph or of a body in it. It has
// the given value at the start of each launch. It ends with the graph. The driver must be
// of CUDA 12.3 or newer.
func (b *GraphBuilder) NewCondition(start uint32) (c *GraphCondition, err error) {
	h, err := b.live()
	if err != nil {
		return nil, err
	}
	g, err := b.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	const assignAtLaunch = 1
	if err := g.call(driver.GraphConditionalHandleCreate, g.out(0), h, b.s.current(), uintptr(start), assignAtLaunch); err != nil {
		return nil, about(err, "a condition of the %s", b.root.what)
	}
	c = &GraphCondition{b: b, handle: uint64(g.result(0))}
	b.root.conditions = append(b.root.conditions, c)
	return c, nil
}

// Handle returns the argument for kernels that set the condition.
func (c *GraphCondition) Handle() uint64 { return c.handle }

// The numbers of CUgraphConditionalNodeType.
const (
	conditionIf     = 0
	conditionWhile  = 1
	conditionSwitch = 2
)

// nodeParams is CUgraphNodeParams for a conditional node.
type nodeParams struct {
	kind      nodeKind
	_         [3]int32
	condition uint64
	what      uint32
	size      uint32
	bodies    uintptr // *CUgraph, in memory of the driver
	context   uintptr
	_         [25]uint64
	_         uint64
}

// If adds a node that runs its body if the condition is not 0 when the launch reaches the node.
// The body is a builder without nodes, which ends with the graph. It may have kernels, copies,
// fills, child graphs, empty nodes and conditional nodes. [Graph.SetKernel], [Graph.Enable] and
// the other methods that change a node take those of the body too.
func (p GraphPlace) If(c *GraphCondition) (n *GraphNode, body *GraphBuilder, err error) {
	n, bodies, err := p.conditional(c, conditionIf, 1, "if")
	if err != nil {
		return nil, nil, err
	}
	return n, bodies[0], nil
}

// IfElse is [GraphPlace.If] with a second body, which runs if the condition is 0. The driver
// must be of CUDA 12.8 or newer.
func (p GraphPlace) IfElse(c *GraphCondition) (n *GraphNode, then, otherwise *GraphBuilder, err error) {
	n, bodies, err := p.conditional(c, conditionIf, 2, "if else")
	if err != nil {
		return nil, nil, nil, err
	}
	return n, bodies[0], bodies[1], nil
}

// While adds a node that runs its body again and again, as long as the condition is not 0. The
// first time that it looks at the condition is before the body has run: the condition should
// start with 1, or a kernel before must set it.
func (p GraphPlace) While(c *GraphCondition) (n *GraphNode, body *GraphBuilder, err error) {
	n, bodies, err := p.conditional(c, conditionWhile, 1, "while")
	if err != nil {
		return nil, nil, err
	}
	return n, bodies[0], nil
}

// Switch adds a node with several bodies. It runs the one whose number, from 0, is the
// value of the condition, or none if there is no such body. The driver must be of
// CUDA 12.8 or newer.
func (p GraphPlace) Switch(c *GraphCondition, bodies int) (*GraphNode, []*GraphBuilder, error) {
	const most = 1 << 16
	if bodies < 1 || bodies > most {
		return nil, nil, valueError("a switch of %d bodies: the number must be 1 to %d", bodies, most)
	}
	return p.conditional(c, conditionSwitch, bodies, fmt.Sprintf("switch of %d", bodies))
}

// conditional adds a conditional node.
func (p GraphPlace) conditional(c *GraphCondition, what uint32, bodies int, label string) (n *GraphNode, _ []*GraphBuilder, err error) {
	s, err := p.on()
	if err != nil {
		return nil, nil, err
	}
	if err := p.usable(c); err != nil {
		return nil, nil, err
	}
	const branches = 12080 // the CUDA version of else and switch
	if (what == conditionSwitch || bodies > 1) && driver.Version() < branches {
		return nil, nil, &Error{Number: int(errFunctionMissing), Call: driver.GraphAddNode.String(), Item: "the node " + label,
			Text: fmt.Sprintf("the driver (CUDA %s) has no else and no switch in graphs, which came with CUDA %s: update the NVIDIA driver",
				driver.VersionText(driver.Version()), driver.VersionText(branches))}
	}
	n, err = p.put(&GraphNode{kind: nodeConditional, label: label}, func(a *adding) error {
		// In memory of Go, which the driver writes the address of the bodies to.
		params := &nodeParams{kind: nodeConditional, condition: c.handle, what: what, size: uint32(bodies), context: s.current()}
		if err := a.call(driver.GraphAddNode, uintptr(unsafe.Pointer(params))); err != nil {
			return err
		}
		// The driver keeps the array as long as the node; the handles are copied now.
		for _, body := range unsafe.Slice((*uintptr)(driver.Pointer(params.bodies)), bodies) {
			child := &GraphBuilder{root: p.b.root, owner: a.n, body: body}
			child.s, child.what = s, p.b.root.what
			a.n.bodies = append(a.n.bodies, child)
		}
		return nil
	})
	if n == nil {
		return nil, nil, err
	}
	c.node = n
	return n, slices.Clone(n.bodies), err // the slice is the caller's
}

// usable refuses a condition that the node cannot have.
func (p GraphPlace) usable(c *GraphCondition) error {
	switch {
	case c == nil:
		return aCondition.none()
	case c.b == nil:
		return aCondition.zero()
	case c.node != nil:
		return valueError("%s has the condition already: a condition is for one node", c.node)
	case c.b.root != p.b.root:
		return valueError("the condition is of another graph: make one with NewCondition of this builder")
	}
	for b := p.b; b != c.b; b = b.owner.b {
		if b.owner == nil {
			return valueError("the condition is of the body of %s, the node is not inside it: make one with NewCondition of the builder that gets the node", c.b.owner)
		}
	}
	return nil
}
