package cuda

import (
	"slices"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// recording is a capture, for memory that was allocated in it: each launch of the graph allocates
// that memory again, at the same address. It tells how often that was, so that the memory
// is freed once for each launch: afterwards the address may belong to somebody else.
type recording struct {
	id     uint64      // of the driver, unique in the process
	memory atomic.Bool // there is some
	thrown atomic.Bool // the work was thrown away and is never launched
	of     atomic.Pointer[recorded]
	// unknown is a capture that this package has not begun: nobody says how often its work
	// is launched.
	unknown bool
}

// recorded is the graph that has the work of a recording, and its launches before it got that
// work. Without a graph, the work was launched so often, and is not launched any more.
type recorded struct {
	graph    *Graph
	launches uint64
}

// launches returns how often the work was launched.
func (r *recording) launches() uint64 {
	switch of := r.of.Load(); {
	case of == nil:
		return 0
	case of.graph == nil:
		return of.launches
	default:
		return of.graph.launches.Load() - of.launches
	}
}

// has notes that the graph has the work of a recording from now on, nil for work without one. It
// counts launches only while that work allocates memory. The caller holds gr.calls if others know
// the graph.
func (gr *Graph) has(r *recording) {
	if old := gr.recording; old != nil {
		old.of.Store(&recorded{launches: old.launches()})
		gr.recording = nil
	}
	if r != nil && r.memory.Load() {
		r.of.Store(&recorded{gr, gr.launches.Load()})
		gr.recording = r
	}
}

// begun notes the recording of a capture that has begun on a stream.
func (c *captureThreads) begun(g *guard, h uintptr) (*recording, error) {
	id, err := g.captureID(h)
	if err != nil {
		return nil, err
	}
	r := &recording{id: id}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordings = append(c.recordings, r)
	return r, nil
}

// over forgets a recording.
func (c *captureThreads) over(r *recording) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recordings = slices.DeleteFunc(c.recordings, func(x *recording) bool { return x == r })
}

// captureID returns the driver's number of the capture that a stream is in, 0 for none.
func (g *guard) captureID(h uintptr) (uint64, error) {
	if err := g.call(driver.StreamGetCaptureInfo, h, g.out(0), g.out(1)); err != nil {
		return 0, about(err, "the stream of %s", g.s.device)
	}
	if uint32(g.result(0)) == 0 {
		return 0, nil
	}
	return uint64(g.result(1)), nil
}

// recording returns the capture that a stream is in, nil for none. The caller holds the lane of the
// stream for reading, so while this package captures nothing, the stream is not captured by
// it.
func (g *guard) recording(h uintptr) (*recording, error) {
	if g.s.order.captures.Load() == 0 {
		return nil, nil
	}
	id, err := g.captureID(h)
	if err != nil || id == 0 {
		return nil, err
	}
	c := &capturers
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.recordings {
		if r.id == id {
			return r, nil
		}
	}
	return &recording{id: id, unknown: true}, nil
}
