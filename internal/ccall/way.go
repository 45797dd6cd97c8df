package ccall

import (
	"sync/atomic"
	"time"
)

// Way is how the calls of one C function cross, once a program has asked for light calls. They
// are ordinary and timed until so many of them as learned says, one after the other, were brief. From then on they are
// light, until lates of these were late: they took long after they had become ordinary ones,
// called Go, or had a system call that was interrupted. Then they are ordinary for good. The zero Way has seen no call yet.
//
// A Way is a number, so that what has one may be copied while nobody calls.
type Way struct {
	// state is the number of brief calls, or ordinary, or light and the number of late calls.
	state uint32
}

const (
	learned  = 32
	ordinary = learned
	light    = 64
	lates    = 20
	// brief is how long a brief call takes that no collector waits for, and how much longer than the signal a late one
	// does, in nanoseconds.
	brief = 5000
)

// Say makes the calls light from the first one, or ordinary for good.
func (w *Way) Say(brief bool) {
	if brief {
		atomic.StoreUint32(&w.state, light)
	} else {
		atomic.StoreUint32(&w.state, ordinary)
	}
}

// Light reports whether the next call is light, if the program has asked.
func (w *Way) Light() bool { return atomic.LoadUint32(&w.state) >= light }

// Cross makes the crossing. A caller that is in a hurry asks Asked and Light itself.
func (w *Way) Cross(h *Head) {
	if !Asked() {
		Call(h)
	} else if !w.Light() {
		w.learn(h)
	} else if how := Light(h); how != Done {
		w.Finish(h, how)
	}
}

// Finish is the rest of a light call.
func (w *Way) Finish(h *Head, how uintptr) {
	if finish(h, how) {
		w.late()
	}
}

// learn makes an ordinary crossing and times it, unless it is known how the next ones cross.
func (w *Way) learn(h *Head) {
	if atomic.LoadUint32(&w.state) == ordinary || !LightCalls() {
		Call(h)
		return
	}
	if h.Fn == Callback() { // which enters Go
		w.Say(false)
		Call(h)
		return
	}
	start := time.Now()
	Call(h)
	switch s := atomic.LoadUint32(&w.state); {
	case s >= learned: // as another goroutine has found meanwhile
	case time.Since(start) > brief:
		atomic.CompareAndSwapUint32(&w.state, s, 0)
	case s == learned-1:
		atomic.CompareAndSwapUint32(&w.state, s, light)
	default:
		atomic.CompareAndSwapUint32(&w.state, s, s+1)
	}
}

// late counts a light call that another would have been better than.
func (w *Way) late() {
	switch s := atomic.LoadUint32(&w.state); {
	case s < light:
	case s == light+lates-1:
		atomic.CompareAndSwapUint32(&w.state, s, ordinary)
	default:
		atomic.CompareAndSwapUint32(&w.state, s, s+1)
	}
}
