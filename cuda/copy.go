package cuda

import (
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Scalar is a Go type whose slices can be copied to and from a device. Types of
// other packages for 16-bit or 8-bit floats are uint16 or uint8 underneath.
type Scalar interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128
}

// bytesOf returns the address and the size of the elements of a slice.
func bytesOf[T Scalar](s []T) (unsafe.Pointer, int64) {
	var zero T
	return unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)) * int64(unsafe.Sizeof(zero))
}

// AllocOf allocates device memory and copies a slice into it. The memory holds the slice
// when AllocOf returns, for work on every stream.
func AllocOf[T Scalar](d Device, src []T) (*Memory, error) {
	_, bytes := bytesOf(src)
	m, err := d.Alloc(bytes)
	if err != nil {
		return nil, err
	}
	if err := CopyIn(m, src); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// CopyIn copies a slice to the start of device memory. When it returns the memory holds the
// slice, for work on every stream, and the slice may be changed.
//
// The copy comes after all work queued before on the default stream of CUDA, on the streams of
// this package that were not made by [NonBlocking], and inside [WithStream] on that stream. Work
// on any other stream that uses the memory must be done before: synchronise that stream.
// cuMemcpyHtoD has the same order, but it may return before the device has the data; CopyIn
// returns after that. It does not touch the default stream, so it does not disturb a capture of
// another goroutine; the work of a stream that is captured is not waited for. Inside
// [Stream.Capture] it is an error.
func CopyIn[T Scalar](dst *Memory, src []T) error {
	p, bytes := bytesOf(src)
	return copyHost(driver.MemcpyHtoDAsync, dst, p, bytes)
}

// CopyOut fills a slice from the start of device memory. The slice is complete when it
// returns. It is ordered like [CopyIn]: a stream with [NonBlocking] must be synchronised
// before its results are read.
func CopyOut[T Scalar](dst []T, src *Memory) error {
	p, bytes := bytesOf(dst)
	return copyHost(driver.MemcpyDtoHAsync, src, p, bytes)
}

func copyHost(f driver.Func, m *Memory, host unsafe.Pointer, bytes int64) (err error) {
	address, err := m.at(nil)
	if err != nil {
		return err
	}
	if bytes > m.size {
		return valueError("the slice has %d bytes, the memory on %s has %d", bytes, m.s.device, m.size)
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
	err = g.copyNow(f, address, host, bytes)
	runtime.KeepAlive(m)
	if err != nil {
		return about(err, "%d bytes on %s", bytes, m.s.device)
	}
	return nil
}

// apart refuses a copy of bytes onto each other, which the driver does in no certain order.
func apart(to, from uintptr, bytes int64) error {
	if n := uintptr(bytes); to < from+n && from < to+n {
		return valueError("the source and the destination of %d bytes overlap: copy through other memory", bytes)
	}
	return nil
}

// Copy copies all of src to the start of dst, in the order of a stream of the
// device of dst, without waiting. The two may be on different devices: the driver
// goes through the host where they cannot reach each other, and work on src that is
// queued on the other device must be waited for, by [Stream.Wait] or otherwise. Both must
// live until the copy is done: see [Stream.Keep]. They must not overlap.
func Copy(dst, src *Memory, stream *Stream) (err error) {
	to, err := dst.at(nil)
	if err != nil {
		return err
	}
	from, err := src.at(nil)
	if err != nil {
		return err
	}
	if src.size > dst.size {
		return valueError("the source has %d bytes, the destination has %d", src.size, dst.size)
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
	g, err := dst.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	h, err := g.stream(stream)
	if err != nil {
		return err
	}
	there, err := src.s.acquire()
	if err != nil {
		return err
	}
	defer src.s.users.Add(-1)
	here := dst.s.current()
	err = g.call(driver.MemcpyPeerAsync, to, here, from, there, uintptr(src.size), h)
	runtime.KeepAlive(dst)
	runtime.KeepAlive(src)
	return about(err, "%d bytes from %s to %s", src.size, src.s.device, dst.s.device)
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
	address, err := m.at(nil)
	if err != nil {
		return err
	}
	if m.size%size != 0 || address%uintptr(size) != 0 {
		return valueError("memory of %d bytes at %#x is not an array of elements of %d bytes", m.size, address, size)
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
	address, err := m.at(nil)
	if err != nil {
		return err
	}
	there, err := h.hostPointer()
	if err != nil {
		return err
	}
	bytes := h.bytes()
	if bytes > m.size {
		return valueError("the host memory has %d bytes, the memory on %s has %d", bytes, m.s.device, m.size)
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
	address, err := m.at(nil)
	if err != nil {
		return err
	}
	if m.size%8 != 0 || address%8 != 0 {
		return valueError("memory of %d bytes at %#x is not an array of elements of 8 bytes", m.size, address)
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

// in puts what an error of arguments is about before it.
func in(what string, err error) error {
	if e, ok := err.(*tvmffi.Error); ok {
		return tvmffi.NewError(e.Kind, what+": "+e.Message)
	}
	return err
}
