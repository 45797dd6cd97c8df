package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// graphPTX has kernels that the fake knows for conditional nodes, see testdata/fakecuda/graph_more.h.
const graphPTX = ptx + `
.visible .entry set_conditional(.param .u64 handle, .param .u32 value) { ret; }
.visible .entry count_down(.param .u64 handle, .param .u64 n) { ret; }
.visible .entry add_to(.param .u64 n, .param .s32 v) { ret; }
`

// graphRig is what tests of graphs share, on one device.
type graphRig struct {
	t      *testing.T
	f      *fake
	d      cuda.Device
	m      *cuda.Module
	st     *cuda.Stream
	b      *cuda.GraphBuilder
	config cuda.LaunchConfig
}

func newGraphRig(t *testing.T, d cuda.Device) *graphRig {
	r := &graphRig{t: t, f: load(t), d: d, config: cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}}
	r.m = must[*cuda.Module](t)(d.LoadModule([]byte(graphPTX)))
	t.Cleanup(func() { ok(t, r.m.Close()) })
	r.st = must[*cuda.Stream](t)(d.NewStream(cuda.NonBlocking()))
	t.Cleanup(func() { ok(t, r.st.Close()) })
	r.b = r.builder()
	return r
}

func (r *graphRig) builder() *cuda.GraphBuilder {
	r.t.Helper()
	b := must[*cuda.GraphBuilder](r.t)(r.d.NewGraph())
	r.t.Cleanup(func() { ok(r.t, b.Close()) })
	return b
}

func (r *graphRig) memory(values ...float32) *cuda.Memory {
	r.t.Helper()
	m := must[*cuda.Memory](r.t)(cuda.AllocOf(r.d, values))
	r.t.Cleanup(func() { ok(r.t, m.Free()) })
	ok(r.t, r.d.Synchronize())
	return m
}

func (r *graphRig) graph(b *cuda.GraphBuilder, o ...cuda.GraphOption) *cuda.Graph {
	r.t.Helper()
	gr := must[*cuda.Graph](r.t)(b.Instantiate(o...))
	r.t.Cleanup(func() { ok(r.t, gr.Close()) })
	return gr
}

// run launches a graph and waits.
func (r *graphRig) run(gr *cuda.Graph) {
	r.t.Helper()
	ok(r.t, gr.Launch(r.st))
	ok(r.t, r.st.Synchronize())
}

func (r *graphRig) reads(m *cuda.Memory, want ...float32) {
	r.t.Helper()
	got := make([]float32, len(want))
	ok(r.t, cuda.CopyOut(got, m))
	if !slices.Equal(got, want) {
		r.t.Errorf("the memory has %v, want %v", got, want)
	}
}

func hostAddress(h *cuda.Host[float32]) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(h.Slice())))
}

// waitUntil waits for what another thread does.
func waitUntil(t *testing.T, done func() bool) {
	t.Helper()
	for range 5000 {
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it does not happen")
}

func node(t *testing.T) func(*cuda.GraphNode, error) *cuda.GraphNode {
	t.Helper()
	return must[*cuda.GraphNode](t)
}

// TestGraphBuilder makes a graph with most kinds of nodes, launches it, and changes its
// parts.
func TestGraphBuilder(t *testing.T) {
	r := newGraphRig(t, 1)
	k, one := kernel(t, r.m, "saxpy"), kernel(t, r.m, "add_one")
	x, y, z := r.memory(0, 0, 0), r.memory(9, 9, 9), r.memory(0, 0, 0)
	in, out := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 3)), must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 3))
	defer in.Free()
	defer out.Free()
	copy(in.Slice(), []float32{1, 2, 3})
	var calls atomic.Int32
	retain(t, r.f)
	pinThread(t, r.f)
	b := r.b
	if l := r.d.Live(); l.Graphs != 1 || b.Device() != 1 {
		t.Errorf("live: %+v", l)
	}
	zero := node(t)(cuda.FillNode(b.After(), y, uint32(0)))
	r.f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1", "cuGraphAddMemsetNode "+hex(y.Pointer().Address)+" 0 4 3x1", "cuCtxSetCurrent -1")
	load := node(t)(cuda.CopyInNode(b.After(), x, in))
	r.f.expectCall("cuGraphAddMemcpyNode 1:" + hex(hostAddress(in)) + " 2:" + hex(x.Pointer().Address) + " 12x1x1")
	both := node(t)(b.After(zero, load).Empty())
	r.f.expectCall("cuGraphAddEmptyNode after=2")
	sum := node(t)(b.After(both).Kernel(k, r.config, 3, float32(10), x, y))
	r.f.expectCall("cuGraphAddKernelNode after=1 grid=1,1,1 block=32,1,1 shared=0 args=03000000,00002041," + little(x.Pointer().Address) + "," + little(y.Pointer().Address) + " extra=0")
	more := node(t)(b.After(sum).Kernel(one, r.config, y, y, 3))
	move := node(t)(b.After(more).Copy(z, y))
	save := node(t)(cuda.CopyOutNode(b.After(move), out, z))
	call := node(t)(b.After(save).Call(func() error { calls.Add(1); return nil }))
	nodes := b.Nodes()
	if !slices.Equal(nodes, []*cuda.GraphNode{zero, load, both, sum, more, move, save, call}) {
		t.Errorf("nodes: %v", nodes)
	}
	var text []string
	for _, n := range nodes {
		text = append(text, n.Kind()+"/"+n.String())
	}
	if got, want := strings.Join(text, " "), `fill/node 1 (fill of 12 bytes) copy/node 2 (copy of 12 bytes, host to cuda:1) empty/node 3 (empty) kernel/node 4 (kernel "saxpy") `+
		`kernel/node 5 (kernel "add_one") copy/node 6 (copy of 12 bytes, cuda:1 to cuda:1) copy/node 7 (copy of 12 bytes, cuda:1 to host) function/node 8 (Go function)`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}

	gr := r.graph(b)
	ok(t, gr.Upload(r.st))
	if uploads := only(r.f.calls(), "cuGraphUpload"); len(uploads) != 1 || !hasSuffix(uploads[0].args, " "+hex(r.st.Pointer().Address)) {
		t.Errorf("uploads: %v", uploads)
	}
	for range 2 {
		r.run(gr)
		r.reads(z, 11, 21, 31)
		if !slices.Equal(out.Slice(), []float32{11, 21, 31}) {
			t.Errorf("the host has %v", out.Slice())
		}
		clear(out.Slice())
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("the function ran %d times", n)
	}

	// Each part can be changed.
	ok(t, gr.SetKernel(sum, k, r.config, 2, float32(100), x, y))
	ok(t, cuda.SetFill(gr, zero, y, uint32(0x3f800000)))
	r.f.expectCall("cuGraphExecMemsetNodeSetParams " + hex(y.Pointer().Address) + " 3f800000 4 3x1")
	ok(t, gr.Enable(more, false))
	r.f.expectCall("cuGraphNodeSetEnabled 0")
	r.run(gr)
	r.reads(z, 101, 201, 1)
	ok(t, gr.Enable(more, true))
	other := r.memory(5, 5, 5)
	ok(t, gr.SetCopy(move, z, other))
	in2, out2 := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 3)), must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 3))
	defer in2.Free()
	defer out2.Free()
	copy(in2.Slice(), []float32{4, 4, 4})
	ok(t, cuda.SetCopyIn(gr, load, x, in2))
	ok(t, cuda.SetCopyOut(gr, save, out2, y))
	r.run(gr)
	r.reads(z, 5, 5, 5)
	if !slices.Equal(out2.Slice(), []float32{402, 402, 2}) {
		t.Errorf("the host has %v", out2.Slice())
	}
	// The kernels are found as in a captured graph.
	if launches := must[[]*cuda.GraphNode](t)(gr.Kernels(one)); len(launches) != 1 {
		t.Errorf("%d launches", len(launches))
	} else {
		ok(t, gr.SetKernel(launches[0], one, r.config, y, y, 1))
	}
	r.run(gr)
	if !slices.Equal(out2.Slice(), []float32{402, 401, 1}) {
		t.Errorf("the host has %v", out2.Slice())
	}
	// A builder of the same form replaces all parameters at once.
	again := r.builder()
	n := node(t)(cuda.FillNode(again.After(), y, uint32(0)))
	n = node(t)(again.After(n, node(t)(cuda.CopyInNode(again.After(), x, in))).Empty())
	n = node(t)(again.After(n).Kernel(k, r.config, 3, float32(1), x, y))
	n = node(t)(again.After(n).Kernel(one, r.config, y, y, 3))
	n = node(t)(cuda.CopyOutNode(again.After(node(t)(again.After(n).Copy(z, y))), out, z))
	node(t)(again.After(n).Call(func() error { calls.Add(100); return nil }))
	ok(t, gr.UpdateFrom(again))
	r.run(gr)
	r.reads(z, 2, 3, 4)
	if n := calls.Load(); n != 105 {
		t.Errorf("the functions counted %d", n)
	}
	// A graph of its own outlives its builder, but cannot be changed then.
	ok(t, b.Close())
	ok(t, b.Close())
	r.run(gr)
	wantError(t, gr.Enable(more, true), tvmffi.ErrValue, "the graph builder on cuda:1 is closed")
	_, err := gr.Nodes()
	wantError(t, err, tvmffi.ErrValue, "is closed")
	_, err = b.After().Empty()
	wantError(t, err, tvmffi.ErrValue, "the graph builder on cuda:1 is closed")
}

// TestGraphOrder makes nodes wait that were added first.
func TestGraphOrder(t *testing.T) {
	r := newGraphRig(t, 0)
	k := kernel(t, r.m, "saxpy")
	x, y := r.memory(1, 1), r.memory(0, 0)
	b := r.b
	last := node(t)(b.After().Kernel(k, r.config, 2, float32(1), x, y))
	first := node(t)(cuda.FillNode(b.After(), y, float32(5)))
	ok(t, last.DependOn(first))
	ok(t, last.DependOn())
	r.f.expectCall("cuGraphAddDependencies 1")
	gr := r.graph(b)
	late := node(t)(b.After(last).Empty())
	for range 3 {
		r.run(gr)
		r.reads(y, 6, 6)
	}
	wantError(t, gr.Enable(late, false), tvmffi.ErrValue, "node 3 (empty) was added after the graph was made")
	wantError(t, first.DependOn(late), tvmffi.ErrValue, "node 2 (fill of 8 bytes) cannot come after node 3 (empty), which runs after it: that would be a cycle")
	wantError(t, first.DependOn(first), tvmffi.ErrValue, "cycle")
	wantError(t, last.DependOn(first), tvmffi.ErrValue, "comes after node 2 (fill of 8 bytes) already")
	wantError(t, late.DependOn(first, first), tvmffi.ErrValue, "node 2 (fill of 8 bytes) is given twice")
	wantError(t, late.DependOn(nil), tvmffi.ErrValue, "node 3 (empty): node 0 of those before it is nil")
	var none *cuda.GraphNode
	wantError(t, none.DependOn(first), tvmffi.ErrValue, "the node is nil")
	r.f.failing("cuGraphAddDependencies", 1, 0)
	wantDriverError(t, late.DependOn(first), cuda.ErrInvalidValue, "cuGraphAddDependencies")
	ok(t, late.DependOn(first)) // the failed call has left no trace

	other := r.builder()
	foreign := node(t)(other.After().Empty())
	_, err := b.After(foreign).Empty()
	wantError(t, err, tvmffi.ErrValue, "node 4 (empty) cannot come after node 1 (empty), which is of another graph")
	wantError(t, foreign.DependOn(first), tvmffi.ErrValue, "which is of another graph")
	_, err = b.After(first, first).Empty()
	wantError(t, err, tvmffi.ErrValue, "is given twice")
	_, err = b.After(nil).Empty()
	wantError(t, err, tvmffi.ErrValue, "is nil")
	wantError(t, gr.Enable(foreign, false), tvmffi.ErrValue, "node 1 (empty) is of another graph")
	wantError(t, gr.Enable(nil, false), tvmffi.ErrValue, "the node is nil")
	ok(t, gr.Close())
	wantError(t, gr.Enable(first, false), tvmffi.ErrValue, "is closed")
	ok(t, b.Close())
	wantError(t, late.DependOn(first), tvmffi.ErrValue, "is closed")
}

// TestGraphKernelAttributes adds kernels with attributes.
func TestGraphKernelAttributes(t *testing.T) {
	r := newGraphRig(t, 0)
	k := kernel(t, r.m, "nothing")
	c := r.config
	c.Grid, c.Cluster, c.Cooperative, c.Shared = cuda.Dim(4), cuda.Dim(2), true, 60000
	r.f.calls()
	first := node(t)(r.b.After().Kernel(k, c))
	var calls []string
	for _, c := range r.f.calls() {
		if strings.Contains(c.name, "Attribute") || strings.Contains(c.name, "AddKernel") {
			calls = append(calls, c.String())
		}
	}
	if want := []string{"cuFuncSetAttribute 8 60000", "cuGraphAddKernelNode after=0 grid=4,1,1 block=32,1,1 shared=60000 args= extra=0",
		"cuGraphKernelNodeSetAttribute 4=2,1,1", "cuGraphKernelNodeSetAttribute 2=1,0,0"}; !slices.Equal(calls, want) {
		t.Errorf("%q, want %q", calls, want)
	}
	window := r.memory(1, 2)
	other := r.config
	other.RemoteDomain, other.Priority, other.Window = true, -1, &cuda.AccessWindow{Memory: window, HitRatio: 1, Hit: cuda.AccessPersisting, Miss: cuda.AccessStreaming}
	node(t)(r.builder().After().Kernel(k, other))
	calls = nil
	for _, c := range only(r.f.calls(), "cuGraphKernelNodeSetAttribute") {
		calls = append(calls, c.args)
	}
	if want := []string{"10=1,0,0", "8=4294967295,0,0", fmt.Sprintf("1=%d,0,0", uint32(window.Pointer().Address))}; !slices.Equal(calls, want) {
		t.Errorf("attributes %q, want %q", calls, want)
	}
	empty := node(t)(r.b.After().Empty())
	early := r.config
	early.Programmatic = true
	node(t)(r.b.After(empty, first).Kernel(k, early))
	r.f.expectCall("cuGraphAddDependencies_v2 1 1:0:1")
	gr := r.graph(r.b, cuda.NodePriorities(), cuda.AutoFree())
	if made := only(r.f.calls(), "cuGraphInstantiateWithFlags"); len(made) != 1 || !hasSuffix(made[0].args, " 9") {
		t.Errorf("%v", made)
	}
	r.run(gr)
	_, err := r.b.After(empty).Kernel(k, early)
	wantError(t, err, tvmffi.ErrValue, `launch of "nothing" in a graph`, "there is none")
	c.Stream = r.st
	_, err = r.b.After().Kernel(k, c)
	wantError(t, err, tvmffi.ErrValue, "the stream is given when the graph is launched")
	_, err = r.b.After().Kernel(k, cuda.LaunchConfig{Block: cuda.Dim(1)})
	wantError(t, err, tvmffi.ErrValue, "the grid 0 x 0 x 0")
	_, err = r.b.After().Kernel(k, r.config, 1)
	wantError(t, err, tvmffi.ErrType, "0 parameters")
	_, err = r.b.After().Kernel(nil, r.config)
	wantError(t, err, tvmffi.ErrValue, "the kernel is nil")
	there := kernel(t, module(t, 1), "nothing")
	_, err = r.b.After().Kernel(there, r.config)
	wantError(t, err, tvmffi.ErrValue, "is of cuda:1, the graph on cuda:0")
	wantError(t, gr.SetKernel(first, k, other), tvmffi.ErrValue, "stay as they were captured or added")
	wantError(t, gr.SetKernel(first, k, early), tvmffi.ErrValue, "stay as they were captured or added")
	wantError(t, gr.SetKernel(empty, k, r.config), tvmffi.ErrValue, "node 2 (empty) is not a kernel")
	wantError(t, gr.SetKernel(first, nil, r.config), tvmffi.ErrValue, "the kernel is nil")
	wantError(t, gr.Enable(empty, false), tvmffi.ErrValue, "only kernels, copies and fills")

	// A node without its attributes must not run.
	c.Stream = nil
	r.f.failing("cuGraphKernelNodeSetAttribute", 1, 1)
	_, err = r.b.After().Kernel(k, c)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuGraphKernelNodeSetAttribute")
	wantError(t, err, nil, `node 4 (kernel "nothing") of the graph builder on cuda:0`)
	_, err = r.b.Instantiate()
	wantError(t, err, tvmffi.ErrValue, `node 4 (kernel "nothing") is not complete`)
	r.run(gr)
}

func TestGraphFunctions(t *testing.T) {
	r := newGraphRig(t, 1)
	waitUntil(t, func() bool { return cuda.GraphCalls() == 0 }) // of other tests
	sentinel := errors.New("of f")
	var mode atomic.Int32
	call := node(t)(r.b.After().Call(func() error {
		switch mode.Add(1) {
		case 1:
			return sentinel
		case 2:
			panic("of a graph")
		}
		return nil
	}))
	gr := r.graph(r.b)
	r.run(gr)
	if err := call.CallErr(); err != sentinel {
		t.Errorf("CallErr returns %v", err)
	}
	r.run(gr)
	wantPanic(t, call.CallErr(), "panic in a function that a graph called: of a graph", "TestGraphFunctions")
	r.run(gr)
	ok(t, call.CallErr())
	_, err := r.b.After().Call(nil)
	wantError(t, err, tvmffi.ErrValue, "nil")
	var none *cuda.GraphNode
	ok(t, none.CallErr())

	// The function lives as long as a graph that has it, and as a launch of that.
	if n := cuda.GraphCalls(); n != 1 {
		t.Errorf("%d functions are kept", n)
	}
	parent := r.builder()
	node(t)(parent.After().Child(r.b))
	whole := r.graph(parent)
	ok(t, parent.Close())
	ok(t, r.b.Close())
	ok(t, gr.Close())
	mode.Store(10)
	ok(t, whole.Launch(r.st))
	ok(t, whole.Close())
	ok(t, r.st.Synchronize())
	if n := mode.Load(); n != 11 {
		t.Errorf("the function of the child ran %d times", n-10)
	}
	waitUntil(t, func() bool { return cuda.GraphCalls() == 0 })

	for _, name := range []string{"cuUserObjectCreate", "cuGraphRetainUserObject", "cuGraphAddHostNode"} {
		b := r.builder()
		r.f.failing(name, 2, 0)
		_, err := b.After().Call(func() error { return nil })
		wantDriverError(t, err, cuda.ErrOutOfMemory, name)
		wantError(t, err, nil, "node 1 (Go function)")
		ok(t, b.Close())
		waitUntil(t, func() bool { return cuda.GraphCalls() == 0 })
	}
}

func TestGraphEvents(t *testing.T) {
	r := newGraphRig(t, 0)
	x, y := r.memory(1), r.memory(0)
	k := kernel(t, r.m, "saxpy")
	before, after := must[*cuda.Event](t)(r.d.NewEvent()), must[*cuda.Event](t)(r.d.NewEvent(cuda.Timing()))
	defer before.Close()
	defer after.Close()
	waits := node(t)(r.b.After().Wait(before))
	work := node(t)(r.b.After(waits).Kernel(k, r.config, 1, float32(1), x, y))
	records := node(t)(r.b.After(work).Record(after))
	if waits.Kind() != "wait" || records.Kind() != "record" {
		t.Errorf("%s, %s", waits.Kind(), records.Kind())
	}
	gr := r.graph(r.b)
	other := must[*cuda.Stream](t)(r.d.NewStream(cuda.NonBlocking()))
	defer other.Close()
	ok(t, cuda.Fill(y, float32(40), other))
	ok(t, before.Record(other))
	ok(t, gr.Launch(r.st)) // its kernel comes after the fill of the other stream
	ok(t, after.Synchronize())
	r.reads(y, 41)
	// Other events take their places.
	before2, after2 := must[*cuda.Event](t)(r.d.NewEvent()), must[*cuda.Event](t)(r.d.NewEvent())
	defer before2.Close()
	defer after2.Close()
	ok(t, gr.SetEvent(waits, before2))
	ok(t, gr.SetEvent(records, after2))
	ok(t, cuda.Fill(y, float32(50), other))
	ok(t, before2.Record(other))
	ok(t, gr.Launch(r.st))
	ok(t, after2.Synchronize())
	r.reads(y, 51)
	wantError(t, gr.SetEvent(work, before2), tvmffi.ErrValue, `node 2 (kernel "saxpy") has no event`)
	wantError(t, gr.SetEvent(waits, nil), tvmffi.ErrValue, "the event is nil")
	r.f.failing("cuGraphExecEventWaitNodeSetEvent", 1, 0)
	err := gr.SetEvent(waits, before)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuGraphExecEventWaitNodeSetEvent")
	wantError(t, err, nil, "node 1 (wait for an event) in the graph on cuda:0")
	far := must[*cuda.Event](t)(cuda.Device(1).NewEvent())
	node(t)(r.b.After().Wait(far))
	wantError(t, gr.SetEvent(records, far), tvmffi.ErrValue, "the event is of cuda:1, the graph on cuda:0")
	_, err = r.b.After().Record(far)
	wantError(t, err, tvmffi.ErrValue, "the event is of cuda:1, the graph on cuda:0")
	ok(t, far.Close())
	_, err = r.b.After().Wait(far)
	wantError(t, err, tvmffi.ErrValue, "is closed")
	_, err = r.b.After().Record(nil)
	wantError(t, err, tvmffi.ErrValue, "the event is nil")
}

func TestGraphChildren(t *testing.T) {
	r := newGraphRig(t, 0)
	k := kernel(t, r.m, "saxpy")
	x, y := r.memory(1, 2), r.memory(0, 0)
	child := r.builder()
	node(t)(child.After().Kernel(k, r.config, 2, float32(1), x, y))
	zero := node(t)(cuda.FillNode(r.b.After(), y, uint32(0)))
	n := node(t)(r.b.After(zero).Child(child))
	node(t)(child.After().Empty()) // too late
	ok(t, child.Close())
	c := r.config
	c.Stream = r.st
	captured := node(t)(r.b.After(n).Capture(r.st, func() error {
		return errors.Join(k.Launch(c, 2, float32(10), x, y), cuda.Fill(must[*cuda.Memory](t)(x.Part(4, 4)), float32(7), r.st))
	}))
	node(t)(r.b.After(captured).Kernel(k, r.config, 2, float32(100), x, y))
	gr := r.graph(r.b)
	r.run(gr)
	r.reads(y, 111, 22+700)
	if n.Kind() != "graph" || n.String() != "node 2 (graph of 1 nodes)" || captured.String() != "node 3 (captured graph)" {
		t.Errorf("%s, %s", n, captured)
	}
	if left := r.f.left(); left[5] != 2 {
		t.Errorf("%d graphs", left[5])
	}
	same := r.builder()
	node(t)(same.After().Kernel(k, r.config, 1, float32(5), x, y))
	ok(t, gr.SetChild(n, same))
	r.run(gr)
	r.reads(y, 5+10+100, 70+700)
	wantError(t, gr.SetChild(zero, same), tvmffi.ErrValue, "node 1 (fill of 8 bytes) is not a child graph")
	wantError(t, gr.SetChild(n, child), tvmffi.ErrValue, "is closed")
	_, _, err := same.After().Alloc(8)
	ok(t, err)
	wantError(t, gr.SetChild(n, same), tvmffi.ErrValue, "cannot be a child graph")
	wantDriverError(t, gr.SetChild(n, r.builder()), cuda.ErrGraphUpdate, "cuGraphExecChildGraphNodeSetParams")

	sentinel := errors.New("of f")
	if _, err := r.b.After().Capture(r.st, func() error { return sentinel }); err != sentinel {
		t.Errorf("Capture returns %v", err)
	}
	_, err = r.b.After(zero, zero).Capture(r.st, func() error { return nil })
	wantError(t, err, tvmffi.ErrValue, "is given twice")
	r.f.failing("cuGraphAddChildGraphNode", 999, 0)
	_, err = r.b.After().Capture(r.st, func() error { return nil })
	wantDriverError(t, err, cuda.ErrUnknown, "cuGraphAddChildGraphNode")
	_, err = r.b.After().Capture(nil, func() error { return nil })
	wantError(t, err, tvmffi.ErrValue, "the stream is nil")
	there := must[*cuda.Stream](t)(cuda.Device(1).NewStream())
	defer there.Close()
	_, err = r.b.After().Capture(there, func() error { return nil })
	wantError(t, err, tvmffi.ErrValue, "the stream is of cuda:1, the graph on cuda:0")
	far := must[*cuda.GraphBuilder](t)(cuda.Device(1).NewGraph())
	defer far.Close()
	_, err = r.b.After().Child(far)
	wantError(t, err, tvmffi.ErrValue, "the child graph is of cuda:1")
	wantError(t, gr.SetChild(n, far), tvmffi.ErrValue, "the child graph is of cuda:1")
	wantError(t, gr.UpdateFrom(far), tvmffi.ErrValue, "the builder is of cuda:1, the graph on cuda:0")
	wantError(t, gr.UpdateFrom(nil), tvmffi.ErrValue, "the graph builder is nil")
	_, err = r.b.After().Child(r.b)
	wantError(t, err, tvmffi.ErrValue, "a child graph of itself")
	_, err = r.b.After().Child(child)
	wantError(t, err, tvmffi.ErrValue, "is closed")
	small := r.builder()
	err = gr.UpdateFrom(small)
	wantDriverError(t, err, cuda.ErrGraphUpdate, "cuGraphExecUpdate")
	wantError(t, err, nil, "the graph on cuda:0 (the work has another form)")
}

// TestGraphZeroValues uses what was never made.
func TestGraphZeroValues(t *testing.T) {
	load(t)
	var b *cuda.GraphBuilder
	var gr *cuda.Graph
	zero := &cuda.GraphBuilder{}
	for _, f := range []func() error{
		func() error { _, err := b.Instantiate(); return err },
		func() error { _, err := zero.Instantiate(); return err },
		func() error { _, err := b.After().Empty(); return err },
		func() error { _, err := zero.After().Empty(); return err },
		func() error { _, err := cuda.GraphPlace{}.Empty(); return err },
		func() error { _, err := (cuda.GraphPlace{}).Call(func() error { return nil }); return err },
		func() error { _, _, err := (cuda.GraphPlace{}).Alloc(4); return err },
		func() error { _, _, err := (cuda.GraphPlace{}).If(nil); return err },
		func() error { _, err := cuda.FillNode(cuda.GraphPlace{}, nil, int8(0)); return err },
		func() error { _, err := (cuda.GraphPlace{}).Copy(nil, nil); return err },
		func() error { _, err := b.DOT(); return err },
		func() error { _, err := b.NewCondition(0); return err },
		func() error { return gr.Upload(nil) },
		func() error { return gr.Enable(nil, true) },
		func() error { return gr.UpdateFrom(b) },
		func() error { _, err := gr.Nodes(); return err },
		func() error { _, err := gr.DOT(); return err },
		func() error { return gr.SetCopy(nil, nil, nil) },
		func() error { return gr.Free(nil, nil) },
		func() error { return gr.SetEvent(nil, nil) },
		func() error { return gr.SetChild(nil, nil) },
		func() error { return cuda.Device(9).ResetGraphMemoryHigh() },
		func() error { return cuda.SetFill(gr, nil, nil, int8(0)) },
		func() error { return cuda.SetCopyIn[int8](gr, nil, nil, nil) },
		func() error { return cuda.SetCopyOut[int8](gr, nil, nil, nil) },
		func() error { _, err := cuda.Device(9).NewGraph(); return err },
		func() error { _, err := cuda.Device(9).GraphMemory(); return err },
		func() error { return cuda.Device(9).TrimGraphMemory() },
	} {
		wantError(t, f(), tvmffi.ErrValue)
	}
	ok(t, b.Close())
	ok(t, zero.Close())
}

// TestGraphDOT compares whole pictures.
func TestGraphDOT(t *testing.T) {
	r := newGraphRig(t, 0)
	k := kernel(t, r.m, "saxpy")
	x, y := r.memory(1, 2), r.memory(0, 0)
	zero := node(t)(cuda.FillNode(r.b.After(), y, uint32(0)))
	n := node(t)(r.b.After(zero).Kernel(k, r.config, 2, float32(1), x, y))
	c := must[*cuda.GraphCondition](t)(r.b.NewCondition(1))
	loop, body, err := r.b.After(n).While(c)
	ok(t, err)
	stop := node(t)(body.After().Kernel(kernel(t, r.m, "set_conditional"), r.config, c.Handle(), 0))
	child := r.builder()
	node(t)(child.After(node(t)(child.After().Empty())).Empty())
	node(t)(body.After(stop).Child(child))
	want := `digraph cuda {
  compound=true;
  node [shape=box];
  n1 [label="1: fill of 8 bytes"];
  n2 [label="2: kernel \"saxpy\"\n1 x 1 x 1 blocks of 32 x 1 x 1 threads"];
  n3 [label="3: while"];
  n1 -> n2;
  n2 -> n3;
  subgraph cluster_n3_0 {
    label="body 0 of node 3";
    n3_0_4 [label="4: kernel \"set_conditional\"\n1 x 1 x 1 blocks of 32 x 1 x 1 threads"];
    n3_0_5 [label="5: graph of 2 nodes"];
    n3_0_4 -> n3_0_5;
    subgraph cluster_n3_0_5_0 {
      label="graph of node 5";
      n3_0_5_0_1 [label="1: empty"];
      n3_0_5_0_2 [label="2: empty"];
      n3_0_5_0_1 -> n3_0_5_0_2;
    }
    n3_0_5 -> n3_0_5_0_1 [style=dashed, lhead=cluster_n3_0_5_0];
  }
  n3 -> n3_0_4 [style=dashed, lhead=cluster_n3_0];
}
`
	if got := must[string](t)(r.b.DOT()); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	gr := r.graph(r.b)
	if got := must[string](t)(gr.DOT()); got != want {
		t.Errorf("of the graph: %s", got)
	}
	if loop.Kind() != "conditional" {
		t.Error(loop.Kind())
	}

	launch := r.config
	launch.Stream = r.st
	captured := must[*cuda.Graph](t)(r.st.Capture(func() error {
		return errors.Join(cuda.Fill(y, uint32(0), r.st), k.Launch(launch, 2, float32(1), x, y), cuda.Copy(x, y, r.st))
	}))
	defer captured.Close()
	want = `digraph cuda {
  compound=true;
  node [shape=box];
  n1 [label="1: fill"];
  n2 [label="2: kernel \"saxpy\"\n1 x 1 x 1 blocks of 32 x 1 x 1 threads"];
  n3 [label="3: copy"];
  n1 -> n2;
  n2 -> n3;
}
`
	for range 2 {
		if got := must[string](t)(captured.DOT()); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	nodes := must[[]*cuda.GraphNode](t)(captured.Nodes())
	ok(t, captured.Enable(nodes[0], false))
	ok(t, cuda.SetFill(captured, nodes[0], y, uint32(1)))
	ok(t, captured.SetCopy(nodes[2], x, y))
	wantError(t, gr.Enable(nodes[0], false), tvmffi.ErrValue, "node 1 (fill) is of another graph")
	wantError(t, captured.Enable(zero, false), tvmffi.ErrValue, "is of another graph")
	wantError(t, nodes[0].DependOn(nodes[1]), tvmffi.ErrValue, "node 1 (fill) was captured")
	r.f.failing("cuFuncGetName", 999, 0)
	r.f.failing("cuGraphGetEdges_v2", 999, 0)
	if got := must[string](t)(captured.DOT()); !strings.Contains(got, "n2 -> n3") {
		t.Errorf("of an older driver: %s", got)
	}
	r.f.failing("cuGraphGetEdges_v2", 999, 0)
	r.f.failing("cuGraphGetEdges", 999, 0)
	_, err = captured.DOT()
	wantDriverError(t, err, cuda.ErrUnknown, "cuGraphGetEdges")
}

// TestSetKernelOfOther gives a node a kernel of another device.
func TestSetKernelOfOther(t *testing.T) {
	load(t)
	b := must[*cuda.GraphBuilder](t)(cuda.Device(0).NewGraph())
	defer b.Close()
	k, other := kernel(t, module(t, 0), "add_one"), kernel(t, module(t, 1), "add_one")
	x := must[*cuda.Memory](t)(cuda.AllocOf(0, make([]float32, 4)))
	defer x.Free()
	y := must[*cuda.Memory](t)(cuda.AllocOf(1, make([]float32, 4)))
	defer y.Free()
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	n := must[*cuda.GraphNode](t)(b.After().Kernel(k, c, x, x, 4))
	g := must[*cuda.Graph](t)(b.Instantiate())
	defer g.Close()
	wantError(t, g.SetKernel(n, other, c, y, y, 4), tvmffi.ErrValue, "is of cuda:1, the graph on cuda:0")
}
