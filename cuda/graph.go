package cuda

import (
	"cmp"
	"errors"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Graph is captured work that can be queued again at the cost of one launch.
type Graph struct{ resource }

// Capture calls f and records the work that it queues on the stream, and on
// streams that wait for it by events, in place of running it. f stays on one OS
// thread; with libtvm_ffi loaded the stream is its environment stream there, so
// that FFI functions are captured too. f must not wait for the device, and what
// its work uses must live as long as the graph. If f fails or panics, the capture
// ends and its work is thrown away. The caller closes the graph.
func (st *Stream) Capture(f func() error) (graph *Graph, err error) {
	if st == nil {
		return nil, valueError("the stream is nil: make one with NewStream")
	}
	h, err := st.get()
	if err != nil {
		return nil, err
	}
	if h == 0 {
		return nil, valueError("the default stream cannot be captured: make one with NewStream")
	}
	err = WithDevice(st.s.device, func() error {
		graph, err = st.capture(h, f)
		return err
	})
	return graph, err
}

func (st *Stream) capture(h uintptr, f func() error) (graph *Graph, err error) {
	// Other threads may go on with calls that a capture does not allow.
	const threadLocal = 1
	g, err := st.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.StreamBeginCapture, h, threadLocal); err != nil {
		return nil, about(err, "the stream of %s", st.s.device)
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
		// f panicked: the graph is of no use, and the panic goes on.
		if captured, err := end(); err == nil && captured != 0 {
			driver.Call(driver.GraphDestroy, captured)
		}
	}()
	run := f
	if findEnv() {
		run = func() error { return withEnv(st, f) }
	}
	failure := run()
	captured, err := end()
	if err != nil || failure != nil {
		if err == nil && captured != 0 {
			err = g.call(driver.GraphDestroy, captured)
		}
		if failure != nil && err != nil {
			return nil, errors.Join(failure, err)
		}
		return nil, cmp.Or(failure, err)
	}
	// The executable graph is a copy.
	err = g.call(driver.GraphInstantiateWithFlags, g.out(1), captured, 0)
	executable := g.result(1)
	if failed := g.call(driver.GraphDestroy, captured); err == nil {
		err = failed
	}
	if err != nil {
		return nil, about(err, "a graph on %s", st.s.device)
	}
	graph = &Graph{}
	graph.open(st.s, "graph on "+st.s.device.String(), executable, graphs, driver.GraphExecDestroy)
	return graph, nil
}

// Launch queues the work of the graph on a stream of its device, without waiting.
// A graph does not run beside itself: the second launch waits for the first.
func (gr *Graph) Launch(stream *Stream) (err error) {
	if gr == nil {
		return valueError("the graph is nil")
	}
	h, err := gr.get()
	if err != nil {
		return err
	}
	g, err := gr.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	on, err := g.stream(stream)
	if err != nil {
		return err
	}
	if err := g.call(driver.GraphLaunch, h, on); err != nil {
		return about(err, "the %s", gr.what)
	}
	return nil
}

// Close destroys the graph; launches that are queued still run. A second call
// does nothing.
func (gr *Graph) Close() error {
	if gr == nil {
		return nil
	}
	return gr.shut()
}
