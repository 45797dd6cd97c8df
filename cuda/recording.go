package cuda

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// recording is a capture, for memory that was allocated in it: each launch of the graph allocates
// that memory again, at the same address. It counts the launches, so that the memory is freed
// once for each of them: afterwards the address may belong to another owner.
type recording struct {
	id     uint64      // of the driver, unique in the process
	memory atomic.Bool // there is some
	thrown atomic.Bool // the work was thrown away and is never launched
	of     atomic.Pointer[recorded]
	// unknown is a capture that this package has not begun: nobody says how often its work
	// is launched.
	unknown bool
}

// recorded is the graph that has the work of a recording. launches is how often it was launched
// before it got the work. If graph is nil, nothing launches the work any more, and launches is how
// often that was done.
type recorded struct {
	graph    *Graph
	launches uint64
}

// launches returns how often the work was launched.
func (r *recording) launches() uint64 {
	for {
		of := r.of.Load()
		if of == nil {
			return 0
		}
		if of.graph == nil {
			return of.launches
		}
		n := of.graph.launches.Load() - of.launches
		if r.of.Load() == of { // those launches were of this work
			return n
		}
	}
}

// still keeps the work from being launched until the caller calls the func that it returns.
func (r *recording) still() (goOn func()) {
	for {
		of := r.of.Load()
		if of == nil || of.graph == nil {
			return func() {}
		}
		of.graph.calls.Lock()
		if r.of.Load() == of {
			return of.graph.calls.Unlock
		}
		of.graph.calls.Unlock()
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

// captureID returns the driver's number of the capture that a stream is in, 0 for none, and for
// one that has failed: there each call of the driver says so.
func (g *guard) captureID(h uintptr) (uint64, error) {
	if err := g.call(driver.StreamGetCaptureInfo, h, g.out(0), g.out(1)); err != nil {
		return 0, about(err, "the stream of %s", g.s.device)
	}
	const active = 1 // CU_STREAM_CAPTURE_STATUS_ACTIVE
	if uint32(g.result(0)) != active {
		return 0, nil
	}
	return uint64(g.result(1)), nil
}

// recording returns the capture that a stream is in, nil for none. The caller holds the lane of the
// stream for reading, so that this package does not begin a capture there.
func (g *guard) recording(h uintptr) (*recording, error) {
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

// made returns how often the memory was allocated: once, or by each launch of the graph of a
// capture. Each allocation is freed once.
func (m *Memory) made() uint64 {
	switch r := m.recording; {
	case r == nil:
		return 1
	case r.unknown:
		return m.freed.Load() + 1 // 0 if the graph frees it, because forever+1 overflows
	default:
		return r.launches()
	}
}

// forever is the value of Memory.freed for memory that the graph itself frees.
const forever = math.MaxUint64

// done reports whether the memory was freed, and not allocated again since.
func (m *Memory) done() bool {
	freed := m.freed.Load()
	return freed != 0 && freed >= m.made()
}

// claim lets one caller free an allocation that nobody has freed. It returns what freed was, for
// a caller that could not.
func (m *Memory) claim(allocation uint64) (before uint64, ok bool) {
	for {
		before = m.freed.Load()
		if before >= allocation {
			return before, false
		}
		if m.freed.CompareAndSwap(before, allocation) {
			return before, true
		}
	}
}

// ended returns an error if the memory itself, whatever it is a part of, is not there any more.
func (m *Memory) ended() error {
	if r := m.recording; r != nil && r.thrown.Load() {
		return valueError("memory of %d bytes on %s: the capture that allocates it was thrown away, so it does not exist", m.size, m.s.device)
	}
	if !m.done() {
		return nil
	}
	if m.recording != nil && m.freed.Load() != forever {
		return valueError("the memory of %d bytes on %s was freed: it must not be used until the next launch of the graph that allocates it", m.size, m.s.device)
	}
	return valueError("the memory of %d bytes on %s was freed: it must not be used any more", m.size, m.s.device)
}
