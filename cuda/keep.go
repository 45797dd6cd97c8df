package cuda

import (
	"maps"
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// keeper holds values until streams of a device have come so far.
type keeper struct {
	mu    sync.Mutex
	kept  map[uintptr][]kept // by CUstream, the oldest first
	spare []uintptr          // events that nothing uses
}

// kept is values until an event.
type kept struct {
	event  uintptr // CUevent
	values []any
}

// Keep keeps values alive until the stream has done the work that is queued on it so
// far. The driver works with addresses: without Keep, the collector may end a tensor
// whose memory a kernel still uses. A *tvmffi.Tensor may also be released by its
// owner at once, because Keep holds a reference of its own. [Memory.Free] waits for the
// device by itself, and Keep does not delay it.
//
// Keep records an event and costs nothing where it is not called. The stream drops the values
// after the work is done, at the next Keep for this stream or the next Synchronize of the device
// or of one of its streams. Everything that a graph uses must outlive the graph, so Keep
// for a stream that is captured is an error.
func (st *Stream) Keep(values ...any) (err error) {
	if st == nil {
		return aStream.none()
	}
	h, err := st.get()
	if err != nil {
		return err
	}
	if err := keepable(values); err != nil {
		return err
	}
	g, err := st.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	k := &st.s.keeper
	event, err := k.record(g, &st.s.gate, h)
	if err != nil {
		return err
	}
	k.hold(h, event, references(values))
	k.look(g, h)
	return nil
}

// keepable refuses values that have ended already.
func keepable(values []any) error {
	for i, v := range values {
		var err error
		switch v := v.(type) {
		case *tvmffi.Tensor:
			_, err = cell(v)
		case *Memory:
			_, err = v.at(nil)
		}
		if e, ok := err.(*tvmffi.Error); ok {
			return valueError("value %d to keep: %s", i, e.Message)
		}
	}
	return nil
}

// references returns what to hold for values: themselves, and references to their tensors.
func references(values []any) []any {
	held := slices.Clone(values)
	for _, v := range values {
		switch v := v.(type) {
		case *tvmffi.Tensor:
			held = append(held, reference(v))
		case *Memory:
			for ; v != nil; v = v.parent {
				if v.tensor != nil {
					held = append(held, reference(v.tensor))
				}
			}
		}
	}
	return held
}

// reference makes another reference to a tensor that was not released.
func reference(t *tvmffi.Tensor) *objects.Object {
	// Every object type has the layout of objects.Object.
	return (*objects.Object)(unsafe.Pointer(t)).Retain()
}

// record returns an event that is recorded on a stream, for hold.
func (k *keeper) record(g *guard, t *gate, h uintptr) (event uintptr, err error) {
	event, err = k.event(g)
	if err != nil {
		return 0, err
	}
	if err := t.uncaptured(g, h, "Keep", driver.EventRecord, event, h); err != nil {
		k.mu.Lock()
		k.spare = append(k.spare, event)
		k.mu.Unlock()
		return 0, about(err, "what a stream of %s keeps", t.device)
	}
	return event, nil
}

// hold keeps values until a stream has come to an event.
func (k *keeper) hold(stream, event uintptr, values []any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[uintptr][]kept{}
	}
	k.kept[stream] = append(k.kept[stream], kept{event, values})
}

// event returns an event that nothing uses.
func (k *keeper) event(g *guard) (uintptr, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.spare); n > 0 {
		e := k.spare[n-1]
		k.spare = k.spare[:n-1]
		return e, nil
	}
	if err := g.call(driver.EventCreate, g.out(0), driver.EventDisableTiming); err != nil {
		return 0, about(err, "an event on %s", g.p.device)
	}
	return g.result(0), nil
}

// look drops what a stream no longer uses.
func (k *keeper) look(g *guard, stream uintptr) {
	if capturers.here() {
		return // the driver refuses to query there
	}
	var done []kept
	k.mu.Lock()
	list := k.kept[stream]
	for len(list) > 0 {
		rc := g.raw(driver.EventQuery, list[0].event)
		// Where the device is lost, nothing uses the values any more.
		if lost := (&Error{Number: int(rc)}).Sticky(); rc != 0 && !lost {
			break
		}
		done, list = append(done, list[0]), list[1:]
	}
	if len(list) == 0 {
		delete(k.kept, stream)
	} else {
		k.kept[stream] = list
	}
	for _, d := range done {
		k.spare = append(k.spare, d.event)
	}
	k.mu.Unlock()
	for _, d := range done {
		for _, v := range d.values {
			if o, ok := v.(*objects.Object); ok {
				o.Release()
			}
		}
	}
}

// lookAll is look for all streams, after the program has waited for one of them.
func (s *state) lookAll() (err error) {
	streams := s.keeper.streams()
	if len(streams) == 0 {
		return nil
	}
	g, err := s.enter()
	if err != nil {
		return nil // the next call sees the error too
	}
	defer g.leave(&err)
	for _, h := range streams {
		s.keeper.look(g, h)
	}
	return nil
}

// streams returns the streams that keep values.
func (k *keeper) streams() []uintptr {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.kept))
}

// empty reports whether there is nothing to close.
func (k *keeper) empty() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.kept) == 0 && len(k.spare) == 0
}

// close destroys the events. It is an error while a stream still keeps values.
func (k *keeper) close(d Device) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.kept) > 0 {
		return valueError("the context of %s is in use: %d streams keep values for work that was not seen to end: call Synchronize of the device first", d, len(k.kept))
	}
	var err error
	for _, e := range k.spare {
		if rc := driver.Call(driver.EventDestroy, e); rc != 0 && err == nil {
			err = failed(rc, driver.EventDestroy, "an event of "+d.String())
		}
	}
	k.spare = nil
	return err
}
