package cuda

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// GraphBuilder is a graph that a program makes of single nodes. [GraphBuilder.After] says
// where the next node goes, and [GraphBuilder.Instantiate] makes a [Graph] of it, which can
// be launched. One goroutine at a time may use a builder and its graphs, but for
// [Graph.Launch].
//
// What the nodes use (memory, modules, events) must live as long as the graphs that are
// made of the builder; arguments that are objects of Go are kept alive for them.
type GraphBuilder struct {
	resource
	root  *GraphBuilder // the builder itself, or the one that the program closes
	owner *GraphNode    // the conditional node that this is a body of
	body  uintptr       // the CUgraph of a body, which the driver destroys with its node
	from  *Graph        // that was captured: the nodes are only read

	nodes []*GraphNode

	// In the root alone:
	made       *Graph // the last graph
	given      *Graph // the last one that has got the nodes by UpdateFrom
	conditions []*GraphCondition
	last       int        // nodes so far, in bodies too
	broken     *GraphNode // that the driver made and then could not complete
}

// NewGraph makes an empty graph on a device. The caller closes it.
func (d Device) NewGraph() (b *GraphBuilder, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.GraphCreate, g.out(0), 0); err != nil {
		return nil, about(err, "a graph on %s", d)
	}
	b = &GraphBuilder{}
	b.root = b
	b.open(s, "graph builder on "+d.String(), g.result(0), graphs, driver.GraphDestroy)
	return b, nil
}

// live returns the CUgraph.
func (b *GraphBuilder) live() (uintptr, error) {
	switch {
	case b == nil:
		return 0, aGraphBuilder.none()
	case b.from != nil:
		if _, err := b.from.live(); err != nil {
			return 0, err
		}
		return b.from.captured, nil
	case b.owner != nil:
		_, err := b.root.get(aGraphBuilder)
		return b.body, err
	}
	return b.get(aGraphBuilder)
}

// Device returns the device of the graph.
func (b *GraphBuilder) Device() Device { return b.s.device }

// Nodes returns the nodes in the order in which they were added, without those in bodies
// of conditional nodes and in child graphs.
func (b *GraphBuilder) Nodes() []*GraphNode { return slices.Clone(b.nodes) }

// Close destroys the builder and the bodies of its conditional nodes. Graphs that were made of
// it can still be launched, but not changed by their nodes. A second call does nothing;
// a body is closed with its builder.
func (b *GraphBuilder) Close() error {
	if b == nil || b.owner != nil {
		return nil
	}
	return b.shut()
}

// GraphPlace is a place in a graph, where its methods add a node.
type GraphPlace struct {
	b     *GraphBuilder
	after []*GraphNode
}

// After returns the place behind all of the given nodes: a node that is added there runs
// when they are done. Without nodes it runs as soon as the graph is launched.
func (b *GraphBuilder) After(nodes ...*GraphNode) GraphPlace {
	return GraphPlace{b, slices.Clone(nodes)}
}

// adding is a node that is being added.
type adding struct {
	g     *guard
	n     *GraphNode
	graph uintptr
	// before are the nodes that the new one comes after. It is on the heap, and kept by
	// the caller of put.
	before []uintptr
}

// call creates the node. As with callGo, memory of Go that the arguments point to is
// kept alive and moves to the heap.
//
//go:uintptrescapes
func (a *adding) call(f driver.Func, args ...uintptr) error {
	first := uintptr(0)
	if len(a.before) > 0 {
		first = uintptr(unsafe.Pointer(unsafe.SliceData(a.before)))
	}
	err := a.g.callGo(f, append([]uintptr{a.g.out(0), a.graph, first, uintptr(len(a.before))}, args...)...)
	runtime.KeepAlive(a.before)
	if err == nil {
		a.n.handle = a.g.result(0)
	}
	return err
}

// put adds a node, which create makes.
func (p GraphPlace) put(n *GraphNode, create func(a *adding) error) (_ *GraphNode, err error) {
	h, err := p.b.live()
	if err != nil {
		return nil, err
	}
	root := p.b.root
	n.b, n.index, n.after = p.b, root.last+1, slices.Clone(p.after)
	if err := p.b.check(n, n.after); err != nil {
		return nil, err
	}
	a := &adding{n: n, graph: h, before: make([]uintptr, 0, len(n.after))}
	for _, d := range n.after {
		a.before = append(a.before, d.handle)
	}
	g, err := p.b.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	a.g = &g
	if err := create(a); err != nil {
		if n.handle != 0 {
			root.broken = n // the driver has it, the program does not
		}
		return nil, about(err, "%s of the %s", n, root.what)
	}
	root.last = n.index
	p.b.nodes = append(p.b.nodes, n)
	return n, nil
}

// check refuses nodes that n cannot come after, and what its graph cannot have.
func (b *GraphBuilder) check(n *GraphNode, after []*GraphNode) error {
	if b.owner != nil && !n.kind.inBody() {
		return valueError("%s cannot be in the body of %s: add it to the graph itself", n, b.owner)
	}
	for i, d := range after {
		switch {
		case d == nil:
			return valueError("%s: node %d of those before it is nil", n, i)
		case d.b == nil:
			return in(fmt.Sprintf("%s: node %d of those before it", n, i), aGraphNode.zero())
		case d.b != b && d.b.root == b.root:
			return valueError("%s cannot come after %s, which is in another body of the graph: depend on the conditional node", n, d)
		case d.b != b:
			return valueError("%s cannot come after %s, which is of another graph", n, d)
		case slices.Index(after, d) != i:
			return valueError("%s: %s is given twice among the nodes before it", n, d)
		}
	}
	return nil
}

// DependOn makes the node run after more nodes of its graph. Graphs that exist already
// do not change.
func (n *GraphNode) DependOn(nodes ...*GraphNode) (err error) {
	if err := n.made(); err != nil {
		return err
	}
	h, err := n.b.live()
	if err != nil {
		return err
	}
	if n.b.from != nil {
		return valueError("%s was captured: its dependencies cannot be changed", n)
	}
	if err := n.b.check(n, nodes); err != nil {
		return err
	}
	from, to := make([]uintptr, len(nodes)), make([]uintptr, len(nodes))
	for i, d := range nodes {
		switch {
		case slices.Contains(n.after, d):
			return valueError("%s comes after %s already", n, d)
		case d.comesAfter(n):
			return valueError("%s cannot come after %s, which runs after it: that would be a cycle", n, d)
		}
		from[i], to[i] = d.handle, n.handle
	}
	if len(nodes) == 0 {
		return nil
	}
	g, err := n.b.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	err = g.callGo(driver.GraphAddDependencies, h, uintptr(unsafe.Pointer(unsafe.SliceData(from))), uintptr(unsafe.Pointer(unsafe.SliceData(to))), uintptr(len(nodes)))
	if err != nil {
		return about(err, "%s of the %s", n, n.b.root.what)
	}
	n.after = append(n.after, nodes...)
	return nil
}

// comesAfter reports whether the node is other, or runs after it.
func (n *GraphNode) comesAfter(other *GraphNode) bool {
	seen := map[*GraphNode]bool{}
	left := []*GraphNode{n}
	for len(left) > 0 {
		next := left[len(left)-1]
		left = left[:len(left)-1]
		if next == other {
			return true
		}
		if !seen[next] {
			seen[next] = true
			left = append(left, next.after...)
		}
	}
	return false
}

// GraphOption changes a new graph.
type GraphOption func(*graphConfig)

type graphConfig struct{ flags uintptr }

// AutoFree makes each launch of a graph free first what the launch before it has allocated
// and nobody has freed. Without it a graph that allocates memory and does not free it
// can be launched again only after that memory was freed.
func AutoFree() GraphOption { return func(c *graphConfig) { c.flags |= 1 } }

// NodePriorities makes each kernel of a graph run with its own priority, such as that of the
// stream that it was captured on, in place of the priority of the stream of the launch.
func NodePriorities() GraphOption { return func(c *graphConfig) { c.flags |= 8 } }

func instantiateFlags(options []GraphOption) uintptr {
	var c graphConfig
	for _, o := range options {
		o(&c)
	}
	return c.flags
}

// Instantiate makes a graph that can be launched. Nodes that are added afterwards are not
// part of it. A builder that allocates memory or has conditional nodes can have one graph at a
// time: close it first. The caller closes the graph.
func (b *GraphBuilder) Instantiate(options ...GraphOption) (graph *Graph, err error) {
	h, err := b.live()
	if err != nil {
		return nil, err
	}
	switch {
	case b.owner != nil:
		return nil, valueError("a body of %s cannot be launched: make a graph of the builder that has the node", b.owner)
	}
	if err := b.whole(); err != nil {
		return nil, err
	}
	for i, c := range b.conditions {
		if c.node == nil {
			return nil, valueError("condition %d of the %s has no node: give it to If, IfElse, While or Switch", i, b.what)
		}
	}
	if n := b.single(); n != nil && b.made != nil && b.made.handle.Load() != 0 {
		return nil, valueError("%s allows one graph of the %s at a time: close the other one first", n, b.what)
	}
	g, err := b.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.GraphInstantiateWithFlags, g.out(0), h, instantiateFlags(options)); err != nil {
		return nil, about(err, "a graph on %s", b.s.device)
	}
	graph = &Graph{from: b, nodes: b.last}
	for _, n := range b.nodes {
		if n.kind == nodeAlloc && n.freed == nil {
			graph.keeping = n
		}
	}
	graph.open(b.s, "graph on "+b.s.device.String(), g.result(0), graphs, driver.GraphExecDestroy)
	b.made = graph
	return graph, nil
}

// whole refuses a graph with a node that the driver has and the program does not.
func (b *GraphBuilder) whole() error {
	if n := b.root.broken; n != nil {
		return valueError("%s is not complete, because the driver refused a part of it: make a new graph", n)
	}
	return nil
}

// single returns a node that a graph with a second instance, or a child graph, must not
// have, nil if there is none.
func (b *GraphBuilder) single() *GraphNode {
	i := slices.IndexFunc(b.nodes, func(n *GraphNode) bool { return n.kind == nodeAlloc || n.kind == nodeFree || n.kind == nodeConditional })
	if i < 0 {
		return nil
	}
	return b.nodes[i]
}

// UpdateFrom replaces the parameters of the graph by those of a builder of the same form, with
// the rules of [Graph.Update]. The methods that change the graph still take the nodes that it was
// made of, not those of b.
func (gr *Graph) UpdateFrom(b *GraphBuilder) (err error) {
	h, err := gr.live()
	if err != nil {
		return err
	}
	from, err := b.live()
	if err != nil {
		return err
	}
	if b.s != gr.s {
		return valueError("the builder is of %s, the graph on %s: use a builder of that device", b.s.device, gr.s.device)
	}
	if b.owner != nil {
		return valueError("a body of %s cannot be a graph: use the builder that has the node", b.owner)
	}
	if err := b.whole(); err != nil {
		return err
	}
	g, err := gr.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	err = gr.update(&g, h, from, nil)
	if err == nil {
		gr.kept = b // whose arguments the graph uses now
		b.given = gr
	}
	return err
}

// Upload prepares a launch on a stream, so that the first launch is as cheap as the
// others. Nothing runs. It is queued on the stream, without waiting.
func (gr *Graph) Upload(stream *Stream) error {
	h, err := gr.live()
	if err != nil {
		return err
	}
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	return about(gr.s.queue(driver.GraphUpload, stream, h), "the %s", gr.what)
}

// made refuses a node that no builder has made.
func (n *GraphNode) made() error {
	if n == nil {
		return aGraphNode.none()
	}
	if n.b == nil {
		return aGraphNode.zero()
	}
	return nil
}

// part returns the CUgraphExec and the node, if the node is a part of the graph.
func (gr *Graph) part(n *GraphNode) (graph, node uintptr, err error) {
	h, err := gr.live()
	if err != nil {
		return 0, 0, err
	}
	if err := n.made(); err != nil {
		return 0, 0, err
	}
	switch {
	case n.b.from != nil:
		if n.b.from != gr {
			return 0, 0, valueError("%s is of another graph: pass a node of this one", n)
		}
	case n.b.root != gr.from:
		return 0, 0, valueError("%s is of another graph: pass a node of this one", n)
	case n.index > gr.nodes:
		return 0, 0, valueError("%s was added after the graph was made: make a new graph", n)
	}
	if _, err := n.b.live(); err != nil {
		return 0, 0, err
	}
	return h, n.handle, nil
}

// about says which node a failed call was for.
func (gr *Graph) about(n *GraphNode, err error) error {
	if owner := n.b.owner; err != nil && owner != nil {
		return about(err, "%s in the body of %s in the %s", n, owner, gr.what)
	}
	return about(err, "%s in the %s", n, gr.what)
}

// update calls the driver for Update and UpdateFrom. r is the recording of the work, nil for that
// of a builder.
func (gr *Graph) update(g *guard, h, from uintptr, r *recording) error {
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	g.scratch.out[1] = 0 // of which 4 bytes are written
	err := g.call(driver.GraphExecUpdate, h, from, g.out(0), g.out(1))
	if e, ok := err.(*Error); ok {
		e.Item = "the " + gr.what
		if reason := g.result(1); reason < uintptr(len(updateResults)) && updateResults[reason] != "" {
			e.Item += " (" + updateResults[reason] + ")"
		}
	}
	if err == nil {
		gr.has(r)
	}
	return err
}

// destroy destroys the graph, and the captured work that names its parts.
func (gr *Graph) destroy(g *guard, h uintptr) error {
	gr.calls.Lock()
	defer gr.calls.Unlock()
	gr.has(nil) // memory of a capture does not keep the graph
	err := g.call(driver.GraphExecDestroy, h)
	if gr.from != nil {
		return err
	}
	return cmp.Or(err, g.call(driver.GraphDestroy, gr.captured))
}
