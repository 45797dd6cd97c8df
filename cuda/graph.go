package cuda

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Graph is work that can be queued again at the cost of one launch: what [Stream.Capture]
// has recorded, or what a [GraphBuilder] describes. One goroutine at a time may change it, by
// Update, [Graph.SetKernel] and the other methods that set something.
//
// A graph keeps arguments alive that are objects of Go, until they are replaced or it is closed.
// Launches queued before still use the former ones: synchronise their stream first, or pass them
// to [Stream.Keep].
type Graph struct {
	resource
	captured  uintptr                      // the work that it was made of, which names its parts
	from      *GraphBuilder                // in place of captured
	nodes     int                          // that the builder had when the graph was made
	keeping   *GraphNode                   // that allocates what the graph does not free
	kept      *GraphBuilder                // of UpdateFrom
	read      atomic.Pointer[GraphBuilder] // the nodes of captured work, once they were asked for
	arguments map[*GraphNode][]any         // of nodes that were set: kept alive

	// calls is held for each call of the driver with the graph, or with the captured work: NVIDIA
	// forbids two of them at a time, also those that only read.
	calls     sync.Mutex
	recording *recording    // whose memory the graph allocates, nil for none; calls is held
	launches  atomic.Uint64 // with a recording
}

// Capture calls f and records the work that it queues on the stream, and on
// streams that wait for it by events, in place of running it. f stays on one OS
// thread; with libtvm_ffi loaded the stream is its environment stream there, so
// that FFI functions are captured too. What its work uses must live as long as the
// graph. If f fails or panics, the capture ends and its work is thrown away. The
// caller closes the graph.
//
// The driver refuses calls in f that wait, or that allocate or free at once; the capture would
// fail. This package refuses them before: Synchronize and Done, CopyIn and CopyOut, Alloc and
// Free. Kernels may be loaded there. Other goroutines may use the device, except that
// [Device.Synchronize], [Addresses.Unmap], [Addresses.Close] and [Multicast.Unbind] are errors
// until the capture ends. Unless the stream was made by [NonBlocking], the default stream, which
// waits for it, cannot be used either; work that another goroutine queues there at the moment
// when Capture begins can make it fail. Capture waits at its start until calls of other
// goroutines that wait for the device have returned: Synchronize, Free, Unmap, Unbind, and Close
// of modules, addresses and staging memory. Its end waits for nothing. The same holds for another
// device of which a stream waits for an event of the capture, until no capture runs in the
// process. Other goroutines must not use the stream itself until Capture returns.
//
// Memory that f allocates by [Device.AllocAsync] on the stream is allocated by each launch. If f
// does not free it by FreeAsync, the work after a launch can use it; it must be freed before
// the next launch, unless the graph is made with [AutoFree], and after the last one.
func (st *Stream) Capture(f func() error, options ...GraphOption) (graph *Graph, err error) {
	h, err := st.capturable()
	if err != nil {
		return nil, err
	}
	err = st.record(h, f, func(g *guard, captured uintptr, r *recording) error {
		if err := g.call(driver.GraphInstantiateWithFlags, g.out(0), captured, instantiateFlags(options)); err != nil {
			return errors.Join(about(err, "a graph on %s", st.s.device), g.call(driver.GraphDestroy, captured))
		}
		graph = &Graph{captured: captured}
		graph.open(st.s, "graph on "+st.s.device.String(), g.result(0), graphs, driver.GraphExecDestroy)
		graph.has(r)
		return nil
	})
	return graph, err
}

// record captures what f queues and gives it to use, on one thread.
func (st *Stream) record(h uintptr, f func() error, use func(g *guard, captured uintptr, r *recording) error) error {
	return WithDevice(st.s.device, func() (err error) {
		g, err := st.s.enter()
		if err != nil {
			return err
		}
		defer g.leave(&err)
		captured, r, err := st.capture(&g, h, f)
		if err != nil {
			return err
		}
		err = use(&g, captured, r)
		r.thrown.Store(r.of.Load() == nil)
		return err
	})
}

// capturable returns the CUstream if it can be captured.
func (st *Stream) capturable() (uintptr, error) {
	if st == nil {
		return 0, aStream.none()
	}
	h, err := st.get()
	if err == nil && h == 0 {
		err = valueError("the default stream cannot be captured: make one with NewStream")
	}
	return h, err
}

// capture returns the work that f queues, which the caller destroys.
func (st *Stream) capture(g *guard, h uintptr, f func() error) (captured uintptr, r *recording, err error) {
	r, ends, err := st.begin(g, h)
	if err != nil {
		return 0, nil, err
	}
	defer ends()
	ended := false
	end := func() (captured uintptr, err error) { // both, if the work is there and the device is not current
		ended = true
		var left error
		g.again(&left) // f may have changed the device
		if err := g.call(driver.StreamEndCapture, h, g.out(0)); err != nil {
			also(&left, about(err, "the stream of %s", st.s.device))
			return 0, left
		}
		return g.result(0), left
	}
	defer func() {
		if ended {
			return
		}
		// f panicked: the graph is useless, and the panic continues.
		r.thrown.Store(true)
		if captured, _ := end(); captured != 0 {
			driver.Call(driver.GraphDestroy, captured)
		}
	}()
	run := f
	if findEnv() {
		run = func() error { return withEnv(st, f) }
	}
	failure := run()
	captured, err = end()
	if err != nil || failure != nil {
		r.thrown.Store(true)
		if captured != 0 {
			also(&err, g.call(driver.GraphDestroy, captured))
		}
		if failure != nil && err != nil {
			return 0, nil, errors.Join(failure, err)
		}
		return 0, nil, cmp.Or(failure, err)
	}
	return captured, r, nil
}

// Launch queues the work of the graph on a stream of its device, without waiting.
// A graph does not run beside itself: the second launch waits for the first. Several goroutines
// may launch it.
func (gr *Graph) Launch(stream *Stream) error {
	h, err := gr.live()
	if err != nil {
		return err
	}
	w := withins.Get().(*ccall.Within)
	defer withins.Put(w)
	w.Args[0], w.Args[1], w.Lookup = h, 0, 0
	if stream != nil {
		if w.Args[1], err = stream.of(gr.s); err != nil {
			return err
		}
	} else if findEnv() {
		w.Lookup, w.LookupArgs, w.LookupTo = envGet.Load(), [2]uintptr{abi.DLCUDA, uintptr(gr.s.device)}, uintptr(unsafe.Pointer(&w.Args[1]))
	}
	if on := w.Args[1]; on <= streamLegacy && gr.s.order.legacy.Load() != 0 {
		if err := gr.s.launchable(on, stream == nil); err != nil {
			return err
		}
	}
	if w.Want, err = gr.s.held(); err != nil {
		return err
	}
	if err := gr.lock(); err != nil {
		return err
	}
	counted := gr.recording != nil
	if counted {
		gr.launches.Add(1) // before: the work may have run when the driver returns
	}
	err, left := gr.s.within(w, driver.GraphLaunch)
	if counted && err != nil {
		gr.launches.Add(^uint64(0))
	}
	gr.calls.Unlock()
	if err != nil {
		err = gr.explain(err)
	}
	if left != nil {
		return errors.Join(err, left)
	}
	return err
}

// explain says what a failed launch was for, and why a graph cannot be launched twice.
func (gr *Graph) explain(err error) error {
	if errors.Is(err, ErrInvalidValue) {
		if n := gr.unfreed(); n != nil {
			return about(err, "the %s: %s has memory of the last launch that nobody has freed; free it before the next launch, or make the graph with AutoFree", gr.what, n)
		}
	}
	return about(err, "the %s", gr.what)
}

// Update replaces the work of the graph by what f queues on the stream, which is
// captured as by [Stream.Capture]: much cheaper than a new graph. The work must be of
// the same form, the same kinds in the same order; where it is not, the error is
// [ErrGraphUpdate] and the graph does what it did before. Launches that are queued
// are not changed.
func (gr *Graph) Update(stream *Stream, f func() error) error {
	h, err := gr.live()
	if err != nil {
		return err
	}
	on, err := stream.capturable()
	if err != nil {
		return err
	}
	if stream.s != gr.s {
		return valueError("the stream is of %s, the graph on %s: use a stream of that device", stream.s.device, gr.s.device)
	}
	return stream.record(on, f, func(g *guard, captured uintptr, r *recording) error {
		err := gr.update(g, h, captured, r)
		return cmp.Or(err, about(g.call(driver.GraphDestroy, captured), "the %s", gr.what))
	})
}

// updateResults are CUgraphExecUpdateResult.
var updateResults = [...]string{
	2: "the work has another form", 3: "a part is of another kind", 4: "another function", 5: "parameters of a part cannot be changed",
	6: "the driver cannot change a part", 7: "the change of the function is not possible", 8: "attributes differ",
}

// kernelNode is CUDA_KERNEL_NODE_PARAMS of CUDA 10.
type kernelNode struct {
	function      uintptr
	grid, block   Dim3
	shared        uint32
	params, extra uintptr
}

// Kernels returns the nodes that launch a kernel in the graph, in the order in which the
// driver lists them: that of the capture, on one stream. Those inside bodies and child
// graphs are not among them. [Graph.SetKernel] changes one.
func (gr *Graph) Kernels(k *Kernel) (launches []*GraphNode, err error) {
	if _, err := gr.live(); err != nil {
		return nil, err
	}
	if err := k.usable(); err != nil {
		return nil, err
	}
	nodes, err := gr.Nodes()
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if n.kind == nodeKernel && n.launch.function == k.handle {
			launches = append(launches, n)
		}
	}
	return launches, nil
}

// SetKernel changes kernel, grid, block, shared memory and arguments of a node, for launches of
// the graph from now on. Stream, cluster and the other attributes stay as they are in the
// graph; they must be left out of c. The node may be in the body of a conditional node: for the
// parameters of nodes there NVIDIA's rules are those for other nodes.
func (gr *Graph) SetKernel(n *GraphNode, k *Kernel, c LaunchConfig, args ...any) (err error) {
	h, node, err := gr.part(n)
	if err != nil {
		return err
	}
	if n.kind != nodeKernel {
		return valueError("%s is not a kernel", n)
	}
	if err := k.usable(); err != nil {
		return err
	}
	if k.m.s != gr.s {
		return valueError("the kernel %q is of %s, the graph on %s: load the module there", k.name, k.m.s.device, gr.s.device)
	}
	if c.Stream != nil || c.extended() {
		return valueError("launch of %q in a graph: stream, cluster and attributes stay as they were captured or added: leave them out", k.name)
	}
	if err := k.check(&c); err != nil {
		return err
	}
	l := launches.Get().(*launch)
	defer launches.Put(l)
	if err := l.pack(k, args); err != nil {
		return err
	}
	g, err := gr.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := k.reserve(c.Shared); err != nil {
		return err
	}
	p := &kernelNode{function: k.handle, grid: c.Grid, block: c.Block, shared: uint32(c.Shared), params: l.params()}
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	err = g.callGo(driver.GraphExecKernelNodeSetParams, h, node, uintptr(unsafe.Pointer(p)))
	runtime.KeepAlive(l)
	runtime.KeepAlive(args)
	if err != nil {
		return gr.about(n, err)
	}
	gr.keep(n, slices.Clone(args)) // the slice is the caller's
	return nil
}

// keep keeps the new arguments of a node alive as long as the graph.
func (gr *Graph) keep(n *GraphNode, args []any) {
	if gr.arguments == nil {
		gr.arguments = map[*GraphNode][]any{}
	}
	gr.arguments[n] = args
}

// SetEvent changes the event of a node that records one or waits for one, for launches of the
// graph from now on.
func (gr *Graph) SetEvent(n *GraphNode, e *Event) error {
	h, node, err := gr.part(n)
	if err != nil {
		return err
	}
	event, err := e.live()
	if err != nil {
		return err
	}
	f := driver.GraphExecEventRecordNodeSetEvent
	switch n.kind {
	case nodeRecord:
		if e.s != gr.s {
			return valueError("the event is of %s, the graph on %s: use an event of that device", e.s.device, gr.s.device)
		}
	case nodeWait:
		f = driver.GraphExecEventWaitNodeSetEvent
	default:
		return valueError("%s has no event", n)
	}
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	if err := gr.s.do(f, h, node, event); err != nil {
		return gr.about(n, err)
	}
	gr.keep(n, []any{e})
	return nil
}

// SetChild replaces the parameters of a child graph, for launches of the graph from now on, by
// those of a builder that has nodes of the same kinds, added in the same order.
func (gr *Graph) SetChild(n *GraphNode, other *GraphBuilder) error {
	h, node, err := gr.part(n)
	if err != nil {
		return err
	}
	if n.kind != nodeChild {
		return valueError("%s is not a child graph", n)
	}
	child, err := other.asChild(gr.s)
	if err != nil {
		return err
	}
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	if err := gr.s.do(driver.GraphExecChildGraphNodeSetParams, h, node, child); err != nil {
		return gr.about(n, err)
	}
	gr.keep(n, []any{slices.Clone(other.nodes)})
	return nil
}

// Enable switches a node on or off for launches of the graph from now on; a node that is off does
// nothing, and those behind it run as usual. It must be a kernel, a copy or a fill, and may be in
// the body of a conditional node.
func (gr *Graph) Enable(n *GraphNode, on bool) error {
	h, node, err := gr.part(n)
	if err != nil {
		return err
	}
	switch n.kind {
	case nodeKernel, nodeCopy, nodeFill:
	default:
		return valueError("%s cannot be switched off: only kernels, copies and fills can", n)
	}
	enabled := uintptr(0)
	if on {
		enabled = 1
	}
	if err := gr.lock(); err != nil {
		return err
	}
	defer gr.calls.Unlock()
	return gr.about(n, gr.s.do(driver.GraphNodeSetEnabled, h, node, enabled))
}

func (gr *Graph) live() (uintptr, error) {
	if gr == nil {
		return 0, aGraph.none()
	}
	return gr.get(aGraph)
}

// lock takes gr.calls for a call of the driver. Close may have come since the caller looked.
func (gr *Graph) lock() error {
	gr.calls.Lock()
	if _, err := gr.live(); err != nil {
		gr.calls.Unlock()
		return err
	}
	return nil
}

// Close destroys the graph; launches that are queued still run. A second call
// does nothing.
func (gr *Graph) Close() (err error) {
	if gr == nil || gr.handle.Load() == 0 {
		return nil
	}
	g, err := gr.s.enter()
	if err != nil {
		return about(err, "the %s", gr.what)
	}
	defer g.leave(&err)
	h := gr.handle.Swap(0)
	if h == 0 {
		return nil
	}
	gr.s.live[graphs].Add(-1)
	return about(gr.destroy(&g, h), "the %s", gr.what)
}
