package cuda

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// GraphNode is a part of a graph: one operation, which runs when the nodes before it are
// done.
type GraphNode struct {
	b      *GraphBuilder
	handle uintptr
	kind   nodeKind
	index  int    // from 1, in the order of creation
	label  string // what the node does
	after  []*GraphNode

	launch    kernelNode      // of a kernel; the arguments are not kept
	flat      bool            // a copy or fill of one dimension, which can be changed
	element   uint32          // of a fill: the bytes of an element, 0 if the node was captured
	direction [2]uint32       // of a copy: the kinds of memory of the source and the destination
	call      *graphCall      // of a function of Go
	child     []*GraphNode    // copies of the nodes of a child graph
	bodies    []*GraphBuilder // of a conditional node
	freed     *GraphNode      // that frees the memory of this one
	arguments []any           // kept alive
}

// nodeKind is CUgraphNodeType.
type nodeKind int32

const (
	nodeKernel      nodeKind = 0
	nodeCopy        nodeKind = 1
	nodeFill        nodeKind = 2
	nodeHost        nodeKind = 3
	nodeChild       nodeKind = 4
	nodeEmpty       nodeKind = 5
	nodeWait        nodeKind = 6
	nodeRecord      nodeKind = 7
	nodeAlloc       nodeKind = 10
	nodeFree        nodeKind = 11
	nodeConditional nodeKind = 13
)

var nodeKinds = map[nodeKind]string{
	nodeKernel: "kernel", nodeCopy: "copy", nodeFill: "fill", nodeHost: "function", nodeChild: "graph", nodeEmpty: "empty", nodeWait: "wait", nodeRecord: "record",
	nodeAlloc: "allocation", nodeFree: "free", nodeConditional: "conditional",
}

// inBody reports whether the body of a conditional node may have such nodes.
func (k nodeKind) inBody() bool {
	switch k {
	case nodeKernel, nodeCopy, nodeFill, nodeChild, nodeEmpty, nodeConditional:
		return true
	}
	return false
}

// Kind returns what sort of node it is: "kernel", "copy", "fill", "function", "graph", "empty",
// "wait", "record", "allocation", "free", "conditional", or "other" for a node of a captured graph
// that this package cannot make.
func (n *GraphNode) Kind() string {
	if name, ok := nodeKinds[n.kind]; ok {
		return name
	}
	return "other"
}

// String returns the number of the node in its graph and what it does, as in
// `node 2 (kernel "saxpy")`.
func (n *GraphNode) String() string { return fmt.Sprintf("node %d (%s)", n.index, n.label) }

// Kernel adds the launch of a kernel, with the configuration and the arguments of
// [Kernel.Launch]. The stream of c must be nil. With Programmatic the kernel may start before
// the kernels that it comes after have ended.
func (p GraphPlace) Kernel(k *Kernel, c LaunchConfig, args ...any) (*GraphNode, error) {
	if err := k.usable(); err != nil {
		return nil, err
	}
	n := &GraphNode{kind: nodeKernel, label: fmt.Sprintf("kernel %q", k.name), arguments: slices.Clone(args)}
	if _, err := p.b.live(); err != nil {
		return nil, err
	}
	switch {
	case k.m.s != p.b.s:
		return nil, valueError("the kernel %q is of %s, the graph on %s: load the module there", k.name, k.m.s.device, p.b.s.device)
	case c.Stream != nil:
		return nil, valueError("launch of %q in a graph: the stream is given when the graph is launched: leave it out", k.name)
	case c.Programmatic && !slices.ContainsFunc(p.after, func(d *GraphNode) bool { return d != nil && d.kind == nodeKernel }):
		return nil, valueError("launch of %q in a graph: Programmatic is about a kernel before it: there is none", k.name)
	case c.Programmatic && !driver.Has(driver.GraphAddDependenciesData):
		return nil, failed(driver.Missing, driver.GraphAddDependenciesData, fmt.Sprintf("the kernel %q", k.name))
	}
	if err := k.check(&c); err != nil {
		return nil, err
	}
	l := launches.Get().(*launch)
	defer launches.Put(l)
	if err := l.pack(k, args); err != nil {
		return nil, err
	}
	return p.put(n, func(a *adding) error {
		if err := k.reserve(c.Shared); err != nil {
			return err
		}
		var early []uintptr
		if c.Programmatic {
			early = a.split()
		}
		n.launch = kernelNode{function: k.handle, grid: c.Grid, block: c.Block, shared: uint32(c.Shared), params: l.params()}
		err := a.call(driver.GraphAddKernelNode, uintptr(unsafe.Pointer(&n.launch)))
		runtime.KeepAlive(l)
		runtime.KeepAlive(args)
		n.launch.params = 0
		if err != nil {
			return err
		}
		if err := a.attributes(l, &c); err != nil {
			return err
		}
		return a.depend(early)
	})
}

// split takes the kernels out of the nodes that the new one comes after.
func (a *adding) split() (kernels []uintptr) {
	a.before = a.before[:0]
	for _, d := range a.n.after {
		if d.kind == nodeKernel {
			kernels = append(kernels, d.handle)
		} else {
			a.before = append(a.before, d.handle)
		}
	}
	return kernels
}

// edge is CUgraphEdgeData.
type edge struct {
	from, to, kind uint8
	_              [5]uint8
}

// depend makes the new kernel start when the kernels before it say so.
func (a *adding) depend(kernels []uintptr) error {
	if len(kernels) == 0 {
		return nil
	}
	const programmatic = 1
	to, data := make([]uintptr, len(kernels)), make([]edge, len(kernels))
	for i := range to {
		to[i], data[i] = a.n.handle, edge{from: programmatic, kind: programmatic}
	}
	return a.g.callGo(driver.GraphAddDependenciesData, a.graph, uintptr(unsafe.Pointer(unsafe.SliceData(kernels))), uintptr(unsafe.Pointer(unsafe.SliceData(to))),
		uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(kernels)))
}

// attributes sets what the parameters of a kernel node do not have: the attributes of a
// launch, apart from the one that is an edge in a graph.
func (a *adding) attributes(l *launch, c *LaunchConfig) error {
	l.extend(c, 0)
	for i := range l.config.n {
		t := &l.attributes[i]
		if t.id == launchProgrammatic {
			continue
		}
		if err := a.g.callGo(driver.GraphKernelNodeSetAttribute, a.n.handle, uintptr(t.id), uintptr(unsafe.Pointer(&t.value))); err != nil {
			return err
		}
	}
	return nil
}

// Empty adds a node that does nothing, as a point that others come after.
func (p GraphPlace) Empty() (*GraphNode, error) {
	return p.put(&GraphNode{kind: nodeEmpty, label: "empty"}, func(a *adding) error { return a.call(driver.GraphAddEmptyNode) })
}

// Record adds a node that records an event of the device, as [Event.Record] does, at each
// launch.
func (p GraphPlace) Record(e *Event) (*GraphNode, error) {
	h, err := e.live()
	if err != nil {
		return nil, err
	}
	if _, err := p.b.live(); err != nil {
		return nil, err
	}
	if e.s != p.b.s {
		return nil, valueError("the event is of %s, the graph on %s: use an event of that device", e.s.device, p.b.s.device)
	}
	return p.put(&GraphNode{kind: nodeRecord, label: "record of an event", arguments: []any{e}}, func(a *adding) error {
		return a.call(driver.GraphAddEventRecordNode, h)
	})
}

// Wait adds a node that waits, at each launch, for the work before the latest Record of the
// event. The event may be of another device.
func (p GraphPlace) Wait(e *Event) (*GraphNode, error) {
	h, err := e.live()
	if err != nil {
		return nil, err
	}
	return p.put(&GraphNode{kind: nodeWait, label: "wait for an event", arguments: []any{e}}, func(a *adding) error {
		return a.call(driver.GraphAddEventWaitNode, h)
	})
}

// Child adds a copy of another graph of the device as one node. Later changes of the other
// graph do not reach it. That graph must not allocate memory or have conditional nodes.
func (p GraphPlace) Child(other *GraphBuilder) (*GraphNode, error) {
	if _, err := p.b.live(); err != nil {
		return nil, err
	}
	h, err := other.asChild(p.b.s)
	if err != nil {
		return nil, err
	}
	if other == p.b.root {
		return nil, valueError("a graph cannot be a child graph of itself")
	}
	if p.b.owner != nil {
		if d := forbidden(other.nodes); d != nil {
			return nil, valueError("a child graph that has %s cannot be in the body of %s", d, p.b.owner)
		}
	}
	n := &GraphNode{kind: nodeChild, label: fmt.Sprintf("graph of %d nodes", len(other.nodes)), child: slices.Clone(other.nodes)}
	return p.put(n, func(a *adding) error { return a.call(driver.GraphAddChildGraphNode, h) })
}

// asChild returns the CUgraph if it can be a child graph on the device of s.
func (b *GraphBuilder) asChild(s *state) (uintptr, error) {
	h, err := b.live()
	if err != nil {
		return 0, err
	}
	if err := b.whole(); err != nil {
		return 0, err
	}
	switch single := b.single(); {
	case b.owner != nil:
		return 0, valueError("a body of %s cannot be a child graph: use a builder of its own", b.owner)
	case single != nil:
		return 0, valueError("a graph that has %s cannot be a child graph: CUDA allows it in one place only", single)
	case b.s != s:
		return 0, valueError("the child graph is of %s, the graph on %s: use a builder of that device", b.s.device, s.device)
	}
	return h, nil
}

// forbidden returns a node that no body of a conditional node may have, in child graphs
// too.
func forbidden(nodes []*GraphNode) *GraphNode {
	for _, n := range nodes {
		if !n.kind.inBody() {
			return n
		}
		if d := forbidden(n.child); d != nil {
			return d
		}
	}
	return nil
}

// Capture adds the work that f queues on the stream, which is captured as by
// [Stream.Capture], as one node. So calls of libraries can be a part of a graph, and of the bodies
// of conditional nodes. f must not allocate memory.
func (p GraphPlace) Capture(stream *Stream, f func() error) (n *GraphNode, err error) {
	h, err := stream.capturable()
	if err != nil {
		return nil, err
	}
	if _, err := p.b.live(); err != nil {
		return nil, err
	}
	if stream.s != p.b.s {
		return nil, valueError("the stream is of %s, the graph on %s: use a stream of that device", stream.s.device, p.b.s.device)
	}
	err = stream.record(h, f, func(g *guard, captured uintptr, _ *recording) error {
		var failed error
		n, failed = p.put(&GraphNode{kind: nodeChild, label: "captured graph"}, func(a *adding) error { return a.call(driver.GraphAddChildGraphNode, captured) })
		if err := g.call(driver.GraphDestroy, captured); failed == nil { // the node has a copy
			failed = about(err, "the captured graph")
		}
		return failed
	})
	return n, err
}

// graphCall is the function of a node. It is called once for each launch of a graph,
// perhaps of several at a time.
type graphCall struct {
	f     func() error
	mu    sync.Mutex
	first error
}

func (c *graphCall) run() {
	var err error
	defer func() {
		if p := recover(); p != nil { // which must not unwind into the driver
			err = failure.Recovered(p, "a function that a graph called")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.first == nil {
			c.first = err
		}
	}()
	err = c.f()
}

// The functions of nodes, by a number that the driver carries: it must not hold pointers of Go.
// A number is in use until the driver destroys the user object that stands for it, which
// belongs to all graphs that have the node, and to their launches until these are done.
var graphCalls sync.Map // uintptr to *graphCall

// The CUhostFn that runs the function of a node, and the one for the end of its user
// object. They are made once, because they are never freed.
var (
	graphCallback = sync.OnceValue(func() uintptr {
		return purego.NewCallback(func(id uintptr) uintptr {
			if c, ok := graphCalls.Load(id); ok {
				c.(*graphCall).run()
			}
			return 0
		})
	})
	graphCallEnd = sync.OnceValue(func() uintptr {
		return purego.NewCallback(func(id uintptr) uintptr {
			graphCalls.Delete(id)
			return 0
		})
	})
)

// hostNode is CUDA_HOST_NODE_PARAMS.
type hostNode struct{ function, data uintptr }

// Call adds a function of Go, which each launch calls on a thread of the driver. The rules
// are those of [Stream.Call]: it must not call CUDA, must not end its goroutine, and must
// not wait for work of the device. Two launches on different streams may call it at the
// same time if they are of two graphs. It is kept until all graphs that have the node are closed
// and their launches are done. [GraphNode.CallErr] returns its error or its panic.
func (p GraphPlace) Call(f func() error) (*GraphNode, error) {
	if f == nil {
		return nil, valueError("the function for the graph is nil: pass one")
	}
	n := &GraphNode{kind: nodeHost, label: "Go function", call: &graphCall{f: f}}
	return p.put(n, func(a *adding) error {
		id := hostCallLast.Add(1)
		graphCalls.Store(id, n.call)
		const noSync = 1 // the end of the object waits for nothing, the only kind there is
		if err := a.g.call(driver.UserObjectCreate, a.g.out(1), id, graphCallEnd(), 1, noSync); err != nil {
			graphCalls.Delete(id)
			return err
		}
		const move = 1 // our reference becomes that of the graph
		object := a.g.result(1)
		if err := a.g.call(driver.GraphRetainUserObject, a.graph, object, 1, move); err != nil {
			a.g.raw(driver.UserObjectRelease, object, 1)
			return err
		}
		return a.call(driver.GraphAddHostNode, uintptr(unsafe.Pointer(&hostNode{graphCallback(), id})))
	})
}

// CallErr returns the first error of the function of a node of [GraphPlace.Call] since the
// last call of CallErr, or its panic as a *tvmffi.Error of kind RuntimeError, whose
// Backtrace has the stack. A panic with a *tvmffi.Error is that error. Synchronize the stream of
// the launch before.
func (n *GraphNode) CallErr() error {
	if n == nil || n.call == nil {
		return nil
	}
	n.call.mu.Lock()
	defer n.call.mu.Unlock()
	err := n.call.first
	n.call.first = nil
	return err
}
