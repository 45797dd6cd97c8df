package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func init() {
	children["conditional"] = conditionalChild
	scenarios["graphs"] = graphScenario
}

// conditionalChild runs with a driver that is too old for a part of the nodes.
func conditionalChild() error {
	b, err := cuda.Device(0).NewGraph()
	if err != nil {
		return err
	}
	defer b.Close()
	c, err := b.NewCondition(1)
	if err != nil {
		fmt.Println(err)
		return nil
	}
	_, _, _, err = b.After().IfElse(c)
	fmt.Println(err)
	_, _, err = b.After().Switch(c, 3)
	fmt.Println(err)
	_, _, err = b.After().While(c)
	return err
}

func TestConditionalsOfOldDrivers(t *testing.T) {
	path := buildFake(t)
	out := child(t, "conditional", "TVMFFI_CUDA_LIBRARY="+path, "FAKECUDA_VERSION=12040")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "the driver (CUDA 12.4) has no else and no switch in graphs, which came with CUDA 12.8: update the NVIDIA driver, in cuGraphAddNode for the node if else") ||
		!strings.Contains(lines[1], "for the node switch of 3") {
		t.Errorf("%s", out)
	}
	out = child(t, "conditional", "TVMFFI_CUDA_LIBRARY="+path, "FAKECUDA_VERSION=12020")
	if !strings.Contains(out, "the driver (CUDA 12.2) has no such function, which came with CUDA 12.3: update the NVIDIA driver, in cuGraphConditionalHandleCreate for a condition of the graph builder on cuda:0") {
		t.Errorf("%s", out)
	}
}

// numbers reads int32.
func (r *graphRig) numbers(m *cuda.Memory, want ...int32) {
	r.t.Helper()
	got := make([]int32, len(want))
	ok(r.t, cuda.CopyOut(got, m))
	if !slices.Equal(got, want) {
		r.t.Errorf("the memory has %v, want %v", got, want)
	}
}

func (r *graphRig) ints(values ...int32) *cuda.Memory {
	r.t.Helper()
	m := must[*cuda.Memory](r.t)(cuda.AllocOf(r.d, values))
	r.t.Cleanup(func() { ok(r.t, m.Free()) })
	ok(r.t, r.d.Synchronize())
	return m
}

// TestConditionals runs each kind of conditional node. That kernels set conditions is of the fake
// here; a kernel of CUDA calls cudaGraphSetConditional.
func TestConditionals(t *testing.T) {
	r := newGraphRig(t, 1)
	set, down, add := kernel(t, r.m, "set_conditional"), kernel(t, r.m, "count_down"), kernel(t, r.m, "add_to")
	left, sum := r.ints(3), r.ints(0)
	b := r.b
	start := node(t)(cuda.FillNode(b.After(), left, int32(3)))
	c := must[*cuda.GraphCondition](t)(b.NewCondition(1))
	r.f.expectCall("cuGraphConditionalHandleCreate 1 1")
	loop, body, err := b.After(start).While(c)
	ok(t, err)
	r.f.expectCall("cuGraphAddNode after=1 type=13 what=1 size=1")
	count := node(t)(body.After().Kernel(add, r.config, sum, 1))
	node(t)(body.After(count).Kernel(down, r.config, c.Handle(), left))

	// A kernel chooses a branch, and a condition of a body.
	choice := must[*cuda.GraphCondition](t)(b.NewCondition(0))
	chosen := node(t)(b.After(loop).Kernel(set, r.config, choice.Handle(), 2))
	branch, bodies, err := b.After(chosen).Switch(choice, 3)
	ok(t, err)
	for i, body := range bodies {
		node(t)(body.After().Kernel(add, r.config, sum, 100*(i+1)))
	}
	inner := must[*cuda.GraphCondition](t)(bodies[2].NewCondition(0))
	_, then, otherwise, err := bodies[2].After(bodies[2].Nodes()...).IfElse(inner)
	ok(t, err)
	node(t)(then.After().Kernel(add, r.config, sum, 10000))
	node(t)(otherwise.After().Kernel(add, r.config, sum, 20000))
	never := must[*cuda.GraphCondition](t)(b.NewCondition(0))
	skipped, no, err := b.After(branch).If(never)
	ok(t, err)
	node(t)(no.After().Kernel(add, r.config, sum, 1000000))
	gr := r.graph(b)
	for i := range int32(3) {
		r.run(gr)
		r.numbers(sum, (i+1)*(3+300+20000))
	}
	if got := skipped.String() + "; " + branch.String(); got != "node 13 (if); node 6 (switch of 3)" {
		t.Error(got)
	}

	// What the body of a conditional node may not have is refused before the driver sees it.
	memory := r.ints(1)
	event := must[*cuda.Event](t)(r.d.NewEvent())
	defer event.Close()
	host := r.builder()
	node(t)(host.After().Call(func() error { return nil }))
	outer := r.builder()
	node(t)(outer.After().Child(host))
	for i, f := range []func() error{
		func() error { _, err := body.After().Call(func() error { return nil }); return err },
		func() error { _, err := body.After().Record(event); return err },
		func() error { _, err := body.After().Wait(event); return err },
		func() error { _, _, err := body.After().Alloc(4); return err },
		func() error { _, err := body.After().Child(host); return err },
		func() error { _, err := body.After().Child(outer); return err },
		func() error { _, err := body.Instantiate(); return err },
		func() error { _, err := b.After().Child(body); return err },
		func() error { return gr.UpdateFrom(body) },
	} {
		err := f()
		wantError(t, err, tvmffi.ErrValue, "node 2 (while)")
		if err == nil {
			t.Errorf("case %d", i)
		}
	}
	node(t)(cuda.FillNode(body.After(count), memory, int32(1)))
	node(t)(body.After().Copy(memory, left))
	ok(t, body.Close()) // of the builder
	_, err = b.After(count).Empty()
	wantError(t, err, tvmffi.ErrValue, "which is in another body of the graph")
	_, err = b.Instantiate()
	wantError(t, err, tvmffi.ErrValue, "node 2 (while) allows one graph of the graph builder on cuda:1 at a time")
	_, err = host.After().Child(b)
	wantError(t, err, tvmffi.ErrValue, "a graph that has node 2 (while) cannot be a child graph")
	ok(t, gr.Close())
	ok(t, b.Close())
	_, err = body.After().Empty()
	wantError(t, err, tvmffi.ErrValue, "the graph builder on cuda:1 is closed")
}

func TestConditions(t *testing.T) {
	r := newGraphRig(t, 0)
	b := r.b
	c, inner := must[*cuda.GraphCondition](t)(b.NewCondition(1)), (*cuda.GraphCondition)(nil)
	_, body, err := b.After().If(c)
	ok(t, err)
	_, _, err = b.After().While(c)
	wantError(t, err, tvmffi.ErrValue, "node 1 (if) has the condition already")
	_, _, err = b.After().If(nil)
	wantError(t, err, tvmffi.ErrValue, "the condition is nil")
	_, _, err = b.After().If(must[*cuda.GraphCondition](t)(r.builder().NewCondition(1)))
	wantError(t, err, tvmffi.ErrValue, "of another graph")
	inner = must[*cuda.GraphCondition](t)(body.NewCondition(1))
	_, _, err = b.After().If(inner)
	wantError(t, err, tvmffi.ErrValue, "the condition is of the body of node 1 (if)")
	other := r.builder()
	_, _, err = other.After().If(inner)
	wantError(t, err, tvmffi.ErrValue, "the condition is of another graph")
	_, err = b.Instantiate()
	wantError(t, err, tvmffi.ErrValue, "condition 1 of the graph builder on cuda:0 has no node")
	_, _, err = body.After().Switch(inner, 0)
	wantError(t, err, tvmffi.ErrValue, "a switch of 0 bodies")
	r.f.failing("cuGraphAddNode", 801, 0)
	_, _, err = body.After().While(inner)
	wantDriverError(t, err, cuda.ErrNotSupported, "cuGraphAddNode")
	wantError(t, err, nil, "node 2 (while) of the graph builder on cuda:0")
	_, _, err = body.After().If(inner)
	ok(t, err)
	r.run(r.graph(b))
}

// TestWhileExample runs the example: the kernel of the fake stops the loop after two steps.
func TestWhileExample(t *testing.T) {
	f := load(t)
	name := filepath.Join(t.TempDir(), "solve.ptx")
	ok(t, os.WriteFile(name, []byte(".version 8.0\n.visible .entry step(.param .u64 x, .param .u32 n, .param .u64 more) { ret; }\n"), 0o600))
	ok(t, iterate(name))
	f.expectCall("cuGraphAddNode after=1 type=13 what=1 size=1")
}

// TestGraphMemory allocates in graphs of nodes and in captured ones.
func TestGraphMemory(t *testing.T) {
	r := newGraphRig(t, 1)
	k := kernel(t, r.m, "saxpy")
	x, y := r.memory(1, 2), r.memory(0, 0)
	b := r.b
	before := must[cuda.GraphMemory](t)(r.d.GraphMemory())
	alloc, m, err := b.After().Alloc(8)
	ok(t, err)
	r.f.expectCall("cuGraphAddMemAllocNode after=0 1:1 8")
	if m.Size() != 8 || m.Device() != 1 {
		t.Errorf("memory of %d bytes on %s", m.Size(), m.Device())
	}
	fill := node(t)(cuda.FillNode(b.After(alloc), m, float32(5)))
	use := node(t)(b.After(fill).Kernel(k, r.config, 2, float32(1), m, y))
	free := node(t)(b.After(use).Free(m))
	node(t)(b.After(free).Kernel(k, r.config, 2, float32(1), x, y))
	if got := fmt.Sprint(alloc, " ", free); got != "node 1 (allocation of 8 bytes) node 4 (free of node 1 (allocation of 8 bytes))" {
		t.Error(got)
	}
	gr := r.graph(b)
	r.run(gr)
	r.run(gr)
	r.reads(y, 12, 14)
	ok(t, m.Free()) // nothing: the memory is that of the graph
	after := must[cuda.GraphMemory](t)(r.d.GraphMemory())
	if after.Used != before.Used || after.UsedHigh < before.Used+8 || after.Reserved < 8 || after.ReservedHigh < after.Reserved {
		t.Errorf("before %+v, after %+v", before, after)
	}
	ok(t, r.d.TrimGraphMemory())
	ok(t, r.d.ResetGraphMemoryHigh())
	if trimmed := must[cuda.GraphMemory](t)(r.d.GraphMemory()); trimmed.Reserved != trimmed.Used || trimmed.UsedHigh != trimmed.Used || trimmed.ReservedHigh != trimmed.Reserved {
		t.Errorf("after the trim: %+v", trimmed)
	}
	_, err = b.After(free).Free(m)
	wantError(t, err, tvmffi.ErrValue, "the memory of node 1 (allocation of 8 bytes) is freed by node 4")
	wantError(t, gr.Free(m, r.st), tvmffi.ErrValue, "is freed by node 4")
	_, err = b.After().Free(y)
	wantError(t, err, tvmffi.ErrValue, "was not allocated by a node of a graph")
	wantError(t, gr.Free(y, r.st), tvmffi.ErrValue, "was not allocated by a node of this graph")
	_, _, err = b.After().Alloc(0)
	wantError(t, err, tvmffi.ErrValue, "allocation of 0 bytes in a graph on cuda:1")
	_, err = b.Instantiate()
	wantError(t, err, tvmffi.ErrValue, "node 1 (allocation of 8 bytes) allows one graph")
	_, err = r.builder().After().Child(b)
	wantError(t, err, tvmffi.ErrValue, "cannot be a child graph")
	r.f.failing("cuGraphAddMemAllocNode", 2, 0)
	_, _, err = b.After().Alloc(8)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuGraphAddMemAllocNode")
	for i := range 4 {
		r.f.failing("cuDeviceGetGraphMemAttribute", 801, i)
		_, err := r.d.GraphMemory()
		wantDriverError(t, err, cuda.ErrNotSupported, "cuDeviceGetGraphMemAttribute")
		r.f.reset()
	}
}

// TestGraphMemoryIsKept launches graphs that do not free their memory.
func TestGraphMemoryIsKept(t *testing.T) {
	r := newGraphRig(t, 0)
	alloc, m, err := r.b.After().Alloc(8)
	ok(t, err)
	node(t)(cuda.FillNode(r.b.After(alloc), m, float32(5)))
	gr := r.graph(r.b)
	r.run(gr)
	r.reads(m, 5, 5) // it is there after the launch
	err = gr.Launch(r.st)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuGraphLaunch")
	wantError(t, err, nil, "node 1 (allocation of 8 bytes) has memory of the last launch that nobody has freed", "AutoFree")
	ok(t, gr.Free(m, r.st))
	wantDriverError(t, gr.Free(m, r.st), cuda.ErrInvalidValue, "cuMemFreeAsync")
	r.run(gr)
	ok(t, gr.Free(m, r.st))
	ok(t, gr.Close())
	auto := r.graph(r.b, cuda.AutoFree())
	r.run(auto)
	r.run(auto)
	r.reads(m, 5, 5)
	ok(t, auto.Free(m, r.st))

	// The same in a capture.
	var kept *cuda.Memory
	work := func() error {
		var err error
		if kept, err = r.d.AllocAsync(8, r.st); err != nil {
			return err
		}
		return cuda.Fill(kept, float32(6), r.st)
	}
	captured := must[*cuda.Graph](t)(r.st.Capture(work))
	r.run(captured)
	r.reads(kept, 6, 6)
	err = captured.Launch(r.st)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuGraphLaunch")
	wantError(t, err, nil, "node 1 (allocation) has memory of the last launch", "AutoFree")
	ok(t, kept.Free())
	ok(t, captured.Close())
	again := must[*cuda.Graph](t)(r.st.Capture(work, cuda.AutoFree()))
	r.run(again)
	r.run(again)
	r.reads(kept, 6, 6)
	ok(t, errors.Join(kept.Free(), again.Close()))
	// Memory that is freed in the capture is not kept.
	whole := must[*cuda.Graph](t)(r.st.Capture(func() error { return errors.Join(work(), kept.FreeAsync(r.st)) }))
	defer whole.Close()
	r.run(whole)
	r.run(whole)
	r.f.failing("cuGraphLaunch", 1, 0)
	if err := whole.Launch(r.st); err == nil || strings.Contains(err.Error(), "AutoFree") {
		t.Errorf("an error for another reason is %v", err)
	}
}

// graphScenario uses graphs of nodes as a careful program would.
func graphScenario() (err error) {
	const d = cuda.Device(0) // which can launch cooperatively
	var c closers
	defer c.close(&err)
	m, err := d.LoadModule([]byte(graphPTX))
	if err != nil {
		return err
	}
	c.add(m.Close)
	k, err := m.Kernel("nothing")
	if err != nil {
		return err
	}
	st, err := d.NewStream()
	if err != nil {
		return err
	}
	c.add(st.Close)
	e, err := d.NewEvent()
	if err != nil {
		return err
	}
	c.add(e.Close)
	h, err := cuda.AllocHost[float32](d, 2)
	if err != nil {
		return err
	}
	c.add(h.Free)
	x, err := d.Alloc(8)
	if err != nil {
		return err
	}
	c.add(x.Free)
	y, err := d.Alloc(8)
	if err != nil {
		return err
	}
	c.add(y.Free)
	b, err := d.NewGraph()
	if err != nil {
		return err
	}
	c.add(b.Close)
	child, err := d.NewGraph()
	if err != nil {
		return err
	}
	c.add(child.Close)
	g := graphMaker{b: b, child: child}
	gr, err := g.make(k, st, e, h, x, y)
	if err != nil {
		return err
	}
	c.add(gr.Close)
	config := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}
	for _, f := range []func() error{
		func() error { return gr.Upload(st) },
		func() error { return gr.Launch(st) },
		func() error { return gr.Enable(g.nodes[1], false) },
		func() error { return gr.SetKernel(g.nodes[1], k, config) },
		func() error { return cuda.SetFill(gr, g.nodes[0], y, uint32(1)) },
		func() error { return gr.SetCopy(g.nodes[2], x, y) },
		func() error { return gr.SetEvent(g.nodes[6], e) },
		func() error { return gr.SetEvent(g.nodes[7], e) },
		func() error { return gr.SetChild(g.nodes[11], g.child) },
		func() error { return gr.UpdateFrom(b) },
		func() error { return gr.Launch(st) },
		st.Synchronize,
		func() error { _, err := gr.DOT(); return err },
		func() error { _, err := d.GraphMemory(); return err },
		d.TrimGraphMemory,
		d.ResetGraphMemoryHigh,
	} {
		if err := f(); err != nil {
			return err
		}
	}
	captured, err := st.Capture(func() error { config.Stream = st; return errors.Join(k.Launch(config), k.Launch(config)) }, cuda.AutoFree())
	if err != nil {
		return err
	}
	c.add(captured.Close)
	if _, err := captured.DOT(); err != nil {
		return err
	}
	defer driver.Remove(driver.GraphGetEdgesData)() // the driver before CUDA 12.3
	_, err = captured.DOT()
	return err
}

// graphMaker makes a graph; the first error ends that.
type graphMaker struct {
	b     *cuda.GraphBuilder
	child *cuda.GraphBuilder
	nodes []*cuda.GraphNode
	err   error
}

func (g *graphMaker) add(n *cuda.GraphNode, err error) {
	if g.err == nil {
		g.err = err
	}
	g.nodes = append(g.nodes, n)
}

func (g *graphMaker) make(k *cuda.Kernel, st *cuda.Stream, e *cuda.Event, h *cuda.Host[float32], x, y *cuda.Memory) (*cuda.Graph, error) {
	config := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1)}
	b := g.b
	for _, step := range []func(){
		func() { g.add(cuda.FillNode(b.After(), y, uint32(0))) },
		func() { g.add(b.After(g.nodes...).Kernel(k, config)) },
		func() { g.add(b.After(g.nodes[0]).Copy(x, y)) },
		func() { g.add(cuda.CopyOutNode(b.After(g.nodes[2]), h, x)) },
		func() { config.Programmatic = true; g.add(b.After(g.nodes[1]).Kernel(k, config)) },
		func() { config.Programmatic, config.Cooperative = false, true; g.add(b.After().Kernel(k, config)) },
		func() { g.add(b.After().Record(e)) },
		func() { g.add(b.After().Wait(e)) },
		func() { g.add(b.After().Empty()) },
		func() { g.add(b.After().Call(func() error { return nil })) },
		func() {
			g.add(b.After().Capture(st, func() error { config.Cooperative, config.Stream = false, st; return k.Launch(config) }))
		},
		func() { g.add(b.After().Child(g.child)) },
		func() {
			n, m, err := b.After().Alloc(8)
			g.add(n, err)
			if err == nil {
				g.add(b.After(n).Free(m))
			}
		},
		func() { g.err = g.nodes[8].DependOn(g.nodes[0]) },
		func() {
			c, err := b.NewCondition(0)
			if err != nil {
				g.err = err
				return
			}
			n, _, err := b.After().If(c)
			g.add(n, err)
		},
	} {
		if step(); g.err != nil {
			return nil, g.err
		}
	}
	return b.Instantiate()
}

// TestGraphScenario is about what the sweeps of sweep_test.go reach with the scenario.
func TestGraphScenario(t *testing.T) {
	f := load(t)
	ok(t, graphScenario())
	called := map[string]bool{}
	for _, c := range f.calls() {
		called[c.name] = true
	}
	for _, name := range []string{"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddMemcpyNode", "cuGraphAddMemsetNode", "cuGraphAddHostNode", "cuGraphAddEmptyNode",
		"cuGraphAddChildGraphNode", "cuGraphAddEventRecordNode", "cuGraphAddEventWaitNode", "cuGraphAddMemAllocNode", "cuGraphAddMemFreeNode", "cuGraphAddNode", "cuGraphAddDependencies",
		"cuGraphAddDependencies_v2", "cuGraphKernelNodeSetAttribute", "cuGraphConditionalHandleCreate", "cuGraphExecMemcpyNodeSetParams", "cuGraphExecMemsetNodeSetParams",
		"cuGraphExecChildGraphNodeSetParams", "cuGraphExecEventRecordNodeSetEvent", "cuGraphExecEventWaitNodeSetEvent", "cuDeviceSetGraphMemAttribute",
		"cuGraphNodeSetEnabled", "cuGraphUpload", "cuGraphGetEdges_v2", "cuFuncGetName", "cuUserObjectCreate", "cuGraphRetainUserObject", "cuDeviceGetGraphMemAttribute",
		"cuDeviceGraphMemTrim", "cuGraphExecUpdate", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"} {
		if !called[name] {
			t.Errorf("%s is not called", name)
		}
	}
}
