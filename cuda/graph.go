package cuda

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Graph is captured work that can be queued again at the cost of one launch. One
// goroutine at a time may change it, by Update and [GraphKernel.Set].
type Graph struct {
	resource
	captured uintptr // the work that it was made of, which names its parts
}

// Capture calls f and records the work that it queues on the stream, and on
// streams that wait for it by events, in place of running it. f stays on one OS
// thread; with libtvm_ffi loaded the stream is its environment stream there, so
// that FFI functions are captured too. f must not wait for the device, and what
// its work uses must live as long as the graph. If f fails or panics, the capture
// ends and its work is thrown away. The caller closes the graph.
func (st *Stream) Capture(f func() error) (graph *Graph, err error) {
	h, err := st.capturable()
	if err != nil {
		return nil, err
	}
	err = st.record(h, f, func(g *guard, captured uintptr) error {
		if err := g.call(driver.GraphInstantiateWithFlags, g.out(0), captured, 0); err != nil {
			return errors.Join(about(err, "a graph on %s", st.s.device), g.call(driver.GraphDestroy, captured))
		}
		graph = &Graph{captured: captured}
		graph.open(st.s, "graph on "+st.s.device.String(), g.result(0), graphs, driver.GraphExecDestroy)
		return nil
	})
	return graph, err
}

// record captures what f queues and gives it to use, on one thread.
func (st *Stream) record(h uintptr, f func() error, use func(g *guard, captured uintptr) error) error {
	return WithDevice(st.s.device, func() (err error) {
		g, err := st.s.enter()
		if err != nil {
			return err
		}
		defer g.leave(&err)
		captured, err := st.capture(&g, h, f)
		if err != nil {
			return err
		}
		return use(&g, captured)
	})
}

// capturable returns the CUstream if it can be captured.
func (st *Stream) capturable() (uintptr, error) {
	if st == nil {
		return 0, valueError("the stream is nil: make one with NewStream")
	}
	h, err := st.get()
	if err == nil && h == 0 {
		err = valueError("the default stream cannot be captured: make one with NewStream")
	}
	return h, err
}

// capture returns the work that f queues, which the caller destroys.
func (st *Stream) capture(g *guard, h uintptr, f func() error) (captured uintptr, err error) {
	// Other threads may go on with calls that a capture does not allow.
	const threadLocal = 1
	if err := g.call(driver.StreamBeginCapture, h, threadLocal); err != nil {
		return 0, about(err, "the stream of %s", st.s.device)
	}
	ended := false
	end := func() (uintptr, error) {
		ended = true
		err := g.call(driver.StreamEndCapture, h, g.out(0))
		return g.result(0), about(err, "the stream of %s", st.s.device)
	}
	defer func() {
		if ended {
			return
		}
		// f panicked: the graph is useless, and the panic continues.
		if captured, err := end(); err == nil && captured != 0 {
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
		if err == nil && captured != 0 {
			err = g.call(driver.GraphDestroy, captured)
		}
		if failure != nil && err != nil {
			return 0, errors.Join(failure, err)
		}
		return 0, cmp.Or(failure, err)
	}
	return captured, nil
}

// Launch queues the work of the graph on a stream of its device, without waiting.
// A graph does not run beside itself: the second launch waits for the first.
func (gr *Graph) Launch(stream *Stream) error {
	h, err := gr.live()
	if err != nil {
		return err
	}
	if err := gr.s.queue(driver.GraphLaunch, stream, h); err != nil {
		return about(err, "the %s", gr.what)
	}
	return nil
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
	return stream.record(on, f, func(g *guard, captured uintptr) error {
		g.scratch.out[1] = 0 // of which 4 bytes are written
		err := g.call(driver.GraphExecUpdate, h, captured, g.out(0), g.out(1))
		if e, ok := err.(*Error); ok {
			e.Item = "the " + gr.what
			if reason := g.result(1); reason < uintptr(len(updateResults)) && updateResults[reason] != "" {
				e.Item += " (" + updateResults[reason] + ")"
			}
		}
		return cmp.Or(err, about(g.call(driver.GraphDestroy, captured), "the %s", gr.what))
	})
}

// updateResults are CUgraphExecUpdateResult.
var updateResults = [...]string{
	2: "the work has another form", 3: "a part is of another kind", 4: "another function", 5: "parameters of a part cannot be changed",
	6: "the driver cannot change a part", 7: "the change of the function is not possible", 8: "attributes differ",
}

// GraphKernel is the launch of a kernel in a graph.
type GraphKernel struct {
	graph *Graph
	node  uintptr
	k     *Kernel
}

// kernelNode is CUDA_KERNEL_NODE_PARAMS of CUDA 10.
type kernelNode struct {
	function      uintptr
	grid, block   Dim3
	shared        uint32
	params, extra uintptr
}

// Kernels returns the launches of a kernel in the graph, in the order in which the
// driver lists them: that of the capture, on one stream.
func (gr *Graph) Kernels(k *Kernel) (launches []*GraphKernel, err error) {
	if _, err := gr.live(); err != nil {
		return nil, err
	}
	if k == nil {
		return nil, valueError("the kernel is nil")
	}
	g, err := gr.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.GraphGetNodes, gr.captured, 0, g.out(0)); err != nil {
		return nil, about(err, "the %s", gr.what)
	}
	nodes := make([]uintptr, g.result(0))
	if len(nodes) == 0 {
		return nil, nil
	}
	if err := g.callGo(driver.GraphGetNodes, gr.captured, uintptr(unsafe.Pointer(unsafe.SliceData(nodes))), g.out(0)); err != nil {
		return nil, about(err, "the %s", gr.what)
	}
	p := new(kernelNode)
	for _, node := range nodes {
		const kernelType = 0
		if err := g.call(driver.GraphNodeGetType, node, g.out(0)); err != nil {
			return nil, about(err, "the %s", gr.what)
		}
		if uint32(g.result(0)) != kernelType {
			continue
		}
		if err := g.callGo(driver.GraphKernelNodeGetParams, node, uintptr(unsafe.Pointer(p))); err != nil {
			return nil, about(err, "the %s", gr.what)
		}
		if p.function == k.handle {
			launches = append(launches, &GraphKernel{gr, node, k})
		}
	}
	return slices.Clip(launches), nil
}

// Set changes grid, block, shared memory and arguments of the launch, for launches
// of the graph from now on. Stream, cluster and the other attributes stay as they were
// captured; they must be left out of c.
func (n *GraphKernel) Set(c LaunchConfig, args ...any) (err error) {
	if n == nil {
		return valueError("the launch in the graph is nil")
	}
	h, err := n.graph.live()
	if err != nil {
		return err
	}
	if _, err := n.k.m.live(); err != nil {
		return err
	}
	if c.Stream != nil || !c.Cluster.none() || c.Cooperative || c.Programmatic {
		return valueError("launch of %q in a graph: stream, cluster and attributes stay as they were captured: leave them out", n.k.name)
	}
	if err := n.k.check(&c); err != nil {
		return err
	}
	l := launches.Get().(*launch)
	defer launches.Put(l)
	if err := l.pack(n.k, args); err != nil {
		return err
	}
	g, err := n.graph.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := n.k.reserve(c.Shared); err != nil {
		return err
	}
	p := &kernelNode{function: n.k.handle, grid: c.Grid, block: c.Block, shared: uint32(c.Shared), params: l.params()}
	err = g.callGo(driver.GraphExecKernelNodeSetParams, h, n.node, uintptr(unsafe.Pointer(p)))
	runtime.KeepAlive(l)
	runtime.KeepAlive(args)
	if err != nil {
		return about(err, "the kernel %q in the %s", n.k.name, n.graph.what)
	}
	return nil
}

func (gr *Graph) live() (uintptr, error) {
	if gr == nil {
		return 0, valueError("the graph is nil")
	}
	return gr.get()
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
	return about(cmp.Or(g.call(driver.GraphExecDestroy, h), g.call(driver.GraphDestroy, gr.captured)), "the %s", gr.what)
}
