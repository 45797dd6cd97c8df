package cuda

import (
	"reflect"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// AllocOf allocates device memory and copies a slice into it. The memory holds the slice
// when AllocOf returns, for work on every stream.
func AllocOf[T Scalar](d Device, src []T) (*Memory, error) {
	_, bytes := bytesOf(src)
	m, err := d.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	if err := CopyIn(m, src); err != nil {
		if _, refused := err.(*tvmffi.Error); refused { // because of a capture, for whose end Free would wait
			m.unused()
		} else {
			m.Free()
		}
		return nil, err
	}
	return m, nil
}

// CopyIn copies a slice to the start of device memory. When it returns the memory holds the
// slice, for work on every stream, and the slice may be changed.
//
// The copy has the order of cuMemcpyHtoD: it comes after all work queued before on the default
// stream of CUDA, on all streams that the default stream waits for, which are those of [Blocking]
// and those that other libraries make by cudaStreamCreate, and inside [WithStream] on that stream.
// Work on any other stream that uses the memory must be done before: synchronise that stream.
// cuMemcpyHtoD may return before the device has the data; CopyIn returns after that. Inside
// [Stream.Capture], and while another goroutine captures a blocking stream, it is an error.
func CopyIn[T Scalar](dst *Memory, src []T) error {
	p, bytes := bytesOf(src)
	return copyHost(driver.MemcpyHtoDAsync, dst, p, bytes)
}

// CopyOut fills a slice from the start of device memory. The slice is complete when it
// returns. It is ordered like [CopyIn]: a stream of NewStream must be synchronised before its
// results are read, unless it is [Blocking]. In a slice of bools each byte of the device but 0 becomes true.
func CopyOut[T Scalar](dst []T, src *Memory) error {
	p, bytes := bytesOf(dst)
	err := copyHost(driver.MemcpyDtoHAsync, src, p, bytes)
	onlyBools(dst)
	return err
}

// onlyBools makes true of each byte but 0 in a slice of bools, for which Go has the bytes 0 and 1 alone.
func onlyBools[T Scalar](s []T) {
	if reflect.TypeFor[T]().Kind() != reflect.Bool {
		return
	}
	p, bytes := bytesOf(s)
	for i, x := range unsafe.Slice((*byte)(p), bytes) {
		if x > 1 {
			*(*byte)(unsafe.Add(p, i)) = 1
		}
	}
}

// used returns the address of memory that a copy of the driver reads, or writes.
func (m *Memory) used(f driver.Func) (uintptr, error) {
	if f == driver.MemcpyHtoDAsync {
		return m.writes()
	}
	return m.at(nil)
}

func copyHost(f driver.Func, m *Memory, host unsafe.Pointer, bytes int64) (err error) {
	address, err := m.used(f)
	if err != nil {
		return err
	}
	if bytes > m.size {
		return valueError("the slice has %d bytes, the memory on %s has %d: copy a part of the slice", bytes, m.s.device, m.size)
	}
	if bytes == 0 {
		return nil
	}
	if err := outside("CopyIn or CopyOut", "copy before it, or by CopyInAsync and CopyOutAsync on the stream"); err != nil {
		return err
	}
	g, err := m.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	err = m.s.copyNow(g, f, address, host, bytes)
	runtime.KeepAlive(m)
	if err != nil {
		return about(err, "%d bytes on %s", bytes, m.s.device)
	}
	return nil
}

// copyNow copies between memory of Go and of the device, complete when it returns. It comes after
// the work of the default stream, which waits for all streams that are [Blocking], also of other
// libraries, and of the environment stream. The copy itself is on a stream of this package, so a
// capture does not meet it, and the only lock is held while an event is recorded.
func (s *state) copyNow(g *guard, f driver.Func, address uintptr, host unsafe.Pointer, bytes int64) error {
	env := g.envStream()
	if env > driver.StreamLegacy {
		if err := s.gate.idle(g, env, "a copy that waits"); err != nil {
			return err
		}
	}
	c, err := s.copiers.behind(g, &s.gate, 0)
	if err != nil {
		return err
	}
	defer s.copiers.give(c)
	if env > driver.StreamLegacy {
		if err := c.follow(g, &s.gate, env); err != nil {
			return err
		}
	}
	return g.copyOn(c.stream, f, address, host, bytes)
}

// apart refuses a copy of bytes onto each other, which the driver does in no certain order.
func apart(to, from uintptr, bytes int64) error {
	if n := uintptr(bytes); to < from+n && from < to+n {
		return valueError("the source and the destination of %d bytes overlap: copy through other memory", bytes)
	}
	return nil
}

// Copy copies all of src to the start of dst, in the order of a stream, without waiting. The two
// may be on different devices, and the stream is of one of them; nil is the environment stream of
// the device of dst. The driver goes through the host where the devices cannot reach each other.
// Work on the other device must be waited for, by [Stream.Wait] or otherwise. Both must
// live until the copy is done: see [Stream.Keep]. Free waits for the device of the memory alone,
// which may not be that of the stream. They must not overlap.
func Copy(dst, src *Memory, stream *Stream) (err error) {
	to, err := dst.writes()
	if err != nil {
		return err
	}
	from, err := src.at(nil)
	if err != nil {
		return err
	}
	if src.size > dst.size {
		return valueError("the source has %d bytes, the destination has %d: copy a part of the source by CopyRange", src.size, dst.size)
	}
	if src.size == 0 {
		return nil
	}
	if err := apart(to, from, src.size); err != nil {
		return err
	}
	if dst.s == src.s {
		err := dst.s.queue(driver.MemcpyDtoDAsync, stream, to, from, uintptr(src.size))
		runtime.KeepAlive(dst)
		runtime.KeepAlive(src)
		if err != nil {
			return about(err, "%d bytes on %s", src.size, dst.s.device)
		}
		return nil
	}
	on, other := dst.s, src.s
	if stream != nil && stream.s == src.s {
		on, other = src.s, dst.s
	}
	if _, err := other.acquire(); err != nil {
		return err
	}
	defer other.users.Add(-1)
	return on.onStream(stream, func(g *guard, h uintptr) error {
		err := on.gate.queue(g, h, driver.MemcpyPeerAsync, to, dst.s.current(), from, src.s.current(), uintptr(src.size), h)
		runtime.KeepAlive(dst)
		runtime.KeepAlive(src)
		return about(err, "%d bytes from %s to %s", src.size, src.s.device, dst.s.device)
	})
}

// Fill sets all elements of the memory to a value, in the order of a stream,
// without waiting. The size of T divides the size of the memory, which must live until the
// work is done: see [Stream.Keep]. Values of 8 bytes whose halves differ are two fills, one
// after the other.
func Fill[T Fillable](dst *Memory, value T, stream *Stream) error {
	size := int64(unsafe.Sizeof(value))
	switch p := unsafe.Pointer(&value); size {
	case 1:
		return fill(driver.MemsetD8Async, dst, uintptr(*(*uint8)(p)), size, stream)
	case 2:
		return fill(driver.MemsetD16Async, dst, uintptr(*(*uint16)(p)), size, stream)
	case 4:
		return fill(driver.MemsetD32Async, dst, uintptr(*(*uint32)(p)), size, stream)
	default:
		return fill64(dst, *(*uint64)(p), stream)
	}
}

func fill(f driver.Func, m *Memory, value uintptr, size int64, stream *Stream) error {
	address, err := m.writes()
	if err != nil {
		return err
	}
	if m.size%size != 0 || address%uintptr(size) != 0 {
		return valueError("memory of %d bytes at %#x is not an array of elements of %d bytes: fill a part of it, or smaller elements", m.size, address, size)
	}
	if m.size == 0 {
		return nil
	}
	err = m.s.queue(f, stream, address, value, uintptr(m.size/size))
	runtime.KeepAlive(m)
	if err != nil {
		return about(err, "%d bytes on %s", m.size, m.s.device)
	}
	return nil
}

// CopyInAsync copies pinned memory to the start of device memory in the order of
// a stream of that device, without waiting. Both must live, and src must not
// change, until the stream has done the copy.
func CopyInAsync[T Scalar](dst *Memory, src *Host[T], stream *Stream) error {
	return copyPinned(driver.MemcpyHtoDAsync, dst, src, stream)
}

// CopyOutAsync fills pinned memory from the start of device memory in the order
// of a stream of that device, without waiting. Both must live, and dst must not
// be used, until the stream has done the copy.
func CopyOutAsync[T Scalar](dst *Host[T], src *Memory, stream *Stream) error {
	return copyPinned(driver.MemcpyDtoHAsync, src, dst, stream)
}

func copyPinned[T Scalar](f driver.Func, m *Memory, h *Host[T], stream *Stream) error {
	address, err := m.used(f)
	if err != nil {
		return err
	}
	there, err := h.hostPointer()
	if err != nil {
		return err
	}
	bytes := h.bytes()
	if bytes > m.size {
		return valueError("the host memory has %d bytes, the memory on %s has %d: copy a Part of the host memory", bytes, m.s.device, m.size)
	}
	if bytes == 0 {
		return nil
	}
	to, from := address, there
	if f == driver.MemcpyDtoHAsync {
		to, from = there, address
	}
	if err := m.s.queue(f, stream, to, from, uintptr(bytes)); err != nil {
		return about(err, "%d bytes on %s", bytes, m.s.device)
	}
	return nil
}

// Fillable is a Go type whose values [Fill] takes.
type Fillable interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~float32 | ~int64 | ~uint64 | ~float64 | ~complex64
}

// fill64 sets elements of 8 bytes: where their halves differ, the lower halves of all, then the
// upper ones, each as a column of words.
func fill64(m *Memory, word uint64, stream *Stream) error {
	low, high := uint32(word), uint32(word>>32)
	address, err := m.writes()
	if err != nil {
		return err
	}
	if m.size%8 != 0 || address%8 != 0 {
		return valueError("memory of %d bytes at %#x is not an array of elements of 8 bytes: fill a part of it, or smaller elements", m.size, address)
	}
	if low == high {
		return fill(driver.MemsetD32Async, m, uintptr(low), 4, stream)
	}
	for half, value := range [2]uint32{low, high} {
		if m.size == 0 {
			break
		}
		if err := m.s.queue(driver.MemsetD2D32Async, stream, address+4*uintptr(half), 8, uintptr(value), 1, uintptr(m.size/8)); err != nil {
			return about(err, "%d bytes on %s", m.size, m.s.device)
		}
	}
	runtime.KeepAlive(m)
	return nil
}

// CopyRange copies bytes of src from an offset on to an offset of dst. It is [Copy] of parts; all
// numbers are bytes. The two ranges must not overlap, because the driver copies in no certain order.
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
// all work of the stream before the copy too. [CopyInAsync] does not wait. A
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
	err := copySlice(driver.MemcpyDtoHAsync, src, offset, p, bytes, stream)
	onlyBools(dst)
	return err
}

// copySlice copies between a slice and device memory on a stream and waits. Unsafe memory:
// host points to the elements of a slice that the caller owns; copyOn keeps them.
func copySlice(f driver.Func, m *Memory, offset int64, host unsafe.Pointer, bytes int64, stream *Stream) (err error) {
	if _, err := m.used(f); err != nil {
		return err
	}
	address, err := m.part(offset, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if err := outside("CopyInAt or CopyOutAt", "copy before it, or by CopyInAsync and CopyOutAsync on the stream"); err != nil {
		return err
	}
	g, h, err := m.s.enterOn(stream)
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := m.s.gate.idle(g, h, "a copy of a slice"); err != nil {
		return err
	}
	if h <= driver.StreamLegacy { // whose lock must not be held while the copy waits
		err = m.s.copyNow(g, f, address, host, bytes)
	} else {
		err = g.copyOn(h, f, address, host, bytes)
	}
	runtime.KeepAlive(m)
	if err != nil {
		return about(err, "%d bytes on %s", bytes, m.s.device)
	}
	return nil
}
