package cuda

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
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

// AllocOf allocates device memory and copies a slice into it.
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

// CopyIn copies a slice to the start of device memory and waits until that is
// done. Work on the default stream of CUDA happens before it; for other streams
// synchronise them first.
func CopyIn[T Scalar](dst *Memory, src []T) error {
	p, bytes := bytesOf(src)
	return copyHost(driver.MemcpyHtoD, dst, p, bytes)
}

// CopyOut fills a slice from the start of device memory. It waits and is ordered like
// [CopyIn].
func CopyOut[T Scalar](dst []T, src *Memory) error {
	p, bytes := bytesOf(dst)
	return copyHost(driver.MemcpyDtoH, src, p, bytes)
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
	g, err := m.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if f == driver.MemcpyHtoD {
		err = g.callGo(f, address, uintptr(host), uintptr(bytes))
	} else {
		err = g.callGo(f, uintptr(host), address, uintptr(bytes))
	}
	runtime.KeepAlive(m.tensor)
	if err != nil {
		return about(err, "%d bytes on %s", bytes, m.s.device)
	}
	return nil
}

// Copy copies all of src to the start of dst, in the order of a stream of the
// device of dst, without waiting. The two may be on different devices: the driver
// goes through the host where they cannot reach each other.
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
	if dst.s == src.s {
		if err := dst.s.queue(driver.MemcpyDtoDAsync, stream, to, from, uintptr(src.size)); err != nil {
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
	here := dst.s.context.Load()
	return about(g.call(driver.MemcpyPeerAsync, to, here, from, there, uintptr(src.size), h), "%d bytes from %s to %s", src.size, src.s.device, dst.s.device)
}

// Fill sets all elements of the memory to a value, in the order of a stream,
// without waiting. T has 1, 2 or 4 bytes and divides the size of the memory.
func Fill[T ~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~float32](dst *Memory, value T, stream *Stream) error {
	size := int64(unsafe.Sizeof(value))
	switch p := unsafe.Pointer(&value); size {
	case 1:
		return fill(driver.MemsetD8Async, dst, uintptr(*(*uint8)(p)), size, stream)
	case 2:
		return fill(driver.MemsetD16Async, dst, uintptr(*(*uint16)(p)), size, stream)
	default:
		return fill(driver.MemsetD32Async, dst, uintptr(*(*uint32)(p)), size, stream)
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
	if err := m.s.queue(f, stream, address, value, uintptr(m.size/size)); err != nil {
		return about(err, "%d bytes on %s", m.size, m.s.device)
	}
	return nil
}

// Host is pinned memory of the host, which devices copy from and to without
// waiting for the host. It is memory of the driver, not of Go: no Go pointers in
// it, and none of its slices may be used after Free.
type Host[T Scalar] struct {
	s       *state
	address uintptr
	n       int
	freed   atomic.Bool
}

// AllocHost allocates pinned memory for n elements. All devices can use it; it is
// counted for d.
func AllocHost[T Scalar](d Device, n int) (h *Host[T], err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	var zero T
	if size := int(unsafe.Sizeof(zero)); n < 0 || n > 1<<56/size {
		return nil, valueError("pinned memory for %d elements: the number is negative or too large", n)
	}
	h = &Host[T]{s: s, n: n}
	if n == 0 {
		return h, nil
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	const portable = 1
	if err := g.call(driver.MemHostAlloc, g.out(0), uintptr(h.bytes()), portable); err != nil {
		return nil, about(err, "%d bytes of pinned host memory", h.bytes())
	}
	h.address = g.result(0)
	s.live[allocations].Add(1)
	s.live[allocated].Add(h.bytes())
	return h, nil
}

func (h *Host[T]) bytes() int64 {
	var zero T
	return int64(h.n) * int64(unsafe.Sizeof(zero))
}

// Slice returns the memory as a slice, nil after Free. While an asynchronous copy
// uses it, the program must not.
func (h *Host[T]) Slice() []T {
	if h == nil || h.freed.Load() || h.n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(driver.Pointer(h.address)), h.n)
}

// Free frees the memory. Copies that use it must be done. A second call does
// nothing.
func (h *Host[T]) Free() (err error) {
	if h == nil || h.freed.Load() {
		return nil
	}
	if h.address == 0 {
		h.freed.Store(true)
		return nil
	}
	g, err := h.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if h.freed.Swap(true) {
		return nil
	}
	h.s.live[allocations].Add(-1)
	h.s.live[allocated].Add(-h.bytes())
	return about(g.call(driver.MemFreeHost, h.address), "%d bytes of pinned host memory", h.bytes())
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
	there, err := h.devicePointer()
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
