package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// kind is a kind of thing that this package makes on a device.
type kind int

const (
	allocations kind = iota
	allocated        // bytes
	streams
	events
	modules
	graphs
	pools
	kinds
)

// primary is the primary context of one device, which its operations make current.
type primary struct {
	device Device
	handle uintptr // CUdevice

	mu      sync.Mutex
	context atomic.Uintptr // 0 while it is not retained
	users   atomic.Int64   // operations that run now
	live    [kinds]atomic.Int64
}

// state is the state of one device. There is one per device, from
// the first use of the driver until the process ends.
type state struct {
	primary

	limits   func() (*limits, error)  // read once
	priority atomic.Pointer[[2]int32] // the least and the greatest of streams, once read

	gate    gate
	copiers copiers
	keeper  keeper
	peers   peers
}

// start loads the driver and lists the devices, once.
var start = sync.OnceValues(func() ([]*state, error) {
	if err := driver.Load(); err != nil {
		return nil, unavailable(err)
	}
	n := new(int32)
	if rc := driver.Call(driver.DeviceGetCount, uintptr(unsafe.Pointer(n))); rc != 0 {
		return nil, unavailable(&driver.FailedError{Func: driver.DeviceGetCount, Code: rc})
	}
	if *n == 0 {
		return nil, unavailable(&driver.FailedError{Func: driver.DeviceGetCount, Code: int32(ErrNoDevice)})
	}
	states := make([]*state, *n)
	for i := range states {
		handle := new(int32)
		if rc := driver.Call(driver.DeviceGet, uintptr(unsafe.Pointer(handle)), uintptr(i)); rc != 0 {
			return nil, failed(rc, driver.DeviceGet, Device(i).String())
		}
		s := new(state)
		s.device, s.handle, s.gate.device = Device(i), uintptr(*handle), Device(i)
		s.limits, s.gate.changed.L = sync.OnceValues(s.readLimits), &s.gate.mu
		states[i] = s
	}
	return states, nil
})

func unavailable(err error) error {
	var f *driver.FailedError
	if !errors.As(err, &f) {
		return &Error{Text: err.Error(), unavailable: true}
	}
	e := failed(f.Code, f.Func, "").(*Error)
	e.unavailable = true
	return e
}

// stateOf returns the state of a device that exists.
func stateOf(d Device) (*state, error) {
	states, err := start()
	if err != nil {
		return nil, err
	}
	if d < 0 || int(d) >= len(states) {
		return nil, valueError("there is no device %s: the program sees %d, numbered from 0: look at CUDA_VISIBLE_DEVICES", d, len(states))
	}
	return states[d], nil
}

// acquire returns the primary context, retained, and keeps it until the matching
// p.users.Add(-1).
func (p *primary) acquire() (uintptr, error) {
	p.users.Add(1)
	if c := p.context.Load(); c != 0 {
		return c, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.context.Load(); c != 0 {
		return c, nil
	}
	c := new(uintptr)
	if rc := driver.Call(driver.DevicePrimaryCtxRetain, uintptr(unsafe.Pointer(c)), p.handle); rc != 0 {
		p.users.Add(-1)
		return 0, failed(rc, driver.DevicePrimaryCtxRetain, p.device.String())
	}
	p.context.Store(*c)
	return *c, nil
}

// held is acquire without the count, for the operation of a module or another thing
// that is live on the device and so keeps the context.
func (p *primary) held() (uintptr, error) {
	if c := p.context.Load(); c != 0 {
		return c, nil
	}
	c, err := p.acquire() // a Release looks right now whether it may
	if err == nil {
		p.users.Add(-1)
	}
	return c, err
}

// current returns the primary context for an operation that runs and so keeps it. A Release that
// looks whether it may takes it away for a moment.
func (p *primary) current() uintptr {
	c, _ := p.held()
	return c
}

// owns reports whether a context is the primary context, once a Release that runs has looked.
func (p *primary) owns(context uintptr) bool {
	if p.context.Load() == context {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.context.Load() == context
}

// Release gives back the primary context that this package retained. It is an error while an
// operation runs on the device, while anything that this package made there is live, and while a
// stream keeps values ([Stream.Keep]). The next use retains the context again. Peer access must be
// enabled again then.
func (d Device) Release() error {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	if err := s.lookAll(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.context.Swap(0)
	if c == 0 {
		return nil
	}
	// An operation that starts now waits for the lock and retains the context again.
	if l := s.left(); l != (Live{}) || s.users.Load() != 0 {
		s.context.Store(c)
		return valueError("the context of %s is in use: %d operations run, and these were not freed: %s: free or close them first", d, s.users.Load(), l)
	}
	if err := s.hidden(c); err != nil {
		s.context.Store(c)
		return err
	}
	s.forgetPeers()
	return failed(driver.Call(driver.DevicePrimaryCtxRelease, s.handle), driver.DevicePrimaryCtxRelease, d.String())
}

// Live is what this package has made on a device and nobody has freed yet.
type Live struct {
	Allocations int64 // of memory, on the device and pinned on the host, and memory of others that Free ends
	Bytes       int64 // in these allocations
	Streams     int64
	Events      int64
	Modules     int64
	Graphs      int64
	Pools       int64
}

// String names what is left, such as "allocations: 1 of 16 bytes, streams: 2".
func (l Live) String() string {
	var parts []string
	if l.Allocations != 0 {
		parts = append(parts, fmt.Sprintf("allocations: %d of %d bytes", l.Allocations, l.Bytes))
	}
	for _, c := range []struct {
		what string
		n    int64
	}{{"streams", l.Streams}, {"events", l.Events}, {"modules", l.Modules}, {"graphs", l.Graphs}, {"pools", l.Pools}} {
		if c.n != 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", c.what, c.n))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Live counts what the program has not freed yet, which is how a test finds
// leaks. Before the first use of CUDA, and without it, all is 0.
func (d Device) Live() Live {
	s, err := stateOf(d)
	if err != nil {
		return Live{}
	}
	return s.left()
}

// left is Live of the device.
func (p *primary) left() Live {
	n := func(k kind) int64 { return p.live[k].Load() }
	return Live{n(allocations), n(allocated), n(streams), n(events), n(modules), n(graphs), n(pools)}
}

// guard is an operation on a device: its goroutine has an OS thread of its own
// and the device is current there until leave. It has the memory for arguments and results of
// the driver, and is reused so that an operation allocates nothing.
type guard struct {
	p        *primary
	before   uintptr // the context that was current
	switched bool
	results  [4]uintptr
	within   ccall.Within
}

var guards = sync.Pool{New: func() any { return new(guard) }}

// enter makes the device current on the calling thread, which it pins.
func (p *primary) enter() (*guard, error) {
	runtime.LockOSThread()
	context, err := p.acquire()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	g := guards.Get().(*guard)
	g.p, g.switched = p, false
	f := driver.CtxGetCurrent
	rc := g.raw(f, g.out(0))
	if g.before = g.results[0]; rc == 0 && g.before != context {
		f = driver.CtxSetCurrent
		rc = g.raw(f, context)
		g.switched = rc == 0
	}
	if rc != 0 {
		err := failed(rc, f, p.device.String())
		g.leave(&err)
		return nil, err
	}
	return g, nil
}

// out returns the address of a result.
func (g *guard) out(i int) uintptr { return uintptr(unsafe.Pointer(&g.results[i])) }

// result returns a result that the driver has written.
func (g *guard) result(i int) uintptr { return g.results[i] }

const formerDevice = "the device that was current before"

// again makes the device current again after a function of the program, which may have made
// another one current.
func (g *guard) again(err *error) {
	context, rc := g.p.current(), g.raw(driver.CtxGetCurrent, g.out(0))
	if rc == 0 && g.result(0) == context {
		return
	}
	if rc := g.raw(driver.CtxSetCurrent, context); rc != 0 {
		also(err, failed(rc, driver.CtxSetCurrent, g.p.device.String()))
		g.switched = true // leave has something to restore now
	}
}

// also adds an error to another one; both may be nil.
func also(err *error, more error) {
	if more != nil {
		*err = errors.Join(*err, more)
	}
}

// leave makes the former context current again. It runs on every way out of an
// operation, panics included, and adds its own failure to *err.
func (g *guard) leave(err *error) {
	if g.switched {
		if rc := g.raw(driver.CtxSetCurrent, g.before); rc != 0 {
			also(err, failed(rc, driver.CtxSetCurrent, formerDevice))
			// The thread stays with this goroutine and ends with it: no other goroutine
			// may get it with the wrong device.
			runtime.LockOSThread()
		}
	}
	p := g.p
	guards.Put(g)
	p.users.Add(-1)
	runtime.UnlockOSThread()
}

// raw calls the driver without an allocation. The caller keeps memory that an
// argument points to alive and on the heap, as the results of g.out are.
func (g *guard) raw(f driver.Func, args ...uintptr) int32 {
	copy(g.within.Args[:], args)
	return driver.CallWith(f, &g.within)
}

// call is raw with an error.
func (g *guard) call(f driver.Func, args ...uintptr) error {
	return failed(g.raw(f, args...), f, "")
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

// callGo is call for arguments that point to memory of Go, which is kept alive
// and moves to the heap.
//
//go:uintptrescapes
func (g *guard) callGo(f driver.Func, args ...uintptr) error {
	return failed(driver.Call(f, args...), f, "")
}

// within calls f as w says, with the device current, all in one crossing: which replaces
// enter, call and leave. w.Want is the context, which the caller keeps. The error
// of the call comes apart from that of making the former device current again.
func (p *primary) within(w *ccall.Within, f driver.Func) (err, left error) {
	if !driver.Has(f) {
		return failed(driver.Missing, f, ""), nil
	}
	w.Get, w.Set, w.Fn = driver.Address(driver.CtxGetCurrent), driver.Address(driver.CtxSetCurrent), driver.Address(f)
	// For the case below alone: a crossing is on one thread.
	runtime.LockOSThread()
	ccall.CallWithin(w)
	switch {
	case w.Step == ccall.AtGet:
		err = failed(int32(w.RC), driver.CtxGetCurrent, p.device.String())
	case w.Step == ccall.AtSet:
		err = failed(int32(w.RC), driver.CtxSetCurrent, p.device.String())
	case w.RC != 0:
		err = failed(int32(w.RC), f, "")
	}
	if w.Back != 0 {
		left = failed(int32(w.Back), driver.CtxSetCurrent, formerDevice)
		runtime.LockOSThread() // as in leave
	}
	runtime.UnlockOSThread()
	return err, left
}

var withins = sync.Pool{New: func() any { return new(ccall.Within) }}

// do is an operation of one call without results; no argument points to memory of
// Go.
func (p *primary) do(f driver.Func, args ...uintptr) error {
	w := withins.Get().(*ccall.Within)
	defer withins.Put(w)
	copy(w.Args[:], args)
	w.Lookup = 0
	var err error
	if w.Want, err = p.acquire(); err != nil {
		return err
	}
	defer p.users.Add(-1)
	err, left := p.within(w, f)
	if left != nil {
		return errors.Join(err, left)
	}
	return err
}

// WithDevice calls f on one OS thread, on which the device is current. Goroutines that f starts
// run on other threads, where it is not. The former device is current again when WithDevice
// returns, also if f fails, panics, or makes another context current. Calls of this package
// inside f do not switch again, and libraries that use the current device see this one. Calls may
// be nested.
func WithDevice(d Device, f func() error) (err error) {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	g, err := s.enter()
	if err != nil {
		return err
	}
	thread := capi.ThreadID()
	fixed.add(thread)
	defer func() {
		fixed.remove(thread)
		// f may have changed the context itself: the context that is current now decides.
		rc := g.raw(driver.CtxGetCurrent, g.out(0))
		g.switched = rc != 0 || g.result(0) != g.before
		g.leave(&err)
	}()
	return f()
}

// resource is a thing of the driver that is closed once.
type resource struct {
	s      *state
	what   string
	handle atomic.Uintptr
	kind   kind
	close  driver.Func
}

func (r *resource) open(s *state, what string, handle uintptr, k kind, end driver.Func) {
	r.s, r.what, r.kind, r.close = s, what, k, end
	r.handle.Store(handle)
	s.live[k].Add(1)
}

// get returns the handle, or the error of using it after Close.
func (r *resource) get(t *thing) (h uintptr, err error) {
	if h = r.handle.Load(); h == 0 {
		err = r.ended(t)
	}
	return h, err
}

func (r *resource) ended(t *thing) error {
	if r.s == nil {
		return t.zero()
	}
	return valueError("the %s is closed: it must not be used any more", r.what)
}

// shut calls the destroying function once; whatever that returns, there is
// nothing left to close. Where the device cannot be made current, the resource
// stays open.
func (r *resource) shut() (err error) {
	if r.handle.Load() == 0 {
		return nil
	}
	g, err := r.s.enter()
	if err != nil {
		return about(err, "the %s", r.what)
	}
	defer g.leave(&err)
	h := r.handle.Swap(0)
	if h == 0 {
		return nil
	}
	r.s.live[r.kind].Add(-1)
	return about(g.call(r.close, h), "the %s", r.what)
}
