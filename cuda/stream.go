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
	address  uintptr // of a borrowed stream, 0 for the default stream
}

// StreamOption changes a new stream.
type StreamOption func(*streamConfig)

type streamConfig struct {
	flags    uintptr
	priority int32
}

// NonBlocking makes a stream that does not wait for the default stream of CUDA,
// nor that for it.
func NonBlocking() StreamOption { return func(c *streamConfig) { c.flags = 1 } }

// Priority gives a stream a priority; lower numbers run first, 0 is normal, and
// the driver clamps it to the range of the device.
func Priority(p int) StreamOption {
	return func(c *streamConfig) { c.priority = int32(max(math.MinInt32, min(p, math.MaxInt32))) }
}

// NewStream makes a stream. The caller closes it.
func (d Device) NewStream(options ...StreamOption) (st *Stream, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	var c streamConfig
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
	st = &Stream{}
	st.open(s, "stream of "+d.String(), g.result(0), streams, driver.StreamDestroy)
	return st, nil
}

// DefaultStream returns the default (legacy) stream of the device, which needs no
// closing.
func (d Device) DefaultStream() (*Stream, error) { return StreamFromPointer(d, tvmffi.Pointer{}) }

// StreamFromPointer describes a stream (CUstream) of another owner, such as
// a framework; Close does nothing for it.
func StreamFromPointer(d Device, p tvmffi.Pointer) (*Stream, error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	return &Stream{resource: resource{s: s}, borrowed: true, address: p.Address}, nil
}

// get returns the CUstream.
func (st *Stream) get() (uintptr, error) {
	if st.borrowed {
		return st.address, nil
	}
	return st.resource.get()
}

// Pointer returns the stream as FFI functions take it, a null pointer after
// Close.
func (st *Stream) Pointer() tvmffi.Pointer {
	h, _ := st.get()
	return tvmffi.Pointer{Address: h}
}

// Device returns the device of the stream.
func (st *Stream) Device() Device { return st.s.device }

// Close destroys the stream. Work that is queued still runs. A second call does
// nothing.
func (st *Stream) Close() error {
	if st == nil || st.borrowed {
		return nil
	}
	return st.shut()
}

// on calls the driver with the stream as first argument.
func (st *Stream) on(f driver.Func, more ...uintptr) error {
	if st == nil {
		return valueError("the stream is nil: use DefaultStream or NewStream of a device")
	}
	h, err := st.get()
	if err != nil {
		return err
	}
	var second, third uintptr
	if len(more) > 0 {
		second = more[0]
	}
	if len(more) > 1 {
		third = more[1]
	}
	return about(st.s.do(f, h, second, third), "the stream of %s", st.s.device)
}

// Synchronize waits until the work queued so far is done. It reports errors of
// kernels that ran before.
func (st *Stream) Synchronize() error { return st.on(driver.StreamSynchronize) }

// Done reports whether the work queued so far is done.
func (st *Stream) Done() (bool, error) { return done(st.on(driver.StreamQuery)) }

func done(err error) (bool, error) {
	if errors.Is(err, ErrNotReady) {
		return false, nil
	}
	return err == nil, err
}

// Wait makes work queued on the stream from now on wait for the event, which may
// be of another device.
func (st *Stream) Wait(e *Event) error {
	h, err := e.live()
	if err != nil {
		return err
	}
	return st.on(driver.StreamWaitEvent, h, 0)
}

// stream returns the CUstream of an argument, on the device of g and its thread.
func (g *guard) stream(st *Stream) (uintptr, error) {
	if st == nil {
		return g.envStream(), nil
	}
	return st.of(g.s)
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
	timing bool
}

// EventOption changes a new event.
type EventOption func(*eventConfig)

type eventConfig struct{ flags uintptr }

// Timing makes an event that [Elapsed] can measure with.
func Timing() EventOption { return func(c *eventConfig) { c.flags &^= 2 } }

// BlockingSync makes an event whose Synchronize sleeps instead of spinning.
func BlockingSync() EventOption { return func(c *eventConfig) { c.flags |= 1 } }

// NewEvent makes an event, without timing unless [Timing] is given. The caller
// closes it.
func (d Device) NewEvent(options ...EventOption) (e *Event, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	const disableTiming = 2
	c := eventConfig{flags: disableTiming}
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
	e = &Event{timing: c.flags&disableTiming == 0}
	e.open(s, "event of "+d.String(), g.result(0), events, driver.EventDestroy)
	return e, nil
}

func (e *Event) live() (uintptr, error) {
	if e == nil {
		return 0, valueError("the event is nil")
	}
	return e.get()
}

// Record sets the event to the end of the work queued on a stream of its device
// so far.
func (e *Event) Record(stream *Stream) error {
	h, err := e.live()
	if err != nil {
		return err
	}
	if err := e.s.queue(driver.EventRecord, stream, h); err != nil {
		return about(err, "the %s", e.what)
	}
	return nil
}

// Synchronize waits until the work before the event is done; an event that was
// never recorded is done.
func (e *Event) Synchronize() error {
	h, err := e.live()
	if err != nil {
		return err
	}
	return about(e.s.do(driver.EventSynchronize, h), "the %s", e.what)
}

// Done reports whether the work before the event is done.
func (e *Event) Done() (bool, error) {
	h, err := e.live()
	if err != nil {
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
		return 0, valueError("the events are of %s and %s: time is measured on one device", from.s.device, to.s.device)
	}
	g, err := from.s.enter()
	if err != nil {
		return 0, err
	}
	defer g.leave(&err)
	if err := g.call(driver.EventElapsedTime, g.out(0), a, b); err != nil {
		return 0, about(err, "the two events")
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
	args := g.scratch.args[:2] // on the heap already
	args[0], args[1] = abi.DLCUDA, uintptr(g.s.device)
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

// WithStream calls f like [WithDevice] with the device of the stream, and with the
// stream as environment stream of the thread: FFI functions that f calls, and
// operations of this package with a nil stream, run on it. The former stream is
// back when WithStream returns, also if f fails or panics. It loads libtvm_ffi.
func WithStream(stream *Stream, f func() error) error {
	if stream == nil {
		return valueError("the stream is nil: use DefaultStream or NewStream of a device")
	}
	if _, err := stream.get(); err != nil {
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
