package cuda

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/ebitengine/purego"
)

// Stream is a queue of work on one device. A nil *Stream as an argument is the
// environment stream of the device.
type Stream struct {
	resource
	borrowed bool
	blocking bool    // not of a borrowed stream
	address  uintptr // of a borrowed stream, 0 for the default stream
}

// StreamOption changes a new stream.
type StreamOption func(*streamConfig)

type streamConfig struct {
	flags    uintptr
	priority int32
}

// Blocking makes a stream that waits for the default stream of CUDA, and that waits for it, as
// streams of cudaStreamCreate do.
func Blocking() StreamOption { return func(c *streamConfig) { c.flags &^= driver.StreamNonBlocking } }

// Priority gives a stream a priority; lower numbers run first, 0 is normal, and
// the driver clamps it to the range of the device, [Device.PriorityRange].
func Priority(p int) StreamOption {
	return func(c *streamConfig) { c.priority = int32(max(math.MinInt32, min(p, math.MaxInt32))) }
}

// NewStream makes a stream, which does not wait for the default stream of CUDA without [Blocking].
// The caller closes it.
func (d Device) NewStream(options ...StreamOption) (st *Stream, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	c := streamConfig{flags: driver.StreamNonBlocking}
	for _, o := range options {
		o(&c)
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.StreamCreateWithPriority, g.out(0), c.flags, uintptr(c.priority)); err != nil {
		return nil, about(err, "a stream on %s", d)
	}
	st = &Stream{blocking: c.flags&driver.StreamNonBlocking == 0}
	st.open(s, "stream of "+d.String(), g.result(0), streams, driver.StreamDestroy)
	return st, nil
}

// DefaultStream returns the default (legacy) stream of the device, which needs no
// closing.
func (d Device) DefaultStream() (*Stream, error) { return StreamFromPointer(d, tvmffi.Pointer{}) }

// StreamFromPointer describes a stream (CUstream) of another owner, such as
// a framework; Close does nothing for it. The handle 2 is the default stream of the calling OS
// thread. A goroutine changes threads, so such a stream can be used only inside [WithDevice] and
// [WithStream], which stay on one.
func StreamFromPointer(d Device, p tvmffi.Pointer) (*Stream, error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	return &Stream{resource: resource{s: s}, borrowed: true, address: p.Address}, nil
}

// Priority returns the priority of the stream, which the driver has clamped to the range
// of the device.
func (st *Stream) Priority() (n int, err error) {
	if st == nil {
		return 0, aStream.none()
	}
	h, err := st.get()
	if err != nil {
		return 0, err
	}
	g, err := st.s.enter()
	if err != nil {
		return 0, err
	}
	defer g.leave(&err)
	if err := g.call(driver.StreamGetPriority, h, g.out(0)); err != nil {
		return 0, about(err, "the stream of %s", st.s.device)
	}
	return int(int32(g.result(0))), nil
}

// PriorityRange returns the priorities that streams and launches of the device can have:
// numbers from greatest, which runs first and is negative, to least, which is 0. Both are 0
// where the device has no priorities.
func (d Device) PriorityRange() (least, greatest int, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, 0, err
	}
	p, err := s.priorities()
	return int(p[0]), int(p[1]), err
}

// priorities returns the least and the greatest priority, which it reads once.
func (s *state) priorities() (p [2]int32, err error) {
	if known := s.priority.Load(); known != nil {
		return *known, nil
	}
	g, err := s.enter()
	if err != nil {
		return p, err
	}
	defer g.leave(&err)
	if err := g.call(driver.CtxGetStreamPriorityRange, g.out(0), g.out(1)); err != nil {
		return p, about(err, "%s", s.device)
	}
	p = [2]int32{int32(g.result(0)), int32(g.result(1))}
	s.priority.Store(&p)
	return p, nil
}

// get returns the CUstream.
func (st *Stream) get() (uintptr, error) {
	if !st.borrowed {
		return st.resource.get(aStream)
	}
	if st.address == driver.StreamPerThread && !fixed.here() {
		return 0, valueError("the stream is the default stream of an OS thread (handle 2), and goroutines change threads: use it inside WithDevice or WithStream, or make a stream with NewStream")
	}
	return st.address, nil
}

// Pointer returns the stream as FFI functions take it, a null pointer after
// Close.
func (st *Stream) Pointer() tvmffi.Pointer {
	if st.borrowed {
		return tvmffi.Pointer{Address: st.address}
	}
	return tvmffi.Pointer{Address: st.handle.Load()}
}

// Device returns the device of the stream.
func (st *Stream) Device() Device { return st.s.device }

// Close destroys the stream. Work that is queued still runs, and memory that was allocated
// on the stream stays. For a stream that is captured it is an error, and the stream stays
// open. A second call does nothing.
func (st *Stream) Close() error {
	if st == nil || st.borrowed {
		return nil
	}
	if err := st.uncaptured("Close"); err != nil && st.handle.Load() != 0 {
		return err
	}
	return st.shut()
}

// ask calls a function of the driver that waits for the stream, or asks whether its work is done.
func (st *Stream) ask(call string, f driver.Func) error {
	if st == nil {
		return aStream.none()
	}
	if err := st.uncaptured(call); err != nil {
		return err
	}
	h, err := st.get()
	switch {
	case err != nil:
		return err
	case h > driver.StreamLegacy:
		err = st.s.do(f, h)
	default:
		err = st.s.askDefault(f)
	}
	return about(err, "the stream of %s", st.s.device)
}

// askDefault is ask for the default stream. It waits without a lock, on a helper stream that
// follows the default stream.
func (s *state) askDefault(f driver.Func) (err error) {
	g, err := s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if f == driver.StreamQuery {
		return s.gate.queue(g, 0, f, 0)
	}
	c, err := s.copiers.take(g)
	if err != nil {
		return err
	}
	defer s.copiers.give(c)
	if err := c.follow(g, &s.gate, 0); err != nil {
		return err
	}
	return g.call(f, c.stream)
}

// Synchronize waits until the work queued so far is done. It reports errors of
// kernels that ran before. For a stream that is captured it is an error, because its
// work does not run.
func (st *Stream) Synchronize() error {
	if err := st.ask("Synchronize", driver.StreamSynchronize); err != nil {
		return err
	}
	return st.s.lookAll()
}

// uncaptured refuses a call for a stream that is captured, while this package captures one.
func (st *Stream) uncaptured(call string) (err error) {
	if st.s == nil || st.s.gate.captures.Load() == 0 {
		return nil // the caller refuses a zero Stream
	}
	h, err := st.get()
	if err != nil {
		return err
	}
	g, err := st.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	return st.s.gate.idle(g, h, call)
}

// Done reports whether the work queued so far is done. It fails in the cases in which Synchronize
// fails.
func (st *Stream) Done() (bool, error) {
	return done(st.ask("Done", driver.StreamQuery))
}

func done(err error) (bool, error) {
	if errors.Is(err, ErrNotReady) {
		return false, nil
	}
	return err == nil, err
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
	g, err := st.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := st.join(g, e, h); err != nil {
		return err
	}
	return about(st.s.gate.queue(g, h, driver.StreamWaitEvent, h, event, 0), "the stream of %s", st.s.device)
}

// stream returns the CUstream of an argument, on the thread of g.
func (s *state) stream(g *guard, st *Stream) (h uintptr, err error) {
	if st == nil {
		return g.envStream(), nil
	}
	return st.of(s)
}

// enterOn is enter for an operation on a stream, whose CUstream it returns too.
func (s *state) enterOn(st *Stream) (g *guard, h uintptr, err error) {
	if g, err = s.enter(); err != nil {
		return nil, 0, err
	}
	if h, err = s.stream(g, st); err != nil {
		g.leave(&err)
	}
	return g, h, err
}

// of returns the CUstream for an operation on a device.
func (st *Stream) of(s *state) (uintptr, error) {
	if st.s != s && st.s != nil {
		return 0, valueError("the stream is of %s, the operation on %s: use a stream of that device", st.s.device, s.device)
	}
	return st.get()
}

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
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.EventCreate, g.out(0), c.flags); err != nil {
		return nil, about(err, "an event on %s", d)
	}
	e = &Event{timing: c.flags&driver.EventDisableTiming == 0}
	e.open(s, "event of "+d.String(), g.result(0), events, driver.EventDestroy)
	return e, nil
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
	g, h, err := e.s.enterOn(stream)
	if err != nil {
		return err
	}
	defer g.leave(&err)
	captured := false
	if e.s.gate.captures.Load() != 0 {
		if captured, err = e.s.gate.captured(g, h); err != nil {
			return err
		}
	}
	if err := e.s.gate.queue(g, h, driver.EventRecord, event, h); err != nil {
		return about(err, "the %s", e.what)
	}
	e.captured.Store(captured)
	return nil
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
	g, err := from.s.enter()
	if err != nil {
		return 0, err
	}
	defer g.leave(&err)
	if err := g.call(driver.EventElapsedTime, g.out(0), a, b); err != nil {
		switch {
		case errors.Is(err, ErrInvalidHandle):
			return 0, about(err, "two events of %s, of which one was never recorded: call Record of both first", from.s.device)
		case errors.Is(err, ErrNotReady):
			return 0, about(err, "two events of %s, of which one is not done: call Synchronize of the later one first", from.s.device)
		}
		return 0, about(err, "two events of %s", from.s.device)
	}
	milliseconds := math.Float32frombits(uint32(g.result(0)))
	return time.Duration(float64(milliseconds) * float64(time.Millisecond)), nil
}

// The functions of libtvm_ffi for the stream of a thread, 0 until that
// library is loaded.
var envGet, envSet atomic.Uintptr

// findEnv looks for the functions if libtvm_ffi is loaded.
func findEnv() bool {
	if envGet.Load() != 0 {
		return true
	}
	if !capi.Attached() {
		return false
	}
	h, err := dynlib.Loaded(tvmffi.LibraryPath())
	if err != nil {
		return false
	}
	get, err := h.Symbol("TVMFFIEnvGetStream")
	if err != nil {
		return false
	}
	set, err := h.Symbol("TVMFFIEnvSetStream")
	if err != nil {
		return false
	}
	envSet.Store(set)
	envGet.Store(get)
	return true
}

// envStream returns the environment stream of the calling thread, 0 without one.
func (g *guard) envStream() uintptr {
	if !findEnv() {
		return 0
	}
	args := g.within.Args[:2] // on the heap already
	args[0], args[1] = abi.DLCUDA, uintptr(g.p.device)
	h, _, _ := purego.SyscallN(envGet.Load(), args...)
	return h
}

// setEnvStream sets the environment stream of the calling thread and returns the
// one before.
func setEnvStream(d Device, h uintptr) (before uintptr, err error) {
	old := new(uintptr)
	rc, _, _ := purego.SyscallN(envSet.Load(), abi.DLCUDA, uintptr(d), h, uintptr(unsafe.Pointer(old)))
	if int32(rc) != 0 {
		return 0, tvmffi.NewError("RuntimeError", "TVMFFIEnvSetStream failed for "+d.String())
	}
	return *old, nil
}

// WithStream calls f like [WithDevice] with the device of the stream, and with the stream as
// environment stream of the thread: FFI functions that f calls, and operations of this package
// with a nil stream, run on it. Goroutines that f starts run on other threads, where the stream
// is not set. The former stream is back when WithStream returns, also if f fails or panics. It
// loads libtvm_ffi.
func WithStream(stream *Stream, f func() error) error {
	if stream == nil {
		return aStream.none()
	}
	if _, err := stream.get(); err != nil && !stream.borrowed {
		return err
	}
	if err := tvmffi.Load(); err != nil {
		return err
	}
	if !findEnv() {
		return tvmffi.NewError("RuntimeError", "libtvm_ffi "+tvmffi.LibraryPath()+" has no TVMFFIEnvSetStream; run \"go tool tvmffi-bind setup\"")
	}
	return WithDevice(stream.s.device, func() error { return withEnv(stream, f) })
}

// withEnv is WithStream on a thread that is pinned to the device.
func withEnv(stream *Stream, f func() error) (err error) {
	h, err := stream.get()
	if err != nil {
		return err
	}
	before, err := setEnvStream(stream.s.device, h)
	if err != nil {
		return err
	}
	defer func() {
		if _, failed := setEnvStream(stream.s.device, before); failed != nil {
			err = errors.Join(err, failed)
			// The thread must not serve another goroutine with the wrong stream.
			runtime.LockOSThread()
		}
	}()
	return f()
}
