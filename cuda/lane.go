package cuda

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// lane is what the goroutines that use one stream know of each other. To queue work, also the
// record of an event, blocks while the queue of the stream is full, perhaps until another
// goroutine does something. So whoever queues holds nothing but what concerns that stream.
type lane struct {
	stream uintptr // CUstream
	number uint64  // in the order in which the lanes were made

	// join is held for writing while the stream begins a capture or may join one, and for
	// reading while a call asks whether the stream is captured and queues work or records an
	// event there.
	join sync.RWMutex

	// The next ones are guarded by lanes.mu.
	open   bool // copies wait for the work of the stream
	closed bool // by the program: the CUstream is destroyed when the work is done
	users  int  // goroutines that use the lane, which stays so long
}

// lanes are the streams of a device for which copies wait, those that somebody uses at this
// moment, and what copies need.
type lanes struct {
	mu    sync.Mutex // held for no call of the driver
	list  []*lane    // by number
	free  []*lane    // that are not in the list, to be used again
	made  uint64
	spare []copier // that no copy uses
}

// copier is a stream for copies, and an event that makes it wait for others. One copy at a
// time uses it, so a copy waits for nothing that only another copy waits for. The stream
// waits for the default stream, as all streams do that are not [NonBlocking].
type copier struct{ stream, event uintptr }

// add notes a new stream that the default stream waits for.
func (ls *lanes) add(h uintptr) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.new(h).open = true
}

// new adds a lane. ls.mu is held.
func (ls *lanes) new(h uintptr) *lane {
	var l *lane
	if n := len(ls.free); n > 0 {
		l, ls.free = ls.free[n-1], ls.free[:n-1]
	} else {
		l = new(lane)
	}
	ls.made++
	l.stream, l.number, l.open, l.closed = h, ls.made, false, false
	ls.list = append(ls.list, l)
	return l
}

// find returns the lane of a stream, nil without one. ls.mu is held.
func (ls *lanes) find(h uintptr) *lane {
	for _, l := range ls.list {
		if l.stream == h {
			return l
		}
	}
	return nil
}

// follows reports whether copies wait for the stream.
func (ls *lanes) follows(h uintptr) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.find(h)
	return l != nil && l.open
}

// use returns the lane of a stream of any owner, which the caller drops.
func (ls *lanes) use(h uintptr) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.find(h)
	if l == nil {
		l = ls.new(h)
	}
	l.users++
	return l
}

// drop ends the use of a lane.
func (ls *lanes) drop(l *lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 && !l.open {
		ls.remove(l)
	}
}

// hold is use for a caller that asks whether the stream is captured and then calls the driver: no
// capture begins there until it calls release.
func (ls *lanes) hold(h uintptr) *lane {
	l := ls.use(h)
	l.join.RLock()
	return l
}

func (ls *lanes) release(l *lane) {
	l.join.RUnlock()
	ls.drop(l)
}

// remove takes a lane that nobody uses out of the list. new uses it again, with another number.
// ls.mu is held.
func (ls *lanes) remove(l *lane) {
	i, _ := slices.BinarySearchFunc(ls.list, l.number, byNumber)
	ls.list = slices.Delete(ls.list, i, i+1)
	ls.free = append(ls.free, l)
}

// empty reports whether there is nothing to end.
func (ls *lanes) empty() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.spare) == 0 && len(ls.list) == 0
}

func byNumber(l *lane, n uint64) int { return cmp.Compare(l.number, n) }

// last returns the number of the newest lane.
func (ls *lanes) last() uint64 {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.made
}

// next returns the next lane after a number, up to the last one, for whose stream copies wait:
// nil if there are no more. The caller drops it.
func (ls *lanes) next(number, last uint64) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i, _ := slices.BinarySearchFunc(ls.list, number+1, byNumber)
	for _, l := range ls.list[i:] {
		if l.open && l.number <= last {
			l.users++
			return l
		}
	}
	return nil
}

// close notes that the program closes a stream, and reports whether copies wait for it: then
// sweep ends it.
func (ls *lanes) close(h uintptr) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.find(h)
	if l == nil || !l.open {
		return false
	}
	l.closed = true
	return true
}

// claim returns a lane after a number that is closed and that nobody uses. The caller is its
// only user then; it ends or drops it.
func (ls *lanes) claim(number uint64) *lane {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i, _ := slices.BinarySearchFunc(ls.list, number+1, byNumber)
	for _, l := range ls.list[i:] {
		if l.closed && l.users == 0 {
			l.users++
			return l
		}
	}
	return nil
}

// end forgets a lane that was claimed and reports whether nobody has come to use it meanwhile.
func (ls *lanes) end(l *lane) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users > 0 {
		return false // the next sweep ends it
	}
	ls.remove(l)
	return true
}

// waitFor makes the stream wait for an event, by which it may join a capture: follow and
// usable ask about that. The capture may have begun on another device, that of the event;
// then the driver refuses to wait for the device of the stream too.
func (st *Stream) waitFor(e *Event, event uintptr) (err error) {
	o := &st.s.order
	abroad := e.s != st.s && e.s.order.captures.Load() != 0
	if o.captures.Load() == 0 && !abroad {
		return st.on(driver.StreamWaitEvent, event, 0)
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
	if err := st.s.usable(h); err != nil {
		return err
	}
	legacy, err := st.legacy(&g, h)
	if err != nil {
		return err
	}
	l := o.lanes.use(h)
	defer o.lanes.drop(l)
	if abroad { // as in begin
		o.lock(l)
		defer o.mu.Unlock()
	} else {
		l.join.Lock()
	}
	defer l.join.Unlock()
	before := g.captured(h)
	if err := g.call(driver.StreamWaitEvent, h, event, 0); err != nil {
		return about(err, "the stream of %s", st.s.device)
	}
	o.joins.Lock() // what it has joined does not end for this package meanwhile
	defer o.joins.Unlock()
	if before || !g.captured(h) {
		return nil
	}
	if abroad && !st.s.visit() {
		return nil // no end would take back what follows
	}
	if legacy {
		o.joined++
		o.legacy.Add(1)
	}
	return nil
}

// captured reports whether a stream is captured, as far as the driver tells.
func (g *guard) captured(h uintptr) bool {
	return g.raw(driver.StreamIsCapturing, h, g.out(0)) == 0 && uint32(g.result(0)) != 0
}

// visit notes that a stream of the device has joined a capture of another device. It reports
// whether any capture runs: that one may have ended meanwhile on another goroutine.
func (s *state) visit() bool {
	capturers.mu.Lock()
	defer capturers.mu.Unlock()
	if capturers.n.Load() == 0 {
		return false
	}
	if !slices.Contains(capturers.guests, s) {
		capturers.guests = append(capturers.guests, s)
		s.order.captures.Add(1)
	}
	return true
}

// sweep destroys the streams that the program has closed and whose work is done. The others
// stay, so that copies can wait for their work; it waits for none.
func (g *guard) sweep() (err error) {
	ls := &g.s.order.lanes
	inside := capturing() // where the driver refuses to be asked
	for number := uint64(0); ; {
		l := ls.claim(number)
		if l == nil {
			return err
		}
		number = l.number
		stream, rc := l.stream, int32(ErrNotReady)
		if !inside {
			rc = g.raw(driver.StreamQuery, stream)
		}
		if Code(rc) == ErrNotReady {
			ls.drop(l)
			continue
		}
		if !ls.end(l) {
			continue
		}
		// Where the device is lost, there is no work.
		if failed := failed(rc, driver.StreamQuery, ""); failed != nil && !failed.(*Error).Sticky() {
			err = cmp.Or(err, failed)
		}
		err = cmp.Or(err, g.call(driver.StreamDestroy, stream))
	}
}

// copier returns a stream for one copy, which the caller gives back.
func (g *guard) copier() (c copier, err error) {
	ls := &g.s.order.lanes
	ls.mu.Lock()
	if n := len(ls.spare); n > 0 {
		c, ls.spare = ls.spare[n-1], ls.spare[:n-1]
	}
	ls.mu.Unlock()
	if c.stream == 0 {
		if err := g.call(driver.StreamCreateWithPriority, g.out(0), 0, 0); err != nil {
			return c, about(err, "the stream of copies on %s", g.s.device)
		}
		c.stream = g.result(0)
	}
	if c.event == 0 {
		if err := g.call(driver.EventCreate, g.out(0), disableTiming); err != nil {
			ls.give(c)
			return c, about(err, "the event of copies on %s", g.s.device)
		}
		c.event = g.result(0)
	}
	return c, nil
}

func (ls *lanes) give(c copier) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.spare = append(ls.spare, c)
}

// follow lets a copier wait for the work that the default stream would wait for too, and
// for the environment stream.
func (g *guard) follow(c copier) error {
	ls := &g.s.order.lanes
	if env := g.envStream(); env > streamLegacy {
		l := ls.use(env)
		err := g.after(l, c, true)
		ls.drop(l)
		if err != nil {
			return err
		}
	}
	last := ls.last()
	for number := uint64(0); ; {
		l := ls.next(number, last)
		if l == nil {
			return nil
		}
		number = l.number
		err := g.after(l, c, false)
		ls.drop(l)
		if err != nil {
			return err
		}
	}
}

// after lets a copier wait for the work of a stream. A captured stream is refused or
// passed over, because its work does not run.
func (g *guard) after(l *lane, c copier, refuse bool) error {
	captured, err := g.mark(l, c.event, refuse)
	if err != nil || captured {
		return err
	}
	return g.call(driver.StreamWaitEvent, c.stream, c.event, 0) // for the event as it is now
}

// uncaptured makes a call for a stream that is not captured, and does not become captured before
// the call returns.
func (g *guard) uncaptured(h uintptr, what string, f driver.Func, args ...uintptr) error {
	ls := &g.s.order.lanes
	defer ls.release(ls.hold(h))
	if err := g.idle(h, what); err != nil {
		return err
	}
	return g.call(f, args...)
}

// mark records an event on a stream that is not captured.
func (g *guard) mark(l *lane, event uintptr, refuse bool) (captured bool, err error) {
	l.join.RLock() // it does not become captured meanwhile
	defer l.join.RUnlock()
	if refuse {
		err = g.idle(l.stream, "a copy that waits")
	} else if g.s.order.captures.Load() != 0 {
		err = g.call(driver.StreamIsCapturing, l.stream, g.out(0))
		captured = uint32(g.result(0)) != 0
	}
	if err != nil || captured {
		return captured, err
	}
	return false, g.call(driver.EventRecord, event, l.stream)
}

// copyNow copies between memory of Go and of the device, complete when it returns.
func (g *guard) copyNow(f driver.Func, address uintptr, host unsafe.Pointer, bytes int64) error {
	c, err := g.copier()
	if err != nil {
		return err
	}
	defer g.s.order.lanes.give(c)
	if err := g.follow(c); err != nil {
		return err
	}
	if err := g.copyOn(c.stream, f, address, host, bytes); err != nil {
		return err
	}
	if err := g.sweep(); err != nil { // the copy is done
		g.s.order.late.keep(err)
	}
	return nil
}

// copyOn copies between memory of Go and of the device on a stream, and waits for the stream.
//
// The driver has staged pageable memory, or is done with it, when the call that queues the
// copy returns, but not pinned memory: host stays alive until the stream is done. It is on
// the heap, because it escapes to abandoned, and so it does not move: its address may be a number
// here, without the allocation of callGo.
func (g *guard) copyOn(on uintptr, f driver.Func, address uintptr, host unsafe.Pointer, bytes int64) (err error) {
	if f == driver.MemcpyHtoDAsync {
		err = g.call(f, address, uintptr(host), uintptr(bytes), on)
	} else {
		err = g.call(f, uintptr(host), address, uintptr(bytes), on)
	}
	if err != nil {
		return err
	}
	if err = g.call(driver.StreamSynchronize, on); err != nil {
		// The device may still copy, for as long as the process lives.
		abandoned.mu.Lock()
		abandoned.memory = append(abandoned.memory, host)
		abandoned.mu.Unlock()
	}
	runtime.KeepAlive(host)
	return err
}

// abandoned is memory of Go that the device may use, nobody knows how long.
var abandoned struct {
	mu     sync.Mutex
	memory []unsafe.Pointer
}
