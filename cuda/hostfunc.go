package cuda

import (
	"sync"
	"sync/atomic"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// HostCall is a function of Go that was queued on a stream.
type HostCall struct {
	f    func() error
	done chan struct{}
	err  error
}

// Done returns a channel that is closed when the function has returned. It stays
// open forever if an error of the device comes first, because the driver then does
// not call the function: Synchronize of the stream returns that error.
func (c *HostCall) Done() <-chan struct{} { return c.done }

// Err returns the error of the function, or its panic as a *tvmffi.Error of kind
// RuntimeError, whose Backtrace has the stack. A panic with a *tvmffi.Error is that error. Err
// returns nil until the function has returned.
func (c *HostCall) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// run calls the function. A panic must not unwind into the driver.
func (c *HostCall) run() {
	defer func() {
		if p := recover(); p != nil {
			c.err = failure.Recovered(p, "a function that a stream called")
		}
		close(c.done)
	}()
	c.err = c.f()
}

// The functions that streams will call, by a number that the driver carries: it
// must not hold pointers of Go.
var (
	hostCalls    sync.Map // uintptr to *HostCall
	hostCallLast atomic.Uintptr
)

// hostCallback is the CUhostFn of all calls. It is made once, because it is never
// freed.
var hostCallback = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(id uintptr) uintptr {
		if c, ok := hostCalls.LoadAndDelete(id); ok {
			c.(*HostCall).run()
		}
		return 0
	})
})

// Call queues a function of Go on the stream: it runs when the work before it is
// done, and the work after it waits until it has returned. It runs on a thread of
// the driver. There it must not call CUDA (nor this package, nor a library that calls
// CUDA), must not end its goroutine, and must not wait for work of the driver, or for a
// goroutine that waits for such work or queues some: the queue of a stream may be full. It can
// send a message instead. [HostCall.Err] returns its error or its panic. On a stream that
// is captured, Call is an error.
func (st *Stream) Call(f func() error) (call *HostCall, err error) {
	if f == nil {
		return nil, valueError("the function for the stream is nil: pass one")
	}
	if st == nil {
		return nil, aStream.none()
	}
	h, err := st.get()
	if err != nil {
		return nil, err
	}
	err = st.s.with(func(g *guard) error {
		id := hostCallLast.Add(1)
		c := &HostCall{f: f, done: make(chan struct{})}
		hostCalls.Store(id, c)
		// A graph would call the function once for each launch, for as long as it lives.
		if err := st.s.gate.uncaptured(g, h, "Call", driver.LaunchHostFunc, h, hostCallback(), id); err != nil {
			hostCalls.Delete(id)
			return about(err, "a function on the stream of %s", st.s.device)
		}
		call = c
		return nil
	})
	return call, err
}
