package cuda

import (
	"cmp"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// The locks of this package, in the order in which a goroutine takes them. It skips those
// that it does not need.
//
//	1  loadedImage.mu, Kernel.mu, Addresses.change, GreenContext.mu, Graph.calls
//	2  state.mu
//	3  order.mu
//	4  lane.join, of one stream
//	5  order.joins
//	6  all others, under which nobody takes another one
//
// A call of the driver waits for work if it is a cuCtxSynchronize, cuStreamSynchronize or
// cuEventSynchronize, ends memory or unloads a module; loading code may wait, too. A call that
// queues work waits while the queue of the stream is full, which has room for about a
// thousand launches. Either may last until another goroutine does something, so it has to
// be free to do it. These locks are held meanwhile, and only by who would wait anyway:
//
//   - order.mu for reading, by all that waits for the device ([Device.Synchronize], Free, Close
//     of modules, addresses and staging memory, Unmap, Unbind, Alloc where memory is short):
//     another one of those waits for the same device. Only the begin of a capture wants it for
//     writing, and its docs say so.
//   - lane.join, over cuEventRecord, cuStreamWaitEvent, cuLaunchHostFunc, cuMemAllocAsync,
//     cuMemFreeAsync and the copies of Staging: who wants it queues work on the same stream. The
//     begin of a capture of that stream waits without another lock.
//   - order.mu for writing and lane.join, over cuStreamWaitEvent for an event of another device
//     on which something is captured. Who wants one of them must not wait for the device, or
//     queue a copy, before it is known whether the stream has joined that capture.
//   - Graph.calls, over cuGraphLaunch and all other calls with the graph: NVIDIA lets one
//     thread at a time use it. And over cuMemFree of memory of its capture, after a wait.
//   - loadedImage.mu and Kernel.mu, over what loads code: who wants one of these would load
//     the same code on the same device.
//   - Addresses.change, while Unmap waits: who wants it maps or unmaps in the same range.
//   - state.mu, over the begin and the end of the primary context: who wants it needs that.
//
// Under all other locks calls of the driver only make or ask something, or there are none.
// NVIDIA lets one thread at a time use a green context, for which GreenContext.mu is there. No
// lock is held while a function of the program runs, on this thread or on one of the driver.

// order is what the calls that wait for a device and the captures of its streams know
// of each other. The driver refuses to wait for a device while one of its streams is
// captured, and the attempt ruins the capture.
type order struct {
	// mu is held for reading while the program waits for the device, and for writing
	// while a capture begins. A capture that begins keeps new readers out too, so only what
	// waits for the device may take it: a stream may wait for what another call does.
	mu       sync.RWMutex
	captures atomic.Int32
	// joins is held while a stream is asked whether it has joined a capture, and while a
	// capture ends.
	joins sync.Mutex
	late  late

	// legacy counts the captured streams that the default stream waits for. Those of
	// joined are in it, which a capture has got by events.
	legacy atomic.Int32
	joined int32
	lanes  lanes
}

// capturers are the OS threads that capture. Capture stays on its thread, which no
// other goroutine gets meanwhile, so the thread stands for the goroutine.
var capturers captureThreads

type captureThreads struct {
	n       atomic.Int32
	mu      sync.Mutex
	threads map[int]int // how many captures
	// guests are devices of which a stream has joined a capture that began on another one. Each
	// counts as captured until no capture runs: the driver does not say which one has ended there.
	guests []*state
}

// add notes a capture of a thread.
func (c *captureThreads) add(thread int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads == nil {
		c.threads = map[int]int{}
	}
	c.threads[thread]++
	c.n.Add(1)
}

// remove notes the end of one, and returns the guests that are not captured any more.
func (c *captureThreads) remove(thread int) (guests []*state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads[thread]--; c.threads[thread] == 0 {
		delete(c.threads, thread)
	}
	if c.n.Add(-1) == 0 {
		guests, c.guests = c.guests, nil
	}
	return guests
}

// capturing reports whether the calling goroutine is inside Capture. It costs one
// load while nothing is captured.
func capturing() bool {
	if capturers.n.Load() == 0 {
		return false
	}
	capturers.mu.Lock()
	defer capturers.mu.Unlock()
	id := capi.ThreadID() // 0 where the system cannot tell: then the driver refuses
	return id != 0 && capturers.threads[id] != 0
}

// outside refuses a call inside Capture before the driver does, which would end the
// capture too.
func outside(call, remedy string) error {
	if !capturing() {
		return nil
	}
	return valueError("%s inside Capture: it would not be part of the graph, and the driver refuses it there: %s", call, remedy)
}

// legacy reports whether the default stream waits for a stream.
func (st *Stream) legacy(g *guard, h uintptr) (bool, error) {
	if !st.borrowed {
		return st.s.order.lanes.follows(h), nil
	}
	if !driver.Has(driver.StreamGetFlags) {
		return true, nil
	}
	if err := g.call(driver.StreamGetFlags, h, g.out(0)); err != nil {
		return false, about(err, "the stream of %s", st.s.device)
	}
	return uint32(g.result(0))&nonBlocking == 0, nil
}

// begin begins the capture of a stream on the calling thread, which is pinned. The caller
// calls the func that it returns after the end of the capture.
func (st *Stream) begin(g *guard, h uintptr) (ends func(), err error) {
	if err := g.idle(h, "Capture"); err != nil {
		return nil, err
	}
	legacy, err := st.legacy(g, h)
	if err != nil {
		return nil, err
	}
	o, thread := &st.s.order, capi.ThreadID()
	// Other threads may go on with calls that a capture does not allow.
	const threadLocal = 1
	l := o.lanes.use(h)
	defer o.lanes.drop(l)
	o.lock(l)
	defer o.mu.Unlock()
	defer l.join.Unlock()
	// All of this before the driver knows.
	capturers.add(thread)
	if o.captures.Add(1); legacy {
		o.legacy.Add(1)
	}
	ends = func() { st.s.ended(thread, legacy) }
	if err := g.call(driver.StreamBeginCapture, h, threadLocal); err != nil {
		ends() // what was to be freed meanwhile waits for the lock still
		return nil, about(err, "the stream of %s", st.s.device)
	}
	return ends, nil
}

// lock locks what the begin of a capture needs: o.mu and the join of the lane. It waits for
// neither while it holds the other one: a copy holds the join while the queue of the stream is
// full, and o.mu is held while the device is waited for. It waits for both in turn, because
// copies and calls that wait for the device may always be there.
func (o *order) lock(l *lane) {
	for {
		l.join.Lock()
		if o.mu.TryLock() {
			return
		}
		l.join.Unlock()
		o.mu.Lock()
		if l.join.TryLock() {
			return
		}
		o.mu.Unlock()
	}
}

// ended notes the end of a capture that a thread began.
func (s *state) ended(thread int, legacy bool) {
	guests := capturers.remove(thread)
	if legacy {
		s.order.legacy.Add(-1)
	}
	s.order.less()
	for _, guest := range guests {
		guest.order.less()
	}
}

// less notes that there is one capture less.
func (o *order) less() {
	o.joins.Lock()
	defer o.joins.Unlock()
	o.late.mu.Lock()
	defer o.late.mu.Unlock()
	if o.captures.Add(-1) == 0 {
		o.legacy.Add(-o.joined)
		o.joined = 0
	}
}

// finish waits for all work of the device and then frees what was freed during captures. Who
// calls it holds no lock: that may be a function of the program. It refuses where a stream of
// the device is captured.
func (g *guard) finish() error {
	last := g.s.order.late.last()
	err := g.wait()
	if e, ok := err.(*Error); err == nil || ok && e.Sticky() {
		g.freeLate(last, err)
	}
	return err
}

// wait is finish for a caller that holds a lock. It frees nothing.
func (g *guard) wait() error {
	o := &g.s.order
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.captures.Load() != 0 {
		return valueError("a stream of %s is captured, so the program cannot wait for all work of the device: wait for one stream or event, or until Capture has returned", g.s.device)
	}
	return g.call(driver.CtxSynchronize)
}

// idle reports whether no work runs after a call of the driver that waits or ends something and that
// has returned err: either it has succeeded, or the device is lost.
func idle(err error) bool {
	e, ok := err.(*Error)
	return !ok || e.Sticky()
}

// whenDone calls f when the work of the device is done: now, or if a stream of it is
// captured, after that. If the wait fails, f is called only if the device is lost, because
// no work runs then.
func (g *guard) whenDone(f func(g *guard) error) (called bool, err error) {
	o := &g.s.order
	last := o.late.last()
	o.mu.RLock() // from here on captures only end
	if o.captures.Load() != 0 && o.postpone(f) {
		o.mu.RUnlock()
		return true, nil
	}
	lost := g.call(driver.CtxSynchronize)
	o.mu.RUnlock()
	if !idle(lost) {
		return false, lost
	}
	g.freeLate(last, lost)
	return true, cmp.Or(lost, f(g))
}

// late is what was freed while a stream of the device was captured. The next call that waits for
// the device after the captures frees it. The end of a capture does not, and no goroutine of
// this package does: work may wait for what the program does next, and as long as
// something waits for the device, no capture can begin.
type late struct {
	mu     sync.Mutex // captures does not become 0 without it
	frees  []lateFree // the oldest first
	count  uint64     // of all so far
	failed error      // what went wrong then
}

type lateFree struct {
	number uint64
	free   func(g *guard) error
}

// postpone keeps f for after the captures, and reports whether there are any.
func (o *order) postpone(f func(g *guard) error) bool {
	l := &o.late
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.captures.Load() == 0 {
		return false
	}
	l.count++
	l.frees = append(l.frees, lateFree{l.count, f})
	return true
}

// freeLate frees what was postponed up to a number, after a wait for the device that began
// later. lost is the error of a device that does no work any more, which the caller returns.
func (g *guard) freeLate(last uint64, lost error) {
	l := &g.s.order.late
	for f := l.take(last); f != nil; f = l.take(last) {
		if err := f(g); err != nil && lost == nil {
			l.keep(about(err, "what was freed during a capture on %s", g.s.device))
		}
	}
}

// endLate frees what was postponed, if nothing is captured any more.
func (s *state) endLate() (err error) {
	if !s.order.late.any() || capturing() {
		return nil
	}
	g, err := s.enter()
	if err != nil {
		return nil // the next call sees the error too
	}
	defer g.leave(&err)
	_ = g.finish() // what could not be freed is live still
	return nil
}

// any reports whether something waits to be freed.
func (l *late) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.frees) > 0
}

// last returns the number of the newest one.
func (l *late) last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// take returns the oldest one if it is not newer than the last one.
func (l *late) take(last uint64) func(g *guard) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.frees) == 0 || l.frees[0].number > last {
		return nil
	}
	f := l.frees[0].free
	l.frees = l.frees[1:]
	return f
}

// keep keeps an error for lateError.
func (l *late) keep(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = errors.Join(l.failed, err)
}

// lateError returns once what went wrong when memory was freed after a capture, or streams
// after they were closed.
func (o *order) lateError() error {
	l := &o.late
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.failed
	l.failed = nil
	return err
}

// waitable refuses to wait for a stream that is captured, or inside Capture, before the
// driver does.
func (st *Stream) waitable(call string) (err error) {
	if st == nil || st.s == nil {
		return nil // on refuses it
	}
	if err := outside(call, "wait after the launch of the graph"); err != nil {
		return err
	}
	if st.s.order.captures.Load() == 0 {
		return nil
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
	return g.idle(h, call)
}

// idle refuses a call for a stream that is captured.
func (g *guard) idle(h uintptr, call string) error {
	if err := g.s.usable(h); err != nil {
		return err
	}
	if err := g.call(driver.StreamIsCapturing, h, g.out(0)); err != nil {
		return about(err, "the stream of %s", g.s.device)
	}
	if uint32(g.result(0)) != 0 {
		return valueError("%s for a stream of %s that is captured: its work is recorded and does not run: call it after the launch of the graph", call, g.s.device)
	}
	return nil
}

// streamLegacy is CU_STREAM_LEGACY, which is the default stream as 0 is.
const streamLegacy = 1

// launchable is usable for the stream of a launch.
func (s *state) launchable(h uintptr, env bool) (err error) {
	if env {
		g, err := s.enter()
		if err != nil {
			return err
		}
		defer g.leave(&err)
		h = g.envStream()
	}
	return s.usable(h)
}

// usable refuses the default stream while a stream that it waits for is captured.
func (s *state) usable(h uintptr) error {
	if h > streamLegacy || s.order.legacy.Load() == 0 {
		return nil
	}
	return valueError("the default stream of %s cannot be used while a stream that it waits for is captured: capture a stream of NewStream(NonBlocking()), or use another stream here", s.device)
}

// relax lets the calling thread load code inside Capture: that is not part of a graph, and
// a program need not know when a kernel is used for the first time. The caller calls
// the func that it returns on the same thread.
func (g *guard) relax() (back func(), err error) {
	if !capturing() {
		return func() {}, nil
	}
	mode := new(int32)
	*mode = 2 // CU_STREAM_CAPTURE_MODE_RELAXED
	exchange := func() error { return g.callGo(driver.ThreadExchangeStreamCaptureMode, uintptr(unsafe.Pointer(mode))) }
	if err := exchange(); err != nil {
		return nil, err
	}
	return func() { _ = exchange() }, nil
}

// hidden ends what this package keeps on the device for itself, before the context is
// given back. Nobody else uses the device, and state.mu is held.
func (s *state) hidden(context uintptr) (err error) {
	ls := &s.order.lanes
	if ls.empty() && s.keeper.empty() {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := new(uintptr)
	if rc := driver.Call(driver.CtxGetCurrent, uintptr(unsafe.Pointer(before))); rc != 0 {
		return failed(rc, driver.CtxGetCurrent, s.device.String())
	}
	if *before != context {
		if rc := driver.Call(driver.CtxSetCurrent, context); rc != 0 {
			return failed(rc, driver.CtxSetCurrent, s.device.String())
		}
		defer func() {
			if rc := driver.Call(driver.CtxSetCurrent, *before); rc != 0 {
				err = errors.Join(err, failed(rc, driver.CtxSetCurrent, formerDevice))
				runtime.LockOSThread() // as in leave
			}
		}()
	}
	if err := s.keeper.close(s.device); err != nil {
		return err
	}
	end := func(f driver.Func, h uintptr) {
		if h != 0 {
			err = cmp.Or(err, failed(driver.Call(f, h), f, "the copies on "+s.device.String()))
		}
	}
	ls.mu.Lock()
	spare, closed := ls.spare, ls.list
	ls.spare, ls.list = nil, nil
	ls.mu.Unlock()
	for _, c := range spare {
		end(driver.EventDestroy, c.event)
		end(driver.StreamDestroy, c.stream)
	}
	for _, l := range closed { // whose work runs to its end
		end(driver.StreamDestroy, l.stream)
	}
	return err
}
