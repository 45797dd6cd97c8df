//go:build !((linux || darwin) && (amd64 || arm64)) || tvmffi_portable

package ccall

import (
	"sync"
	"sync/atomic"
)

// Goroutines cannot be distinguished here. So a Moment is the number of callbacks that had
// begun, on all goroutines. A callback of another goroutine makes an object older than it is
// for this one, which only delays the end of the object.
var callbacks struct {
	mu      sync.Mutex
	running int
	// begun is the number of callbacks that have begun. newest is at least the number of
	// each one that runs, and 0 if none does.
	begun, newest atomic.Uint64
}

// Enter says that the callback begins on this goroutine.
func (f *CallbackFrame) Enter() {
	c := &callbacks
	c.mu.Lock()
	defer c.mu.Unlock()
	calledBack.Store(true)
	f.outer = c.newest.Load()
	number := c.begun.Add(1)
	f.seat = uintptr(number)
	c.newest.Store(number)
	c.running++
}

// Outermost reports false: the callbacks below this one are not known.
func (f *CallbackFrame) Outermost() bool { return false }

// Leave says that the callback is over.
func (f *CallbackFrame) Leave() {
	c := &callbacks
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	switch {
	case c.running == 0:
		c.newest.Store(0)
	case c.newest.Load() == uint64(f.seat):
		c.newest.Store(f.outer)
	}
}

func now() Moment { return Moment(callbacks.begun.Load()) }

func (m Moment) inUse() bool { return uint64(m) < callbacks.newest.Load() }
