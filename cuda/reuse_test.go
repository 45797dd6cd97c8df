package cuda_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"weak"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestReusedArguments gives two nodes arguments in one slice, which the program then fills with others. A graph keeps those
// that its nodes have.
func TestReusedArguments(t *testing.T) {
	r := newGraphRig(t, 0)
	k := kernel(t, r.m, "add_one")
	x := r.memory(1, 2, 3, 4)
	part := func() *cuda.Memory { return must[*cuda.Memory](t)(x.Part(0, 16)) }
	collected := func(p weak.Pointer[cuda.Memory]) bool {
		for range 5 {
			runtime.GC()
			if p.Value() == nil {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	}
	args := []any{part(), part(), 4}
	first := weak.Make(args[0].(*cuda.Memory))
	node := must[*cuda.GraphNode](t)(r.b.After().Kernel(k, r.config, args...))
	args[0], args[1] = part(), part()
	before := []*cuda.GraphNode{node}
	place := r.b.After(before...)
	before[0] = nil
	must[*cuda.GraphNode](t)(place.Kernel(k, r.config, args...))
	if collected(first) {
		t.Error("the argument of a node was collected while the builder has it")
	}
	gr := r.graph(r.b)
	args[0], args[1] = part(), part()
	second := weak.Make(args[1].(*cuda.Memory))
	ok(t, gr.SetKernel(node, k, r.config, args...))
	args[0], args[1] = part(), part()
	if collected(second) {
		t.Error("the argument of SetKernel was collected while the graph has it")
	}
	runtime.KeepAlive(args)
	r.run(gr)
	r.reads(x, 3, 4, 5, 6)
}

// TestRefusedRelease asks for the release of a device again and again while others use it. It is refused, and they see nothing
// of it.
func TestRefusedRelease(t *testing.T) {
	load(t)
	x, y := must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2})), must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{3, 4}))
	defer x.Free()
	defer y.Free()
	ok(t, cuda.WithDevice(0, func() error {
		stop := make(chan struct{})
		var g sync.WaitGroup
		for d := range cuda.Device(2) {
			g.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						wantError(t, d.Release(), tvmffi.ErrValue, "is in use")
					}
				}
			})
		}
		defer g.Wait()
		defer close(stop)
		b, err := cuda.Device(0).NewGraph()
		if err != nil {
			return err
		}
		defer b.Close()
		for range 300 {
			if d, found, err := cuda.CurrentDevice(); d != 0 || !found || err != nil {
				t.Errorf("the current device is %s, %t, %v", d, found, err)
			}
			_, filled := cuda.FillNode(b.After(), x, float32(1))
			_, copied := b.After().Copy(x, y)
			if err := errors.Join(cuda.Copy(y, x, nil), filled, copied); err != nil {
				return err
			}
		}
		return cuda.Device(1).Synchronize()
	}))
	ok(t, cuda.Device(0).Synchronize())
}

// TestFreeThatUnmaps frees memory of the program during a capture. What ends it unmaps addresses, so no lock of them may be held
// when it is called.
func TestFreeThatUnmaps(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	size, _, err := d.Granularity()
	ok(t, err)
	a := growing(t, d, 3*size, 0, size, 2*size)
	st := newStream(t, d, cuda.NonBlocking())
	for _, c := range []struct {
		unmap int64
		end   func() error
	}{{0, func() error { return a.Unmap(size) }}, {2 * size, a.Close}} {
		freed := false
		at := must[*cuda.Memory](t)(a.Memory(c.unmap, 16)).Pointer()
		m := must[*cuda.Memory](t)(cuda.FromPointer(d, at, 16, func() error { freed = true; return c.end() }))
		graph, err := st.Capture(func() error {
			done := make(chan error)
			go func() { done <- m.Free() }()
			return <-done
		})
		ok(t, errors.Join(err, graph.Close()))
		done := make(chan error, 1)
		go func() { done <- a.Unmap(c.unmap) }()
		select {
		case err := <-done:
			ok(t, err)
		case <-time.After(20 * time.Second):
			t.Fatal("Unmap hangs")
		}
		if !freed {
			t.Error("the memory that was freed during a capture is not freed")
		}
	}
}

// TestMemoryOfLaunches captures an allocation, and frees it after each launch.
func TestMemoryOfLaunches(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	st := newStream(t, d, cuda.NonBlocking())
	pool := must[*cuda.Pool](t)(d.NewPool())
	defer pool.Close()
	before := d.Live()
	for name, alloc := range map[string]func() (*cuda.Memory, error){
		"AllocAsync": func() (*cuda.Memory, error) { return d.AllocAsync(8, st) },
		"Pool.Alloc": func() (*cuda.Memory, error) { return pool.Alloc(8, st) },
	} {
		var kept, inside *cuda.Memory
		graph := must[*cuda.Graph](t)(st.Capture(func() (err error) {
			inside = must[*cuda.Memory](t)(alloc())
			ok(t, cuda.Fill(inside, float32(1), st))
			ok(t, inside.FreeAsync(st))
			kept, err = alloc()
			return errors.Join(err, cuda.Fill(kept, float32(2), st))
		}))
		for i, free := range []func() error{func() error { return kept.FreeAsync(st) }, kept.Free, func() error { return kept.FreeAsync(st) }} {
			if err := graph.Launch(st); err != nil {
				t.Fatalf("%s: launch %d: %v", name, i, err)
			}
			got := make([]float32, 2)
			ok(t, st.Synchronize())
			ok(t, cuda.CopyOut(got, kept))
			if !slices.Equal(got, []float32{2, 2}) {
				t.Errorf("%s: launch %d: the memory is %v", name, i, got)
			}
			ok(t, free())
		}
		ok(t, st.Synchronize())
		ok(t, inside.FreeAsync(st)) // it ended in the capture
		ok(t, graph.Close())
		if n := f.left()[0]; n != 0 {
			t.Errorf("%s: %d allocations are left on the driver", name, n)
		}
	}
	before.Pools = d.Live().Pools
	if after := d.Live(); after != before {
		t.Errorf("live are %+v, want %+v", after, before)
	}
}

// TestIncompleteGraph has a builder with a node that the driver made and did not complete.
func TestIncompleteGraph(t *testing.T) {
	r := newGraphRig(t, 0)
	k := kernel(t, r.m, "add_one")
	x := r.memory(1, 2, 3, 4)
	good := r.builder()
	must[*cuda.GraphNode](t)(good.After().Kernel(k, r.config, x, x, 4))
	gr := r.graph(good)
	r.f.failing("cuGraphKernelNodeSetAttribute", 1, 0)
	c := r.config
	c.RemoteDomain = true
	_, err := r.b.After().Kernel(k, c, x, x, 4)
	wantError(t, err, cuda.ErrInvalidValue)
	const text = "is not complete, because the driver refused a part of it: make a new graph"
	_, err = r.b.Instantiate()
	wantError(t, err, tvmffi.ErrValue, text)
	_, err = r.builder().After().Child(r.b)
	wantError(t, err, tvmffi.ErrValue, text)
	wantError(t, gr.UpdateFrom(r.b), tvmffi.ErrValue, text)
}

// TestReleasedTensor uses memory of a tensor after the release of the tensor.
func TestReleasedTensor(t *testing.T) {
	loadTVMFFI(t)
	const d = cuda.Device(0)
	st := newStream(t, d)
	m := must[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1, 2}))
	defer m.Free()
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 2))
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	ok(t, cuda.Fill(v, float32(3), st))
	ok(t, st.Synchronize())
	x.Release()
	for name, err := range map[string]error{
		"Keep": st.Keep(v), "Fill": cuda.Fill(v, float32(4), st), "CopyIn": cuda.CopyIn(v, []float32{5, 6}), "CopyOut": cuda.CopyOut(make([]float32, 2), v),
	} {
		if err == nil {
			t.Errorf("%s takes memory of a tensor that was released", name)
			continue
		}
		wantError(t, err, nil, "released")
	}
}

// TestPartOfTensor launches on another device with a part of the memory of a tensor.
func TestPartOfTensor(t *testing.T) {
	loadTVMFFI(t)
	m0 := module(t, 0)
	k := kernel(t, m0, "add_one")
	pool := must[*cuda.Pool](t)(cuda.Device(1).NewPool())
	defer pool.Close()
	ok(t, pool.AllowAccess(0))
	far := newStream(t, 1)
	m := must[*cuda.Memory](t)(pool.Alloc(32, far))
	ok(t, cuda.Fill(m, float32(1), far))
	ok(t, far.Synchronize())
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 8))
	defer x.Release()
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	part := must[*cuda.Memory](t)(v.Part(8, 16))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	ok(t, k.Launch(c, v, v, 4))
	ok(t, k.Launch(c, part, part, 4))
	ok(t, cuda.Device(0).Synchronize())
	ok(t, m.Free())
}

// TestNodesOfGoroutines asks a captured graph for its nodes and its picture on several goroutines at once.
func TestNodesOfGoroutines(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	m := must[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1, 2}))
	defer m.Free()
	st := newStream(t, d, cuda.NonBlocking())
	for range 20 {
		graph := must[*cuda.Graph](t)(st.Capture(func() error { return errors.Join(cuda.Fill(m, float32(1), st), cuda.Fill(m, float32(2), st)) }))
		var firsts [4]*cuda.GraphNode
		var pictures [4]string
		ok(t, together(len(firsts), func(i int) (err error) {
			nodes, err := graph.Nodes()
			if err != nil {
				return err
			}
			firsts[i] = nodes[0]
			pictures[i], err = graph.DOT()
			return err
		}))
		for i := range firsts {
			if firsts[i] != firsts[0] || pictures[i] != pictures[0] {
				t.Fatalf("goroutine %d: node %p, picture %q; the first has %p, %q", i, firsts[i], pictures[i], firsts[0], pictures[0])
			}
		}
		ok(t, graph.Close())
	}
}

// TestFreeOfLaterNode adds a node that frees memory after a graph was made. The graph does not have the node.
func TestFreeOfLaterNode(t *testing.T) {
	r := newGraphRig(t, 0)
	alloc, m, err := r.b.After().Alloc(16)
	ok(t, err)
	must[*cuda.GraphNode](t)(cuda.FillNode(r.b.After(alloc), m, float32(1)))
	gr := must[*cuda.Graph](t)(r.b.Instantiate())
	r.run(gr)
	must[*cuda.GraphNode](t)(r.b.After(alloc).Free(m))
	ok(t, gr.Free(m, r.st))
	r.run(gr)
	ok(t, gr.Free(m, r.st))
	ok(t, gr.Close())
	wantError(t, r.graph(r.b).Free(m, r.st), tvmffi.ErrValue, "is freed by node 3")
}

// TestReusedOptions changes slices that the program has given to an image, or has got from Switch.
func TestReusedOptions(t *testing.T) {
	r := newGraphRig(t, 0)
	options := []cuda.ModuleOption{cuda.MaxRegisters(32)}
	images := []*cuda.Image{
		cuda.NewImage([]byte(ptx), options...),
		must[*cuda.Image](t)(cuda.ImageFS(fstest.MapFS{"a.ptx": {Data: []byte(ptx)}}, "*.ptx", options...)),
	}
	options[0] = nil
	for _, im := range images {
		must[*cuda.Module](t)(im.Module(0))
		ok(t, im.Close())
	}
	_, bodies, err := r.b.After().Switch(must[*cuda.GraphCondition](t)(r.b.NewCondition(0)), 2)
	ok(t, err)
	must[*cuda.GraphNode](t)(bodies[0].After().Empty())
	bodies[0], bodies[1] = nil, nil
	if dot := must[string](t)(r.b.DOT()); !strings.Contains(dot, "empty") {
		t.Errorf("the picture lacks the node of the body:\n%s", dot)
	}
}

// TestFreeOfAnotherGraph frees memory of a node in the graph of another builder, which is closed then. The graph that
// allocates the memory can still free it.
func TestFreeOfAnotherGraph(t *testing.T) {
	r := newGraphRig(t, 0)
	_, m, err := r.b.After().Alloc(16)
	ok(t, err)
	gr := r.graph(r.b)
	other := must[*cuda.GraphBuilder](t)(r.d.NewGraph())
	must[*cuda.GraphNode](t)(other.After().Free(m))
	ok(t, other.Close())
	r.run(gr)
	ok(t, errors.Join(gr.Free(m, r.st), r.st.Synchronize()))
	must[*cuda.GraphNode](t)(r.b.After(r.b.Nodes()...).Free(m))
}
