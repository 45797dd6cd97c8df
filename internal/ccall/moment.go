package ccall

import "sync/atomic"

// A call lends its arguments to C without a reference. The Go object that is the argument
// has one, and the frame of the call keeps the Go object reachable. So nothing ends the
// native object during the call, except code that gives the reference up in a callback
// that C makes during the call.
//
// That code must leave the reference alone until the call is over. To count the calls that
// use an object would cost each call more than the rest of an argument does. So each
// goroutine knows which callback it is in, and each Go object knows the Moment when it was
// made. A call below a callback began before the callback did, so it cannot use an object
// that was made after that. All other objects may be in use.

// Moment is when a Go object was made: in which callback of which goroutine.
type Moment uint64

// calledBack is set by the first callback.
var calledBack atomic.Bool

// Now returns the Moment of an object that is made now.
func Now() Moment {
	if calledBack.Load() {
		return now()
	}
	return 0
}

// InUse reports whether a call that has not returned may use an object that was made at m,
// because this goroutine is in a callback that began later.
func (m Moment) InUse() bool { return calledBack.Load() && m.inUse() }
