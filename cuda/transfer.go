package cuda

import (
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// CopyRange copies bytes of src from an offset on to an offset of dst, in the order of a
// stream of the device of dst, without waiting. It is [Copy] of parts; all numbers are
// bytes. The two ranges must not overlap, because the driver copies in no certain order.
func CopyRange(dst *Memory, to int64, src *Memory, from, bytes int64, stream *Stream) error {
	d, err := dst.Part(to, bytes)
	if err != nil {
		return in("the destination", err)
	}
	s, err := src.Part(from, bytes)
	if err != nil {
		return in("the source", err)
	}
	return Copy(d, s, stream)
}

// CopyInAt copies a slice to an offset of device memory, in bytes, in the order of a
// stream of that device, and waits until that stream has done it. The slice is memory of
// Go, which may be freed or used for another thing after the call, so the call
// must not return while the driver may still read it; for that reason it waits for
// all work of the stream before the copy too. [Staging] and [CopyInAsync] do not wait. A
// stream that is captured is refused: a graph would read the slice at each launch.
func CopyInAt[T Scalar](dst *Memory, offset int64, src []T, stream *Stream) error {
	p, bytes := bytesOf(src)
	return copySlice(driver.MemcpyHtoDAsync, dst, offset, p, bytes, stream)
}

// CopyOutAt fills a slice from an offset of device memory, in bytes, in the order of a
// stream of that device, and waits until that stream has done it. It follows the rule of
// [CopyInAt]; [CopyOutAsync] does not wait.
func CopyOutAt[T Scalar](dst []T, src *Memory, offset int64, stream *Stream) error {
	p, bytes := bytesOf(dst)
	return copySlice(driver.MemcpyDtoHAsync, src, offset, p, bytes, stream)
}

// copySlice copies between a slice and device memory on a stream and waits. Unsafe memory:
// host points to the elements of a slice that the caller owns; copyOn keeps them.
func copySlice(f driver.Func, m *Memory, offset int64, host unsafe.Pointer, bytes int64, stream *Stream) (err error) {
	address, err := m.part(offset, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if err := outside("CopyInAt or CopyOutAt", "copy before it, or by CopyInAsync and CopyOutAsync on the stream"); err != nil {
		return err
	}
	g, err := m.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	h, err := g.stream(stream)
	if err != nil {
		return err
	}
	if err := g.idle(h, "a copy of a slice"); err != nil {
		return err
	}
	err = g.copyOn(h, f, address, host, bytes)
	runtime.KeepAlive(m)
	if err != nil {
		return about(err, "%d bytes on %s", bytes, m.s.device)
	}
	return nil
}

// stages is the number of parts of a Staging: one is filled while others are copied.
const stages = 4

// Staging is pinned memory of the host through which slices of Go go to a device. A copy waits
// only if the memory is in use. Its copies may come from any goroutine and run on any stream of
// the device.
//
// It has four parts. Copies on one stream use three of them at most, so that a slow stream does
// not block copies on another one. Two slow streams can use all four.
type Staging struct {
	host *Host[byte]

	mu     sync.Mutex // held for no call of the driver that waits
	parts  [stages]stage
	turn   uint64
	next   int       // where the search for a part begins
	users  int       // copies that run
	gone   sync.Cond // a user, or a Close
	closed bool
	ending bool // a Close runs
}

// stage is a part of a Staging. Who has taken it owns it until it is given back.
type stage struct {
	memory *Host[byte]
	copied *Event // after the last copy
	stream uintptr
	taken  bool
	copies bool   // the last copy was not seen to be done
	turn   uint64 // when that was queued
}

// NewStaging allocates pinned memory of a number of bytes for copies to the device. A copy waits
// when its stream uses three of the four parts, or when all are in use: take at least twice the
// size of the slices that are in flight. The caller closes it.
func (d Device) NewStaging(bytes int64) (_ *Staging, err error) {
	part := bytes / stages &^ 63
	if part <= 0 {
		return nil, valueError("staging memory of %d bytes: the least is %d", bytes, stages*64)
	}
	x := &Staging{}
	x.gone.L = &x.mu
	defer func() {
		if err != nil {
			x.Close()
		}
	}()
	if x.host, err = AllocHost[byte](d, int(part*stages)); err != nil {
		return nil, err
	}
	for i := range x.parts {
		if x.parts[i].memory, err = x.host.Part(i*int(part), int(part)); err != nil {
			return nil, err
		}
		if x.parts[i].copied, err = d.NewEvent(BlockingSync()); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// CopyInVia copies a slice to an offset of device memory, in bytes, in the order of a stream of
// that device. When it returns the slice is copied to the staging memory and may change; the
// device has it when the stream has come that far. A stream that is captured is refused: the
// graph would copy what the staging memory holds at its launch. Where an error comes after some
// of the parts, those are copied.
func CopyInVia[T Scalar](via *Staging, dst *Memory, offset int64, src []T, stream *Stream) error {
	p, bytes := bytesOf(src)
	to, err := dst.part(offset, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	switch {
	case via == nil:
		return aStaging.none()
	case via.host == nil:
		return aStaging.zero()
	}
	if err := outside("CopyInVia", "copy before it, or by CopyInAsync on the stream"); err != nil {
		return err
	}
	// The bytes of the slice are read during this call only.
	return via.copy(dst, to, unsafe.Slice((*byte)(p), bytes), stream)
}

// copy copies to an address in memory.
func (x *Staging) copy(dst *Memory, to uintptr, src []byte, stream *Stream) (err error) {
	g, err := dst.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	h, err := g.stream(stream)
	if err != nil {
		return err
	}
	if err := x.begin(dst.s); err != nil {
		return err
	}
	defer x.end()
	l := dst.s.order.lanes.use(h)
	defer dst.s.order.lanes.drop(l)
	for len(src) > 0 {
		p, err := x.take(&g, h)
		if err != nil {
			return err
		}
		n := copy(p.memory.Slice(), src)
		if err := x.queue(&g, p, to, n, l); err != nil {
			return err
		}
		to, src = to+uintptr(n), src[n:]
	}
	runtime.KeepAlive(dst)
	return nil
}

// begin lets a copy use the memory until end.
func (x *Staging) begin(s *state) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return valueError("the staging memory was freed: it must not be used any more")
	}
	if s != x.host.s {
		return valueError("the staging memory is of %s, the memory on %s: make one for that device", x.host.s.device, s.device)
	}
	x.users++
	return nil
}

func (x *Staging) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.users--
	x.gone.Broadcast()
}

// queue copies n bytes of a part that was taken, and gives the part back.
func (x *Staging) queue(g *guard, p *stage, to uintptr, n int, l *lane) error {
	copies, lost, err := p.send(g, to, n, l)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turn++
	p.taken, p.copies, p.turn = lost, copies, x.turn
	if lost {
		x.closed = true // before the parts run out; Close waits for the device
	}
	return err
}

// send queues the copy of n bytes and the record of its event on a stream that is not captured, and
// that does not become captured before it returns. It reports whether the copy is under way, with
// its event or without: then the part is lost, because nothing says when it is free.
func (p *stage) send(g *guard, to uintptr, n int, l *lane) (copies, lost bool, err error) {
	l.join.RLock()
	defer l.join.RUnlock()
	if err := g.idle(l.stream, "a copy of a slice"); err != nil {
		return false, false, err
	}
	if err := g.call(driver.MemcpyHtoDAsync, to, p.memory.address, uintptr(n), l.stream); err != nil {
		return false, false, about(err, "%d bytes on %s", n, g.s.device)
	}
	if err := g.call(driver.EventRecord, p.copied.handle.Load(), l.stream); err != nil {
		// In place of the event.
		waited := failed(g.raw(driver.StreamSynchronize, l.stream), driver.StreamSynchronize, "")
		return false, !idle(waited), about(err, "the %s", p.copied.what)
	}
	return true, false, nil
}

// take takes a part for a copy on a stream. It waits for no copy on another stream while it
// can have a part after one on its own.
func (x *Staging) take(g *guard, h uintptr) (*stage, error) {
	for pause := 20 * time.Microsecond; ; {
		p, err := x.look(g, h)
		switch {
		case err != nil || p != nil && !p.copies:
			return p, err
		case p != nil:
			if err := g.call(driver.EventSynchronize, p.copied.handle.Load()); err != nil {
				x.mu.Lock()
				p.taken = false
				x.mu.Unlock()
				return nil, about(err, "the %s", p.copied.what)
			}
			return p, nil
		default:
			// All parts are those of other streams: nobody knows which one is done first, and
			// the driver waits for one event only.
			time.Sleep(pause)
			pause = min(2*pause, time.Millisecond)
		}
	}
}

// look takes a part that is free, or where the stream has its share the one that was copied first
// on the stream: whoever has taken it waits for that copy, and no other stream gets the part
// meanwhile.
func (x *Staging) look(g *guard, h uintptr) (p *stage, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	own := 0
	for i := range x.parts {
		q := &x.parts[i]
		if q.stream != h || !q.taken && !q.copies {
			continue
		}
		own++
		if !q.taken && (p == nil || q.turn < p.turn) {
			p = q
		}
	}
	if own < stages-1 {
		if p, err = x.free(g, false); p == nil && err == nil {
			p, err = x.free(g, true)
		}
	}
	if p != nil {
		p.stream, p.taken = h, true
	}
	return p, err
}

// free finds a part that is free, and if ask is set asks whether copies are done. x.mu is held.
func (x *Staging) free(g *guard, ask bool) (*stage, error) {
	for range x.parts {
		p := &x.parts[x.next]
		x.next = (x.next + 1) % stages
		if ask && !p.taken && p.copies {
			rc := g.raw(driver.EventQuery, p.copied.handle.Load())
			if rc != 0 && Code(rc) != ErrNotReady {
				return nil, about(failed(rc, driver.EventQuery, ""), "the %s", p.copied.what)
			}
			p.copies = rc != 0
		}
		if !p.taken && !p.copies {
			return p, nil
		}
	}
	return nil, nil
}

// Close waits for the copies and frees the memory. A second call does nothing. Inside
// [Stream.Capture] it is an error.
func (x *Staging) Close() error {
	if x == nil || x.host == nil {
		return nil
	}
	if err := outside("Close of staging memory", "close it after that"); err != nil && !x.host.gone() {
		return err
	}
	x.mu.Lock()
	for x.closed = true; x.ending; {
		x.gone.Wait()
	}
	x.ending = true
	x.mu.Unlock()
	err := x.close()
	x.mu.Lock()
	x.ending = false
	x.gone.Broadcast()
	x.mu.Unlock()
	return err
}

func (x *Staging) close() error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	x.mu.Lock()
	for x.users > 0 { // no more come
		x.gone.Wait()
	}
	x.mu.Unlock()
	for i := range x.parts {
		e := x.parts[i].copied
		if e == nil || e.handle.Load() == 0 {
			continue
		}
		keep(e.Synchronize())
		keep(e.Close())
	}
	keep(x.host.Free())
	return first
}

// in puts what an error of arguments is about before it.
func in(what string, err error) error {
	if e, ok := err.(*tvmffi.Error); ok {
		return tvmffi.NewError(e.Kind, what+": "+e.Message)
	}
	return err
}
