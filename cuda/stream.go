package cuda

import (
	"errors"
	"math"
	"runtime"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
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
	err = s.with(func(g *guard) error {
		if err := g.call(driver.StreamCreateWithPriority, g.out(0), c.flags, uintptr(c.priority)); err != nil {
			return about(err, "a stream on %s", d)
		}
		st = &Stream{blocking: c.flags&driver.StreamNonBlocking == 0}
		st.open(s, "stream of "+d.String(), g.result(0), streams, driver.StreamDestroy)
		return nil
	})
	return st, err
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
	err = st.s.with(func(g *guard) error {
		if err := g.call(driver.StreamGetPriority, h, g.out(0)); err != nil {
			return about(err, "the stream of %s", st.s.device)
		}
		n = int(int32(g.result(0)))
		return nil
	})
	return n, err
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
	err = s.with(func(g *guard) error {
		if err := g.call(driver.CtxGetStreamPriorityRange, g.out(0), g.out(1)); err != nil {
			return about(err, "%s", s.device)
		}
		p = [2]int32{int32(g.result(0)), int32(g.result(1))}
		s.priority.Store(&p)
		return nil
	})
	return p, err
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
	return s.with(func(g *guard) error {
		if f == driver.StreamQuery {
			return s.gate.queue(g, 0, f, 0)
		}
		c, err := s.copiers.behind(g, &s.gate, 0)
		if err != nil {
			return err
		}
		defer s.copiers.give(c)
		return g.call(f, c.stream)
	})
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
	return st.s.with(func(g *guard) error { return st.s.gate.idle(g, h, call) })
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

// onStream is with for an operation on a stream, whose CUstream f gets too.
func (s *state) onStream(st *Stream, f func(g *guard, h uintptr) error) (err error) {
	g, h, err := s.enterOn(st)
	if err != nil {
		return err
	}
	defer g.leave(&err)
	return f(g, h)
}

// of returns the CUstream for an operation on a device.
func (st *Stream) of(s *state) (uintptr, error) {
	if st.s != s && st.s != nil {
		return 0, valueError("the stream is of %s, the operation on %s: use a stream of that device", st.s.device, s.device)
	}
	return st.get()
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

// blocks reports whether the default stream waits for a stream.
func (st *Stream) blocks(g *guard, h uintptr) (bool, error) {
	if !st.borrowed {
		return st.blocking, nil
	}
	if !driver.Has(driver.StreamGetFlags) {
		return true, nil
	}
	if err := g.call(driver.StreamGetFlags, h, g.out(0)); err != nil {
		return false, about(err, "the stream of %s", st.s.device)
	}
	return uint32(g.result(0))&driver.StreamNonBlocking == 0, nil
}

// queue calls a function that queues work on a stream of the device, its last argument.
func (s *state) queue(f driver.Func, stream *Stream, args ...uintptr) (err error) {
	g, on, err := s.enterOn(stream)
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := s.gate.pass(on); err != nil {
		return err
	}
	defer s.gate.done(on)
	n := copy(g.within.Args[:], args)
	g.within.Args[n] = on
	return failed(driver.CallWith(f, &g.within), f, "")
}
