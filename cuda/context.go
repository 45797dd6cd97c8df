package cuda

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
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

// with runs an operation on the device: f, between enter and leave. It must not keep g. Copies and fills call
// enter and leave themselves, because a func as an argument costs them 25 instructions.
func (p *primary) with(f func(g *guard) error) (err error) {
	g, err := p.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	return f(g)
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
