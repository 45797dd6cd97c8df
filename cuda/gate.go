package cuda

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// A gate makes the calls for one device fit together. The driver refuses two kinds of calls while a
// stream of the device is captured, and each attempt ruins the capture: a wait for the whole device,
// always, and a use of the default stream, if the captured stream is [Blocking]. So these calls go
// through two operations:
//
//   - wait waits for the device. It first waits until no stream of the device is captured. A
//     capture begins only when no call waits for the device.
//   - pass lets a call queue work on a stream. For the default stream it refuses the call while a
//     blocking stream is captured, and the capture of a blocking stream begins only when no such call
//     runs: the call holds queues for reading, and the beginning capture takes it for writing.
//
// The call that follows a wait, such as cuMemFree, may run beside a capture.
//
// # Locks
//
// This package holds a lock over calls of the driver in these places only. Each row includes the
// calls that make the context current.
//
//	loadedImage.mu   an image is loaded on a device, or a kernel is looked up in it
//	Kernel.mu        cuFuncSetAttribute for dynamic shared memory, of one kernel
//	Graph.calls      cuGraphLaunch or cuGraphExecDestroy, of one graph
//	state.mu         the primary context begins or ends, with what this package keeps in it
//	keeper.mu        events of Keep are made, queried or destroyed
//	copiers.mu       the streams of copies are destroyed, as the context ends
//	OnceValues       the driver is loaded, or the limits of a device are read
//	queues, reading  one call on the default stream, or a launch without a stream
//
// A goroutine that holds one of them may take another one only further down in this table, and
// nothing while it holds queues. All other locks are held for a few lines of Go.
//
// None of these calls waits for another goroutine. A call that loads code, queues work or ends the
// context may wait for the device, until work has run or there is room in a queue. The device does
// not need the program for that. (A function of [Stream.Call] that waits for a goroutine that uses
// the device would break this rule, and its doc forbids that.)
//
// No lock is held over a call whose purpose is to wait for a stream, an event or the device, while a
// goroutine waits for the end of a capture, or while a function of the program runs.
//
// # CopyOut
//
// While CopyOut waits for the device, it holds no lock. It makes these calls, on the default stream
// (0), the environment stream (e) if there is one, and a stream (s) and an event that no other copy uses:
//
//	cuEventRecord on 0, under queues for reading; cuStreamWaitEvent on s
//	cuEventRecord on e, without a lock;           cuStreamWaitEvent on s
//	cuMemcpyDtoHAsync and cuStreamSynchronize on s, without a lock: here it waits
//
// So no goroutine waits for CopyOut meanwhile, and CopyOut waits for the device alone, which does not
// need the program, as said above. Before that, CopyOut may wait for state.mu while a context begins
// or ends, and for queues while a capture of a blocking stream begins. That waits only for calls that
// hold queues for reading, which end as said above.
//
// CopyIn and Synchronize of the default stream do the same.
type gate struct {
	device Device

	mu       sync.Mutex // guards the two numbers
	changed  sync.Cond  // one of them became 0
	waits    int        // calls that wait for the device
	captures atomic.Int32

	queues   sync.RWMutex // held for writing while blocking grows
	blocking atomic.Int32 // captures of blocking streams
}

// wait waits for all work of the device. The caller holds no lock.
func (t *gate) wait(g *guard) error {
	t.mu.Lock()
	for t.captures.Load() > 0 {
		t.changed.Wait()
	}
	t.waits++
	t.mu.Unlock()
	err := g.call(driver.CtxSynchronize)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits--; t.waits == 0 {
		t.changed.Broadcast()
	}
	return err
}

// whenDone waits for the device and then calls f. If the wait fails, it calls f only if the device
// is lost, because no work runs then.
func (t *gate) whenDone(g *guard, f func() error) (called bool, err error) {
	lost := t.wait(g)
	if !idle(lost) {
		return false, lost
	}
	if err := f(); lost == nil {
		return true, err
	}
	return true, lost
}

// pass lets a call queue work on a CUstream, until the caller calls done. It refuses the default
// stream while a blocking stream is captured.
func (t *gate) pass(h uintptr) error {
	if h > driver.StreamLegacy {
		return nil
	}
	t.queues.RLock()
	if t.blocking.Load() == 0 {
		return nil
	}
	t.queues.RUnlock()
	return valueError("the default stream of %s cannot be used while a stream that it waits for is captured: capture a stream that was not made with Blocking, or use another stream here (CopyInAt and CopyOutAt take one)", t.device)
}

// done ends what pass began.
func (t *gate) done(h uintptr) {
	if h <= driver.StreamLegacy {
		t.queues.RUnlock()
	}
}

// queue calls a function that queues work on a CUstream, which is among args.
func (t *gate) queue(g *guard, h uintptr, f driver.Func, args ...uintptr) error {
	if err := t.pass(h); err != nil {
		return err
	}
	defer t.done(h)
	return g.call(f, args...)
}

// uncaptured is queue for a stream that must not be captured.
func (t *gate) uncaptured(g *guard, h uintptr, what string, f driver.Func, args ...uintptr) error {
	if err := t.idle(g, h, what); err != nil {
		return err
	}
	return t.queue(g, h, f, args...)
}

// idle refuses a call for a stream that is captured.
func (t *gate) idle(g *guard, h uintptr, call string) error {
	captured, err := t.captured(g, h)
	if captured {
		return valueError("%s for a stream of %s that is captured: its work is recorded and does not run: call it after the launch of the graph", call, t.device)
	}
	return err
}

// captured asks whether a stream is captured.
func (t *gate) captured(g *guard, h uintptr) (bool, error) {
	if err := t.queue(g, h, driver.StreamIsCapturing, h, g.out(0)); err != nil {
		return false, about(err, "the stream of %s", t.device)
	}
	return uint32(g.result(0)) != 0, nil
}

// begin begins the capture of a stream on the calling thread, which is pinned. blocks says whether
// the default stream waits for the stream. The caller calls the func that begin returns after the
// end of the capture.
func (t *gate) begin(g *guard, h uintptr, blocks bool) (end func(), err error) {
	thread := capi.ThreadID()
	t.mu.Lock()
	for t.captures.Add(1); t.waits > 0; {
		t.changed.Wait()
	}
	t.mu.Unlock()
	if blocks {
		t.queues.Lock()
		t.blocking.Add(1)
		t.queues.Unlock()
	}
	capturers.add(thread)
	end = func() {
		capturers.remove(thread)
		if blocks {
			t.blocking.Add(-1)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.captures.Add(-1) == 0 {
			t.changed.Broadcast()
		}
	}
	if err := g.call(driver.StreamBeginCapture, h, driver.CaptureThreadLocal); err != nil {
		end()
		return nil, about(err, "the stream of %s", t.device)
	}
	return end, nil
}

// threadSet is a set of OS threads. A goroutine whose thread is in the set is locked to it,
// so the thread stands for the goroutine.
type threadSet struct {
	n  atomic.Int32
	mu sync.Mutex
	of map[int]int // how many times
}

var (
	capturers threadSet // inside Capture
	fixed     threadSet // inside WithDevice
)

func (c *threadSet) add(thread int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[int]int{}
	}
	c.of[thread]++
	c.n.Add(1)
}

func (c *threadSet) remove(thread int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[thread]--; c.of[thread] == 0 {
		delete(c.of, thread)
	}
	c.n.Add(-1)
}

// here reports whether the set has the calling thread. It costs one load while it is empty.
func (c *threadSet) here() bool {
	if c.n.Load() == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := capi.ThreadID() // 0 where the system cannot tell: then the driver refuses
	return id != 0 && c.of[id] != 0
}

// outside refuses a call inside Capture before the driver sees it.
func outside(call, remedy string) error {
	return inCapture(call, "it would not be part of the graph", remedy)
}

// ordered is outside for memory in the order of a stream, which could be a part of the graph.
func ordered(call, remedy string) error {
	return inCapture(call, "this package keeps memory out of graphs", remedy)
}

func inCapture(call, why, remedy string) error {
	if !capturers.here() {
		return nil
	}
	return valueError("%s inside Capture: %s: %s", call, why, remedy)
}

// relax lets the calling thread load code inside Capture: that is not part of a graph, and
// a program need not know when a kernel is used for the first time. The caller calls
// the func that it returns on the same thread.
func (g *guard) relax() (back func(), err error) {
	if !capturers.here() {
		return func() {}, nil
	}
	mode := new(int32)
	*mode = driver.CaptureRelaxed
	exchange := func() error { return g.callGo(driver.ThreadExchangeStreamCaptureMode, uintptr(unsafe.Pointer(mode))) }
	if err := exchange(); err != nil {
		return nil, err
	}
	return func() { _ = exchange() }, nil
}
