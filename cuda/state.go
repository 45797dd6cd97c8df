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

// lookAll is look for all streams, after the program has waited for one of them.
func (s *state) lookAll() (err error) {
	streams := s.keeper.streams()
	if len(streams) == 0 {
		return nil
	}
	g, err := s.enter()
	if err != nil {
		return nil // the next call sees the error too
	}
	defer g.leave(&err)
	for _, h := range streams {
		s.keeper.look(g, h)
	}
	return nil
}

// hidden ends what this package keeps on the device for itself, before the context is
// given back. Nobody else uses the device, and state.mu is held.
func (s *state) hidden(context uintptr) (err error) {
	if s.copiers.empty() && s.keeper.empty() {
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
	return s.copiers.close(s.device)
}

// launch is within for a call that queues work on the CUstream h, or with env on the environment
// stream. It is small so that the compiler puts it in line.
func (s *state) launch(w *ccall.Within, f driver.Func, h uintptr, env bool) (err, left error) {
	if h > driver.StreamLegacy {
		return s.within(w, f)
	}
	return s.launchDefault(w, f, h, env)
}

// launchDefault is launch for what may be the default stream. The environment stream is looked up
// before the call only if a blocking stream is captured.
func (s *state) launchDefault(w *ccall.Within, f driver.Func, h uintptr, env bool) (err, left error) {
	refused := s.gate.pass(h)
	if refused == nil {
		err, left = s.within(w, f)
		s.gate.done(h) // not deferred, which costs time: within does not panic
		return err, left
	}
	if !env {
		return refused, nil
	}
	var of uintptr // the thread
	if err := s.with(func(g *guard) error { of = g.envStream(); return nil }); err != nil {
		return err, nil
	}
	if of <= driver.StreamLegacy {
		return refused, nil
	}
	return s.within(w, f)
}
