package calls

import (
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// way is how the calls of a function cross. It is ordinary for good, unless light calls were on
// when the function was found. Then its calls are ordinary and timed until learning of them, one
// after the other, were brief; from then on they are light, until lates of these were late: they
// took long after they had become ordinary ones, or called Go.
type way struct{ state atomic.Uint32 }

const (
	ordinary = 0
	learning = 32 // down to 1
	light    = 64
	lates    = 20
	// brief is for calls that no collector waits for.
	brief = 5 * time.Microsecond
)

// begin is the first state.
func (w *way) begin() {
	if ccall.LightCalls() {
		w.state.Store(learning)
	}
}

// cross makes the crossing.
func (c *Call) cross() {
	if f := c.fn; f == nil || f.way.state.Load() == ordinary {
		ccall.Call(&c.head)
	} else if f.way.state.Load() < light {
		f.way.learn(&c.head)
	} else if how := ccall.Light(&c.head); how != ccall.Done {
		f.way.finish(&c.head, how)
	}
}

// finish is the rest of a light call.
func (w *way) finish(h *ccall.Head, how uintptr) {
	if ccall.Finish(h, how) {
		w.late()
	}
}

// learn makes an ordinary crossing and times it.
func (w *way) learn(h *ccall.Head) {
	start := time.Now()
	ccall.Call(h)
	switch s := w.state.Load(); {
	case s == ordinary || s >= light: // as another goroutine has found meanwhile
	case time.Since(start) > brief:
		w.state.CompareAndSwap(s, learning)
	case s == 1:
		w.state.CompareAndSwap(s, light)
	default:
		w.state.CompareAndSwap(s, s-1)
	}
}

// late counts a light call that another would have been better than.
func (w *way) late() {
	s := w.state.Load()
	switch {
	case s < light:
	case s == light+lates-1:
		w.state.CompareAndSwap(s, ordinary)
	default:
		w.state.CompareAndSwap(s, s+1)
	}
}
