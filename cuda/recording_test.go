package cuda_test

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// recorded returns a graph that allocates two numbers, sets them to 2 and does not free them.
func recorded(t *testing.T, st *cuda.Stream, options ...cuda.GraphOption) (m *cuda.Memory, graph *cuda.Graph) {
	t.Helper()
	graph = must[*cuda.Graph](t)(st.Capture(func() (err error) {
		m, err = st.Device().AllocAsync(8, st)
		return errors.Join(err, cuda.Fill(m, float32(2), st))
	}, options...))
	return m, graph
}

// frees counts the calls of the driver that free memory.
func frees(f *fake) int {
	return len(slices.DeleteFunc(f.calls(), func(c call) bool { return c.name != "cuMemFree_v2" && c.name != "cuMemFreeAsync" }))
}

// TestRecordedFreedOnce frees memory of a capture after each launch: once, by Free or FreeAsync. Afterwards the address may
// be that of another owner, so no further call reaches the driver, and the memory cannot be used.
func TestRecordedFreedOnce(t *testing.T) {
	f := load(t)
	st := newStream(t, 0, cuda.NonBlocking())
	m, graph := recorded(t, st)
	f.reset()
	ok(t, errors.Join(m.Free(), m.FreeAsync(st))) // nothing was launched
	if n := frees(f); n != 0 {
		t.Errorf("%d frees before the first launch", n)
	}
	for i, free := range []func() error{m.Free, func() error { return m.FreeAsync(st) }} {
		ok(t, graph.Launch(st))
		ok(t, st.Synchronize())
		wantFloats(t, m, 2, 2)
		f.reset()
		ok(t, errors.Join(free(), m.Free(), m.FreeAsync(st), st.Synchronize()))
		if n := frees(f); n != 1 {
			t.Errorf("launch %d: %d calls of the driver free the memory, want 1", i, n)
		}
		wantError(t, cuda.CopyOut(make([]float32, 2), m), tvmffi.ErrValue, "was freed: it must not be used until the next launch")
	}
	ok(t, graph.Launch(st))
	ok(t, st.Synchronize())
	ok(t, graph.Close()) // the memory of the last launch stays
	wantFloats(t, m, 2, 2)
	f.reset()
	ok(t, errors.Join(m.Free(), m.Free()))
	if n := frees(f); n != 1 {
		t.Errorf("after Close: %d calls of the driver free the memory, want 1", n)
	}
}

// TestRecordedThrownAway frees and uses memory of a capture that failed, whose address means nothing.
func TestRecordedThrownAway(t *testing.T) {
	f := load(t)
	st := newStream(t, 0, cuda.NonBlocking())
	var m *cuda.Memory
	alloc := func() (err error) { m, err = cuda.Device(0).AllocAsync(8, st); return err }
	for name, capture := range map[string]func() error{
		"an error": func() error {
			_, err := st.Capture(func() error { return errors.Join(alloc(), errors.New("not good")) })
			wantError(t, err, nil, "not good")
			return nil
		},
		"a panic": func() (err error) {
			defer func() { _ = recover() }()
			_, err = st.Capture(func() error { ok(t, alloc()); panic("not good") })
			return errors.New("no panic")
		},
		"no graph": func() error {
			f.failing("cuGraphInstantiateWithFlags", int(cuda.ErrUnknown), 0)
			_, err := st.Capture(alloc)
			wantError(t, err, cuda.ErrUnknown)
			return nil
		},
	} {
		ok(t, capture())
		f.reset()
		ok(t, errors.Join(m.Free(), m.FreeAsync(st)))
		if n := frees(f); n != 0 {
			t.Errorf("%s: %d calls of the driver free the memory, want none", name, n)
		}
		wantError(t, cuda.Fill(m, uint8(1), st), tvmffi.ErrValue, "the capture that allocates it was thrown away")
		if p := m.Pointer(); p.Address != 0 {
			t.Errorf("%s: the address is %#x", name, p.Address)
		}
	}
}

// TestRecordedByAnother frees memory of a capture in another one: refused, and the memory stays that of its graph.
func TestRecordedByAnother(t *testing.T) {
	load(t)
	st := newStream(t, 0, cuda.NonBlocking())
	m, graph := recorded(t, st)
	other := must[*cuda.Graph](t)(st.Capture(func() error {
		wantError(t, m.FreeAsync(st), tvmffi.ErrValue, "a capture frees only memory that it allocates")
		return nil
	}))
	for range 2 {
		ok(t, graph.Launch(st))
		ok(t, st.Synchronize())
		wantFloats(t, m, 2, 2)
		ok(t, m.FreeAsync(st))
	}
	ok(t, errors.Join(st.Synchronize(), other.Close(), graph.Close()))
}

// TestRecordedUpdate replaces the work of a graph by a capture that allocates: its memory counts from the update on.
func TestRecordedUpdate(t *testing.T) {
	f := load(t)
	st := newStream(t, 0, cuda.NonBlocking())
	first, graph := recorded(t, st)
	ok(t, graph.Launch(st))
	ok(t, first.FreeAsync(st))
	var second *cuda.Memory
	ok(t, graph.Update(st, func() (err error) {
		second, err = cuda.Device(0).AllocAsync(8, st)
		return errors.Join(err, cuda.Fill(second, float32(3), st))
	}))
	f.reset()
	ok(t, second.FreeAsync(st)) // not launched yet
	if n := frees(f); n != 0 {
		t.Errorf("%d frees before the launch", n)
	}
	ok(t, graph.Launch(st))
	ok(t, errors.Join(first.FreeAsync(st), first.Free())) // the graph allocates it no more
	ok(t, errors.Join(second.FreeAsync(st), second.FreeAsync(st)))
	if n := frees(f); n != 1 {
		t.Errorf("%d calls of the driver free the memory, want 1", n)
	}
	ok(t, errors.Join(st.Synchronize(), graph.Close()))
}

// TestRecordedFreeLate frees memory of an AutoFree graph during another capture. The next launch frees it first, so the
// free that comes after the capture leaves the memory of that launch alone.
func TestRecordedFreeLate(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	st, other := newStream(t, d, cuda.NonBlocking()), newStream(t, d, cuda.NonBlocking())
	m, graph := recorded(t, st, cuda.AutoFree())
	ok(t, graph.Launch(st))
	ok(t, st.Synchronize())
	captured := must[*cuda.Graph](t)(other.Capture(func() error {
		freed := make(chan error)
		go func() { freed <- m.Free() }()
		return <-freed
	}))
	ok(t, graph.Launch(st))
	ok(t, d.Synchronize())
	wantFloats(t, m, 2, 2)
	ok(t, errors.Join(m.Free(), captured.Close(), graph.Close()))
}

// TestAllocBesideCapture begins a capture of a stream while AllocAsync is in the driver:
// the memory is an allocation like all others.
func TestAllocBesideCapture(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	s := newStuck(t, d, cuda.NonBlocking())
	f.queue(2)
	h := must[*cuda.Host[uint32]](t)(cuda.AllocHost[uint32](d, 1))
	defer h.Free()
	ok(t, cuda.WriteValue(h, 0, uint32(6), s.st))
	before := d.Live().Allocations
	allocated := make(chan *cuda.Memory)
	go func() { allocated <- must[*cuda.Memory](t)(d.AllocAsync(8, s.st)) }()
	untilIn("(*guard).ordered", "driver.CallWith")
	begun := make(chan *cuda.Graph)
	go func() { begun <- must[*cuda.Graph](t)(s.st.Capture(func() error { return nil })) }()
	untilIn("(*Stream).begin", "(*order).lock")
	s.goOn()
	m := <-allocated
	ok(t, (<-begun).Close())
	f.Queue(0)
	ok(t, s.st.Synchronize())
	if n := d.Live().Allocations; n != before+1 {
		t.Errorf("%d allocations are live, want %d", n, before+1)
	}
	f.reset()
	ok(t, errors.Join(m.FreeAsync(s.st), m.FreeAsync(s.st), m.Free()))
	if n := frees(f); n != 1 {
		t.Errorf("%d calls of the driver free the memory, want 1", n)
	}
	if n := d.Live().Allocations; n != before {
		t.Errorf("%d allocations are live, want %d", n, before)
	}
}

// TestNodeMemoryEnds uses memory of a node of a graph: as long as the builder or a graph of it is there.
func TestNodeMemoryEnds(t *testing.T) {
	r := newGraphRig(t, 0)
	b := must[*cuda.GraphBuilder](t)(r.d.NewGraph())
	_, m, err := b.After().Alloc(16)
	ok(t, err)
	part := must[*cuda.Memory](t)(m.Part(4, 4))
	gr := must[*cuda.Graph](t)(b.Instantiate())
	ok(t, b.Close())
	r.run(gr)
	ok(t, cuda.Fill(part, uint32(7), r.st))
	ok(t, errors.Join(gr.Free(m, r.st), r.st.Synchronize(), gr.Close()))
	wantError(t, cuda.Fill(part, uint32(7), r.st), tvmffi.ErrValue, "the memory of 4 bytes on cuda:0 is that of node 1 (allocation of 16 bytes), whose graph and builder are closed")
	if p := m.Pointer(); p.Address != 0 {
		t.Errorf("the address is %#x", p.Address)
	}
}

// TestRecordedFreedAtOnce frees memory of a capture as soon as the work of a launch shows that it has begun, while the
// launch itself may still be in the driver.
func TestRecordedFreedAtOnce(t *testing.T) {
	f := load(t)
	f.seed(0) // work runs at once
	defer f.unseed()
	const d = cuda.Device(0)
	st, other := newStream(t, d, cuda.NonBlocking()), newStream(t, d, cuda.NonBlocking())
	h := must[*cuda.Host[uint32]](t)(cuda.AllocHost[uint32](d, 1))
	defer h.Free()
	word := &h.Slice()[0]
	var m *cuda.Memory
	graph := must[*cuda.Graph](t)(st.Capture(func() (err error) {
		m, err = d.AllocAsync(4, st)
		return errors.Join(err, cuda.Fill(m, uint32(7), st), cuda.CopyOutAsync(h, m, st))
	}))
	for i := range 200 {
		atomic.StoreUint32(word, 0)
		freed := make(chan error)
		go func() {
			for atomic.LoadUint32(word) != 7 {
				runtime.Gosched()
			}
			freed <- m.FreeAsync(other)
		}()
		err := graph.Launch(st)
		if err != nil {
			atomic.StoreUint32(word, 7) // it frees nothing then
		}
		if err = errors.Join(err, <-freed); err != nil {
			t.Fatalf("launch %d: %v", i, err)
		}
		ok(t, errors.Join(st.Synchronize(), other.Synchronize()))
	}
	ok(t, graph.Close())
}

// TestRecordedByOthers allocates and frees memory in captures that another library begins, while this package captures
// another stream and while it does not.
func TestRecordedByOthers(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	st, own := newStream(t, d, cuda.NonBlocking()), newStream(t, d, cuda.NonBlocking())
	const threadLocal = 1
	handle := st.Pointer().Address
	// capture returns a graph of what step queues, captured by raw calls of the driver.
	capture := func(step func() error) (exec uintptr, end func()) {
		out := make([]uintptr, 1)
		call := func(f driver.Func, args ...uintptr) {
			t.Helper()
			if rc := driver.Call(f, args...); rc != 0 {
				t.Fatalf("%s: %d", f, rc)
			}
		}
		call(driver.StreamBeginCapture, handle, threadLocal)
		ok(t, step())
		call(driver.StreamEndCapture, handle, uintptr(unsafe.Pointer(&out[0])))
		captured := out[0]
		call(driver.GraphInstantiateWithFlags, uintptr(unsafe.Pointer(&out[0])), captured, 0)
		exec = out[0]
		return exec, func() {
			call(driver.GraphExecDestroy, exec)
			call(driver.GraphDestroy, captured)
		}
	}
	launch := func(exec uintptr) {
		t.Helper()
		if rc := driver.Call(driver.GraphLaunch, exec, handle); rc != 0 {
			t.Fatalf("cuGraphLaunch: %d", rc)
		}
	}
	for _, beside := range []bool{false, true} {
		run := func(step func() error) error {
			if !beside {
				return step()
			}
			graph, err := own.Capture(step)
			return errors.Join(err, graph.Close())
		}
		ok(t, cuda.WithDevice(d, func() error {
			var m *cuda.Memory
			exec, end := capture(func() error {
				return run(func() (err error) {
					m, err = d.AllocAsync(8, st)
					return errors.Join(err, cuda.Fill(m, float32(2), st))
				})
			})
			for range 3 {
				launch(exec)
				ok(t, st.Synchronize())
				wantFloats(t, m, 2, 2)
				f.reset()
				ok(t, m.FreeAsync(st))
				if n := frees(f); n != 1 {
					t.Errorf("%t: %d calls of the driver free the memory, want 1", beside, n)
				}
			}
			end()
			exec, end = capture(func() error {
				return run(func() (err error) { m, err = d.AllocAsync(8, st); return errors.Join(err, m.FreeAsync(st)) })
			})
			launch(exec)
			ok(t, st.Synchronize())
			f.reset()
			ok(t, errors.Join(m.Free(), m.FreeAsync(st)))
			if n := frees(f); n != 0 {
				t.Errorf("%t: %d calls of the driver free memory that the graph frees", beside, n)
			}
			end()
			return nil
		}))
	}
}

// TestRecordedInvalid frees memory in a capture that a call of another library has made invalid: the error says so.
func TestRecordedInvalid(t *testing.T) {
	load(t)
	st := newStream(t, 0, cuda.NonBlocking())
	_, err := st.Capture(func() error {
		m, err := cuda.Device(0).AllocAsync(8, st)
		ok(t, err)
		if rc := driver.Call(driver.StreamSynchronize, st.Pointer().Address); rc == 0 {
			t.Error("the driver waits for a stream that is captured")
		}
		_, _, err = cuda.Device(0).MemoryInfo()
		ok(t, err)
		if err := m.FreeAsync(st); errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("FreeAsync: %v", err)
		}
		_, err = cuda.Device(0).AllocAsync(8, st)
		wantError(t, err, cuda.ErrCaptureInvalidated)
		return nil
	})
	wantError(t, err, cuda.ErrCaptureInvalidated)
}

// TestNodeMemoryGiven asks for memory of a builder whose nodes a graph has got by UpdateFrom.
func TestNodeMemoryGiven(t *testing.T) {
	r := newGraphRig(t, 0)
	x := r.memory(0, 0, 0, 0)
	builder := func(v float32) (*cuda.GraphBuilder, *cuda.Memory) {
		b := must[*cuda.GraphBuilder](t)(r.d.NewGraph())
		n, m, err := b.After().Alloc(16)
		ok(t, err)
		n = must[*cuda.GraphNode](t)(cuda.FillNode(b.After(n), m, v))
		n = must[*cuda.GraphNode](t)(b.After(n).Copy(x, m))
		must[*cuda.GraphNode](t)(b.After(n).Free(m))
		return b, m
	}
	first, _ := builder(2)
	second, m := builder(3)
	gr := must[*cuda.Graph](t)(first.Instantiate())
	ok(t, errors.Join(gr.UpdateFrom(second), second.Close(), first.Close()))
	r.run(gr)
	r.reads(x, 3, 3, 3, 3)
	if m.Pointer().Address == 0 {
		t.Error("the memory has no address while a graph allocates it")
	}
	ok(t, gr.Close())
	wantError(t, cuda.Fill(m, uint32(7), r.st), tvmffi.ErrValue, "whose graph and builder are closed")
}
