package cuda

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Event is a point in the work of a stream.
type Event struct {
	resource
	timing   bool
	captured atomic.Bool // its last record is in a capture
}

// EventOption changes a new event.
type EventOption func(*eventConfig)

type eventConfig struct{ flags uintptr }

// Timing makes an event that [Elapsed] can measure with.
func Timing() EventOption { return func(c *eventConfig) { c.flags &^= driver.EventDisableTiming } }

// BlockingSync makes an event whose Synchronize sleeps instead of spinning.
func BlockingSync() EventOption { return func(c *eventConfig) { c.flags |= driver.EventBlockingSync } }

// NewEvent makes an event, without timing unless [Timing] is given. The caller
// closes it.
func (d Device) NewEvent(options ...EventOption) (e *Event, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	c := eventConfig{flags: driver.EventDisableTiming}
	for _, o := range options {
		o(&c)
	}
	err = s.with(func(g *guard) error {
		if err := g.call(driver.EventCreate, g.out(0), c.flags); err != nil {
			return about(err, "an event on %s", d)
		}
		e = &Event{timing: c.flags&driver.EventDisableTiming == 0}
		e.open(s, "event of "+d.String(), g.result(0), events, driver.EventDestroy)
		return nil
	})
	return e, err
}

func (e *Event) live() (uintptr, error) {
	if e == nil {
		return 0, anEvent.none()
	}
	return e.get(anEvent)
}

// Record sets the event to the end of the work queued on a stream of its device
// so far.
func (e *Event) Record(stream *Stream) (err error) {
	event, err := e.live()
	if err != nil {
		return err
	}
	return e.s.onStream(stream, func(g *guard, h uintptr) error {
		captured := false
		if e.s.gate.captures.Load() != 0 {
			var err error
			if captured, err = e.s.gate.captured(g, h); err != nil {
				return err
			}
		}
		if err := e.s.gate.queue(g, h, driver.EventRecord, event, h); err != nil {
			return about(err, "the %s", e.what)
		}
		e.captured.Store(captured)
		return nil
	})
}

// Wait makes work queued on the stream from now on wait for the event, which may
// be of another device: for the last Record before this call. An event that was never
// recorded is done, and then Wait does nothing. A stream that waits for an event of a capture
// joins the capture; a stream of another device cannot.
func (st *Stream) Wait(e *Event) (err error) {
	event, err := e.live()
	if err != nil {
		return err
	}
	if st == nil {
		return aStream.none()
	}
	h, err := st.get()
	if err != nil {
		return err
	}
	return st.s.with(func(g *guard) error {
		if err := st.join(g, e, h); err != nil {
			return err
		}
		return about(st.s.gate.queue(g, h, driver.StreamWaitEvent, h, event, 0), "the stream of %s", st.s.device)
	})
}

// join refuses a wait for an event of a capture that this package does not follow: on another
// device, or on a stream that the default stream waits for, unless it does so for the capture.
func (st *Stream) join(g *guard, e *Event, h uintptr) error {
	if !e.captured.Load() || e.s.gate.captures.Load() == 0 {
		return nil
	}
	if e.s != st.s {
		return valueError("the event was recorded in a capture on %s, the stream is of %s: a capture stays on one device: capture the work of each device apart", e.s.device, st.s.device)
	}
	if e.s.gate.blocking.Load() > 0 {
		return nil
	}
	if blocks, err := st.blocks(g, h); !blocks {
		return err
	}
	return valueError("the event was recorded in a capture, and the default stream of %s waits for this stream: only streams that were not made with Blocking can join a capture of one that was not", st.s.device)
}

// Synchronize waits until the work before the event is done; an event that was
// never recorded is done. Inside [Stream.Capture], and for an event that was last recorded
// on a stream that was captured, it is an error.
func (e *Event) Synchronize() error {
	h, err := e.live()
	if err != nil {
		return err
	}
	if err := outside("Synchronize of an event", "wait after the launch of the graph"); err != nil {
		return err
	}
	return about(e.s.do(driver.EventSynchronize, h), "the %s", e.what)
}

// Done reports whether the work before the event is done. It fails in the cases in
// which Synchronize fails.
func (e *Event) Done() (bool, error) {
	h, err := e.live()
	if err != nil {
		return false, err
	}
	if err := outside("Done of an event", "ask after the launch of the graph"); err != nil {
		return false, err
	}
	return done(about(e.s.do(driver.EventQuery, h), "the %s", e.what))
}

// Close destroys the event. A second call does nothing.
func (e *Event) Close() error {
	if e == nil {
		return nil
	}
	return e.shut()
}

// Elapsed returns the time between two recorded events of one device, both made
// with [Timing] and done. Its resolution is about half a microsecond.
func Elapsed(from, to *Event) (t time.Duration, err error) {
	a, err := from.live()
	if err != nil {
		return 0, err
	}
	b, err := to.live()
	if err != nil {
		return 0, err
	}
	if !from.timing || !to.timing {
		return 0, valueError("an event was made without timing: make it with cuda.Timing()")
	}
	if from.s != to.s {
		return 0, valueError("the events are of %s and %s: time is measured on one device: record both there", from.s.device, to.s.device)
	}
	err = from.s.with(func(g *guard) error {
		if err := g.call(driver.EventElapsedTime, g.out(0), a, b); err != nil {
			switch {
			case errors.Is(err, ErrInvalidHandle):
				return about(err, "two events of %s, of which one was never recorded: call Record of both first", from.s.device)
			case errors.Is(err, ErrNotReady):
				return about(err, "two events of %s, of which one is not done: call Synchronize of the later one first", from.s.device)
			}
			return about(err, "two events of %s", from.s.device)
		}
		milliseconds := math.Float32frombits(uint32(g.result(0)))
		t = time.Duration(float64(milliseconds) * float64(time.Millisecond))
		return nil
	})
	return t, err
}
