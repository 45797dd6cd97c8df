package cuda

import (
	"cmp"
	"errors"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Graph is work that [Stream.Capture] has recorded. It can be queued again at the cost of one
// launch.
type Graph struct {
	resource
	// calls is held for each call of the driver with the graph: NVIDIA forbids two of them at a
	// time.
	calls sync.Mutex
}

// Capture calls f and records the work that it queues on the stream, and on
// streams that wait for it by events, in place of running it. f stays on one OS
// thread; with libtvm_ffi loaded the stream is its environment stream there, so
// that FFI functions are captured too. Everything that the work uses must outlive the
// graph. If f fails or panics, the capture ends and its work is thrown away. The
// caller closes the graph.
//
// Calls in f that wait, allocate or free at once would not be part of the graph, and most of them
// would end the capture. This package refuses them before the driver sees them: Synchronize of
// the device or of a stream that is captured, CopyIn and CopyOut, Alloc, Free, AllocAsync,
// FreeAsync, and Close of a module. Kernels may be loaded there. A stream of another device cannot
// wait for an event of the capture.
//
// Other goroutines may use the device. Their calls that wait for it, which are
// [Device.Synchronize], Free, and Close of modules, wait until the capture has ended, and Capture
// waits at its start until such calls have returned. So f must not wait for a goroutine that makes
// one. While a stream of [Blocking] is captured, the default stream cannot be used, nor CopyIn,
// CopyOut and [AllocOf], which come after its work; Capture of such a stream waits at its start while
// a call queues work on the default stream. Other goroutines must not use the stream itself until
// Capture returns.
func (st *Stream) Capture(f func() error) (graph *Graph, err error) {
	if st == nil {
		return nil, aStream.none()
	}
	h, err := st.get()
	if err != nil {
		return nil, err
	}
	if h <= driver.StreamLegacy {
		return nil, valueError("the default stream cannot be captured: make a stream with NewStream")
	}
	err = WithDevice(st.s.device, func() error {
		return st.s.with(func(g *guard) error {
			captured, err := st.capture(g, h, f)
			if err != nil {
				return err
			}
			graph, err = st.s.instantiate(g, captured)
			return err
		})
	})
	return graph, err
}

// instantiate makes a graph that can be launched of captured work, which it destroys.
func (s *state) instantiate(g *guard, captured uintptr) (graph *Graph, err error) {
	err = g.call(driver.GraphInstantiateWithFlags, g.out(0), captured, 0)
	executable := g.result(0)
	ended := g.call(driver.GraphDestroy, captured)
	if err == nil {
		graph = &Graph{}
		graph.open(s, "graph on "+s.device.String(), executable, graphs, driver.GraphExecDestroy)
	}
	if err = about(errors.Join(err, ended), "a graph on %s", s.device); err != nil && graph != nil {
		also(&err, graph.Close())
		graph = nil
	}
	return graph, err
}

// capture returns the work that f queues, which the caller destroys.
func (st *Stream) capture(g *guard, h uintptr, f func() error) (captured uintptr, err error) {
	if err := st.s.gate.idle(g, h, "Capture"); err != nil {
		return 0, err
	}
	blocks, err := st.blocks(g, h)
	if err != nil {
		return 0, err
	}
	ends, err := st.s.gate.begin(g, h, blocks)
	if err != nil {
		return 0, err
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
		if captured != 0 {
			also(&err, g.call(driver.GraphDestroy, captured))
		}
		if failure != nil && err != nil {
			return 0, errors.Join(failure, err)
		}
		return 0, cmp.Or(failure, err)
	}
	return captured, nil
}

// Launch queues the work of the graph on a stream of its device, without waiting.
// A graph does not run beside itself: the second launch waits for the first. Several goroutines
// may launch it.
func (gr *Graph) Launch(stream *Stream) error {
	if gr == nil {
		return aGraph.none()
	}
	if _, err := gr.get(aGraph); err != nil {
		return err
	}
	w := withins.Get().(*ccall.Within)
	defer withins.Put(w)
	w.Args[1], w.Lookup = 0, 0
	if stream != nil {
		var err error
		if w.Args[1], err = stream.of(gr.s); err != nil {
			return err
		}
	} else if findEnv() {
		w.Lookup, w.LookupArgs, w.LookupTo = envGet.Load(), [2]uintptr{abi.DLCUDA, uintptr(gr.s.device)}, uintptr(unsafe.Pointer(&w.Args[1]))
	}
	var err, left error
	if w.Want, err = gr.s.held(); err != nil {
		return err
	}
	gr.calls.Lock()
	if w.Args[0], err = gr.get(aGraph); err == nil { // Close may have come
		err, left = gr.s.launch(w, driver.GraphLaunch, w.Args[1], stream == nil)
	}
	gr.calls.Unlock() // not deferred, which costs time
	if err != nil {
		err = about(err, "the %s", gr.what)
	}
	if left != nil {
		return errors.Join(err, left)
	}
	return err
}

// Close destroys the graph; launches that are queued still run. A second call
// does nothing.
func (gr *Graph) Close() error {
	if gr == nil {
		return nil
	}
	gr.calls.Lock()
	defer gr.calls.Unlock()
	return gr.shut()
}
