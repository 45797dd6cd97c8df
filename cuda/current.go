package cuda

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// CurrentDevice returns the device that is current on the calling OS thread, and
// false if none is. The answer is useful only inside [WithDevice] or
// runtime.LockOSThread.
func CurrentDevice() (Device, bool, error) {
	states, err := start()
	if err != nil {
		return 0, false, err
	}
	current := new(uintptr)
	if rc := driver.Call(driver.CtxGetCurrent, uintptr(unsafe.Pointer(current))); rc != 0 {
		return 0, false, failed(rc, driver.CtxGetCurrent, "")
	}
	for _, s := range states {
		if *current != 0 && s.owns(*current) {
			return s.device, true, nil
		}
	}
	return 0, false, nil
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

// Synchronize waits until all work of the device is done, on every stream. It reports
// errors of kernels that ran before. Inside [Stream.Capture] it is an error. While another
// goroutine captures a stream of the device, it first waits for the end of the capture: the driver
// refuses it before, and the capture would fail.
func (d Device) Synchronize() (err error) {
	s, err := stateOf(d)
	if err != nil {
		return err
	}
	if err := outside("Synchronize of "+d.String(), "wait after the launch of the graph"); err != nil {
		return err
	}
	return s.with(func(g *guard) error {
		return errors.Join(about(s.gate.wait(g), "%s", d), s.lookAll())
	})
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
