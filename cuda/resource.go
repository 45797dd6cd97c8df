package cuda

import (
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// resource is a thing of the driver that is closed once.
type resource struct {
	s      *state
	what   string
	handle atomic.Uintptr
	kind   kind
	close  driver.Func
}

func (r *resource) open(s *state, what string, handle uintptr, k kind, end driver.Func) {
	r.s, r.what, r.kind, r.close = s, what, k, end
	r.handle.Store(handle)
	s.live[k].Add(1)
}

// get returns the handle, or the error of using it after Close.
func (r *resource) get(t *thing) (h uintptr, err error) {
	if h = r.handle.Load(); h == 0 {
		err = r.ended(t)
	}
	return h, err
}

func (r *resource) ended(t *thing) error {
	if r.s == nil {
		return t.zero()
	}
	return valueError("the %s is closed: it must not be used any more", r.what)
}

// shut calls the destroying function once; whatever that returns, there is
// nothing left to close. Where the device cannot be made current, the resource
// stays open.
func (r *resource) shut() (err error) {
	if r.handle.Load() == 0 {
		return nil
	}
	return r.s.with(func(g *guard) error {
		h := r.handle.Swap(0)
		if h == 0 {
			return nil
		}
		r.s.live[r.kind].Add(-1)
		return about(g.call(r.close, h), "the %s", r.what)
	})
}
