package cuda

import (
	"cmp"
	"runtime"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// copier is a stream for copies, and an event that makes it wait for others. One copy at a
// time uses it.
type copier struct{ stream, event uintptr }

// copiers are those that no copy uses.
type copiers struct {
	mu    sync.Mutex
	spare []copier
}

func (c *copiers) give(one copier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spare = append(c.spare, one)
}

func (c *copiers) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.spare) == 0
}

// close destroys the streams and events. Nobody else uses the device.
func (c *copiers) close(d Device) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.spare {
		for f, h := range map[driver.Func]uintptr{driver.EventDestroy: one.event, driver.StreamDestroy: one.stream} {
			if h != 0 {
				err = cmp.Or(err, failed(driver.Call(f, h), f, "the copies on "+d.String()))
			}
		}
	}
	c.spare = nil
	return err
}

// take returns a copier, which the caller gives back.
func (c *copiers) take(g *guard) (one copier, err error) {
	c.mu.Lock()
	if n := len(c.spare); n > 0 {
		one, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	c.mu.Unlock()
	if one.stream == 0 {
		if err := g.call(driver.StreamCreateWithPriority, g.out(0), driver.StreamNonBlocking, 0); err != nil {
			return one, about(err, "the stream of copies on %s", g.p.device)
		}
		one.stream = g.result(0)
	}
	if one.event == 0 {
		if err := g.call(driver.EventCreate, g.out(0), driver.EventDisableTiming); err != nil {
			c.give(one)
			return one, about(err, "the event of copies on %s", g.p.device)
		}
		one.event = g.result(0)
	}
	return one, nil
}

// behind returns a copier that waits for the work of a stream. The caller gives it back.
func (c *copiers) behind(g *guard, t *gate, h uintptr) (copier, error) {
	one, err := c.take(g)
	if err != nil {
		return one, err
	}
	if err := one.follow(g, t, h); err != nil {
		c.give(one)
		return one, err
	}
	return one, nil
}

// follow lets a copier wait for the work of a stream.
func (c copier) follow(g *guard, t *gate, h uintptr) error {
	if err := t.queue(g, h, driver.EventRecord, c.event, h); err != nil {
		return err
	}
	return g.call(driver.StreamWaitEvent, c.stream, c.event, 0)
}

// copyOn copies between memory of Go and of the device on a stream that is not the default one, and
// waits for the stream.
//
// The driver has staged pageable memory, or is done with it, when the call that queues the
// copy returns, but not pinned memory: host stays alive until the stream is done. It is on
// the heap, because it escapes to abandoned, and so it does not move: its address may be a number
// here, without the allocation of callGo.
func (g *guard) copyOn(on uintptr, f driver.Func, address uintptr, host unsafe.Pointer, bytes int64) (err error) {
	to, from := address, uintptr(host)
	if f == driver.MemcpyDtoHAsync {
		to, from = from, to
	}
	if err := g.call(f, to, from, uintptr(bytes), on); err != nil {
		return err
	}
	if err = g.call(driver.StreamSynchronize, on); err != nil {
		// The device may still copy, for as long as the process lives.
		abandoned.mu.Lock()
		abandoned.memory = append(abandoned.memory, host)
		abandoned.mu.Unlock()
	}
	runtime.KeepAlive(host)
	return err
}

// abandoned is memory of Go that the device may use, nobody knows how long.
var abandoned struct {
	mu     sync.Mutex
	memory []unsafe.Pointer
}
