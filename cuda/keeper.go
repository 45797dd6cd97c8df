package cuda

import (
	"maps"
	"slices"
	"sync"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/objects"
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
