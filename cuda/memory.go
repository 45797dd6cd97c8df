package cuda

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Memory is a range of device memory: an allocation, a part of one, or memory
// of another owner.
type Memory struct {
	s       *state
	address uintptr
	size    int64 // bytes
	parent  *Memory
	tensor  *tvmffi.Tensor // kept alive by a view of it
	managed bool
	pool    *access                               // of the pool that it is from, nil for other memory
	inOrder bool                                  // FreeAsync may free it
	check   func() error                          // whether what the memory is in can still be used
	free    func(g *guard, address uintptr) error // nil for a view
	freed   atomic.Bool
}

// Alloc allocates device memory, which every stream may use at once. It is not cleared.
// 0 bytes give memory without an address, which copies of nothing accept. Inside
// [Stream.Capture] it is an error.
func (d Device) Alloc(bytes int64) (*Memory, error) {
	return d.alloc(bytes, false, driver.MemAlloc)
}

// AllocManaged allocates memory that both the host and all devices can use under
// one address; the driver moves it. The host must not touch it while a kernel
// that uses it runs, unless the device allows concurrent access.
func (d Device) AllocManaged(bytes int64) (*Memory, error) {
	return d.alloc(bytes, true, driver.MemAllocManaged)
}

// Scalar is a Go type whose slices can be copied to and from a device. Types of
// other packages for 16-bit or 8-bit floats are uint16 or uint8 underneath. A bool of Go is the byte 0 or 1: where a kernel may
// write others, use uint8 with everything but [CopyOut] and [CopyOutAt].
type Scalar interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128
}

// bytesOf returns the address and the size of the elements of a slice.
func bytesOf[T Scalar](s []T) (unsafe.Pointer, int64) {
	var zero T
	return unsafe.Pointer(unsafe.SliceData(s)), int64(len(s)) * int64(unsafe.Sizeof(zero))
}

// ManagedSlice returns memory of [Device.AllocManaged] as a slice for the host, with
// as many elements as fit. It must not be used after Free.
func ManagedSlice[T Scalar](m *Memory) ([]T, error) {
	address, err := m.writes()
	if err != nil {
		return nil, err
	}
	if m.size == 0 {
		return nil, nil
	}
	if !m.managed {
		return nil, valueError("the memory on %s is not managed: copy it, or allocate it by AllocManaged", m.s.device)
	}
	var zero T
	size := unsafe.Sizeof(zero)
	if address%unsafe.Alignof(zero) != 0 {
		return nil, valueError("the memory at %#x is not aligned for elements of %d bytes: take another part of it, or smaller elements", address, size)
	}
	return unsafe.Slice((*T)(driver.Pointer(address)), uintptr(m.size)/size), nil
}

func (d Device) alloc(bytes int64, managed bool, f driver.Func) (m *Memory, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return s.none(bytes)
	}
	if err := outside("Alloc", "allocate before it"); err != nil {
		return nil, err
	}
	err = s.with(func(g *guard) error {
		flags := uintptr(0)
		if managed {
			flags = driver.AttachGlobal
		}
		if err := g.call(f, g.out(0), uintptr(bytes), flags); err != nil {
			return about(err, "%d bytes on %s", bytes, d)
		}
		m = s.own(g.result(0), bytes, (*guard).free)
		m.managed, m.inOrder = managed, !managed
		return nil
	})
	return m, err
}

// AllocAsync allocates device memory from the default pool of the device in the order of
// a stream: work on the stream may use it from then on, other streams once they
// wait for that point, by an event or by Synchronize. [CopyIn] and [CopyOut] are such other
// streams. Free and FreeAsync both end it, also after the stream was closed.
func (d Device) AllocAsync(bytes int64, stream *Stream) (m *Memory, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return s.none(bytes)
	}
	if err := ordered("AllocAsync", "allocate before it"); err != nil {
		return nil, err
	}
	err = s.onStream(stream, func(g *guard, h uintptr) error {
		ordered, err := s.ordered(g, h, bytes, driver.MemAllocAsync, g.out(0), uintptr(bytes), h)
		if err != nil {
			return about(err, "%d bytes on %s", bytes, d)
		}
		m, ordered.pool = ordered, &s.peers.defaultPool
		return nil
	})
	return m, err
}

// ordered allocates memory on a stream by a call of the driver, which writes the address to
// out(0).
func (s *state) ordered(g *guard, h uintptr, bytes int64, f driver.Func, args ...uintptr) (*Memory, error) {
	if err := s.gate.uncaptured(g, h, "AllocAsync", f, args...); err != nil {
		return nil, err
	}
	m := s.own(g.result(0), bytes, (*guard).free)
	m.inOrder = true
	return m, nil
}

func (s *state) none(bytes int64) (*Memory, error) {
	if bytes < 0 {
		return nil, valueError("allocation of %d bytes on %s: the size is negative: pass 0 or more", bytes, s.device)
	}
	return &Memory{s: s}, nil
}

// own makes the Memory of a new allocation.
func (s *state) own(address uintptr, bytes int64, free func(*guard, uintptr) error) *Memory {
	s.live[allocations].Add(1)
	s.live[allocated].Add(bytes)
	return &Memory{s: s, address: address, size: bytes, free: free}
}

// FromPointer describes device memory of another owner. Memory that the driver knows to be on
// another device, or to end before, is refused. If free is not nil,
// [Memory.Free] waits for the work of the device and then calls free once, with the device
// current. If it is nil, Free does nothing. [Memory.FreeAsync] refuses such memory.
func FromPointer(d Device, p tvmffi.Pointer, bytes int64, free func() error) (*Memory, error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if bytes < 0 || p.Address == 0 && bytes > 0 {
		return nil, valueError("memory at %#x of %d bytes on %s: there is no such range: name the address and the size of memory on that device", p.Address, bytes, d)
	}
	managed, err := s.foreign(p.Address, bytes)
	if err != nil {
		return nil, err
	}
	if free == nil {
		return &Memory{s: s, address: p.Address, size: bytes, managed: managed}, nil
	}
	m := s.own(p.Address, bytes, func(g *guard, _ uintptr) (err error) {
		defer g.again(&err)
		return free()
	})
	m.managed = managed
	return m, nil
}

// TensorMemory returns the memory of a contiguous tensor on a CUDA device as a
// view, which keeps the tensor alive; the tensor must not be released while the
// view is used, also not by work that is still queued: see [Stream.Keep]. Copies into the memory of
// a read-only tensor, and [Fill], are errors.
func TensorMemory(t *tvmffi.Tensor) (*Memory, error) {
	d, err := DeviceOf(t)
	if err != nil {
		return nil, err
	}
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if !t.Contiguous() {
		return nil, valueError("the tensor with shape %v and strides %v is not contiguous: copy it to one that is", t.Shape(), t.Strides())
	}
	c, err := cell(t)
	if err != nil {
		return nil, err
	}
	m := &Memory{s: s, address: c.Data + uintptr(c.ByteOffset), size: t.DataType().Size(t.Len()), tensor: t}
	if m.managed, err = s.foreign(m.address, m.size); err != nil {
		return nil, in("the tensor", err)
	}
	runtime.KeepAlive(t)
	return m, nil
}

// Tensor returns a tensor over the memory, for calls of FFI functions, without a
// copy. The memory must not be freed while the tensor is used, by native code
// too. libtvm_ffi is loaded if it is not yet.
func (m *Memory) Tensor(dtype tvmffi.DataType, shape ...int64) (*tvmffi.Tensor, error) {
	address, err := m.at(nil)
	if err != nil {
		return nil, err
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d != 0 && n > (1<<56)/d {
			return nil, valueError("tensor: shape %v is negative or too large: name sizes that fit into the memory", shape)
		}
		n *= d
	}
	if high, low := bits.Mul64(uint64(n), uint64(dtype.Bits)*uint64(dtype.Lanes)); dtype.IsScalable() || high != 0 || low > math.MaxInt64 {
		return nil, valueError("tensor: %s%v is too large, or only the hardware knows its size", dtype, shape)
	}
	if need := dtype.Size(n); need > m.size {
		return nil, valueError("tensor: %s%v needs %d bytes, the memory has %d: allocate more, or name a smaller shape", dtype, shape, need, m.size)
	}
	device := m.s.device.TVMFFI()
	if m.managed {
		device.Type = abi.DLCUDAManaged
	}
	t, err := tvmffi.FromPointer(tvmffi.Pointer{Address: address}, dtype, device, m, shape...)
	if err == nil && m.readOnly() {
		objects.StateOf(t).SetReadOnly()
	}
	return t, err
}

// Part returns a view of bytes of the memory from offset on. The view ends when m is freed.
// Devices that may use m may use it too.
func (m *Memory) Part(offset, bytes int64) (*Memory, error) {
	address, err := m.part(offset, bytes)
	if err != nil {
		return nil, err
	}
	return &Memory{s: m.s, address: address, size: bytes, parent: m, managed: m.managed, pool: m.pool}, nil
}

// part returns the address of a part.
func (m *Memory) part(offset, bytes int64) (uintptr, error) {
	address, err := m.at(nil)
	if err != nil {
		return 0, err
	}
	if offset < 0 || bytes < 0 || offset > m.size-bytes {
		return 0, valueError("the part of %d bytes at %d is not inside the memory of %d bytes", bytes, offset, m.size)
	}
	return address + uintptr(offset), nil
}

// Pointer returns the device address, which FFI functions take as void*. It is null for memory
// that was freed or is nil.
func (m *Memory) Pointer() tvmffi.Pointer {
	address, err := m.at(nil)
	if err != nil {
		return tvmffi.Pointer{}
	}
	return tvmffi.Pointer{Address: address}
}

// Size returns the number of bytes, 0 for nil.
func (m *Memory) Size() int64 {
	if m == nil {
		return 0
	}
	return m.size
}

// Device returns the device of the memory.
func (m *Memory) Device() Device { return m.s.device }

// at returns the address if the memory can be used, on the device of s unless
// that is nil.
func (m *Memory) at(s *state) (uintptr, error) {
	if m == nil {
		return 0, aMemory.none()
	}
	for p := m; p != nil; p = p.parent {
		if p.freed.Load() {
			return 0, valueError("the memory of %d bytes on %s was freed: it must not be used any more", m.size, m.s.device)
		}
		if p.check != nil {
			if err := p.check(); err != nil {
				return 0, err
			}
		}
		if p.tensor != nil {
			if _, err := cell(p.tensor); err != nil {
				return 0, err
			}
		}
	}
	switch {
	case s == m.s && s != nil:
	case m.s == nil:
		return 0, aMemory.zero()
	case s != nil && !m.managed && !m.reachable(s):
		return 0, m.unreachable(s)
	}
	return m.address, nil
}

// writes returns the address of memory that a call changes, which is not that of a read-only tensor.
func (m *Memory) writes() (uintptr, error) {
	address, err := m.at(nil)
	if err == nil && m.readOnly() {
		err = valueError("the memory of %d bytes on %s is that of a read-only tensor: copy it to other memory, and write there", m.size, m.s.device)
	}
	return address, err
}

// readOnly reports whether memory that at accepts is that of a read-only tensor.
func (m *Memory) readOnly() bool {
	for p := m; p != nil; p = p.parent {
		if p.tensor != nil && p.tensor.ReadOnly() {
			return true
		}
	}
	return false
}

// Free waits for all work of the device, on every stream, and frees the memory. That
// holds for memory of each origin: the driver itself need not wait, and it does
// not for memory of [Device.AllocAsync] and [Pool.Alloc]. Work of other devices that
// uses the memory must be done before. [Memory.FreeAsync] does not wait.
//
// Inside [Stream.Capture], Free is an error. While another goroutine captures a stream of the
// device, Free first waits for the end of the capture. If the wait for the device fails and the
// device is not lost, the memory is not freed, and Free can be called again. Otherwise a second
// call, and a call for a view, does nothing.
func (m *Memory) Free() (err error) {
	if m == nil || m.free == nil || m.freed.Load() {
		return nil
	}
	if err := outside("Free", "free after it; everything that a graph uses must outlive the graph"); err != nil {
		return err
	}
	return m.s.with(func(g *guard) error {
		if m.freed.Swap(true) {
			return nil
		}
		called, err := m.s.gate.whenDone(g, func() error {
			m.gone()
			return about(m.free(g, m.address), "memory of %d bytes on %s", m.size, m.s.device)
		})
		if !called {
			m.freed.Store(false) // work may still use it
		}
		return about(err, "memory of %d bytes on %s", m.size, m.s.device)
	})
}

// unused is Free of memory that no work uses. It does not wait.
func (m *Memory) unused() {
	m.freed.Store(true)
	m.gone()
	_ = m.s.do(driver.MemFree, m.address)
}

// free is the free of memory that the driver allocated.
func (g *guard) free(address uintptr) error { return g.call(driver.MemFree, address) }

// FreeAsync frees memory of [Device.AllocAsync], [Pool.Alloc] or [Device.Alloc] in the order of a
// stream, without waiting: work that is queued there before may still use it. Any stream of the
// device will do. Uses on other streams must come before that point: let the stream wait for an
// event of theirs, or synchronise them. A second call, and a call for a view, does nothing. Other
// memory is refused: Free ends it. After an error the memory is still there, unless the device is
// lost. Inside [Stream.Capture] it is an error.
func (m *Memory) FreeAsync(stream *Stream) (err error) {
	if m == nil || m.free == nil || m.freed.Load() {
		return nil
	}
	if !m.inOrder {
		return valueError("FreeAsync of memory on %s that is not of AllocAsync, Pool.Alloc or Alloc: a stream cannot free it: call Free", m.s.device)
	}
	if err := ordered("FreeAsync", "free after it; everything that a graph uses must outlive the graph"); err != nil {
		return err
	}
	return m.s.onStream(stream, func(g *guard, h uintptr) error {
		if m.freed.Swap(true) {
			return nil
		}
		err := m.s.gate.uncaptured(g, h, "FreeAsync", driver.MemFreeAsync, m.address, h)
		if idle(err) {
			m.gone()
		} else {
			m.freed.Store(false) // the memory is still there, and Free can end it
		}
		return about(err, "memory of %d bytes on %s", m.size, m.s.device)
	})
}

func (m *Memory) gone() {
	m.s.live[allocations].Add(-1)
	m.s.live[allocated].Add(-m.size)
}

// The attributes that foreign asks for, in the order of the results.
var pointerAttributes = [...]int32{driver.PointerMemoryType, driver.PointerManaged, driver.PointerDevice, driver.PointerStart, driver.PointerSize}

// foreign looks at memory of another owner: it is an error if the driver knows that it
// is not on the device, or not so large. Memory that the driver does not know passes: it
// may be of another driver.
func (s *state) foreign(address uintptr, bytes int64) (managed bool, err error) {
	if bytes == 0 || !driver.Has(driver.PointerGetAttributes) {
		return false, nil
	}
	err = s.with(func(g *guard) error {
		const n = len(pointerAttributes)
		q := &struct {
			attributes [n]int32
			values     [n]uint64 // the driver writes 1 to 8 bytes of each
			data       [n]uintptr
		}{attributes: pointerAttributes}
		// Unsafe memory: data holds addresses inside q, which callGo keeps on the heap and alive
		// during the call; the driver does not keep them.
		for i := range q.data {
			q.data[i] = uintptr(unsafe.Pointer(&q.values[i]))
		}
		err := g.callGo(driver.PointerGetAttributes, uintptr(n), uintptr(unsafe.Pointer(&q.attributes)), uintptr(unsafe.Pointer(&q.data)), address)
		runtime.KeepAlive(q)
		if errors.Is(err, ErrInvalidValue) || errors.Is(err, ErrInvalidContext) {
			return nil // some drivers say so of memory that is not theirs
		}
		if err != nil {
			return about(err, "the address %#x", address)
		}
		kind, on, base, size := uint32(q.values[0]), Device(int32(q.values[2])), uintptr(q.values[3]), int64(q.values[4])
		if kind == 0 {
			return nil
		}
		moves := uint32(q.values[1]) != 0
		switch {
		case kind == driver.MemoryTypeDevice && !moves && on != s.device:
			return valueError("the memory at %#x is on %s, not on %s: name its device, or copy it there first", address, on, s.device)
		case size > 0 && address >= base && address-base <= uintptr(size) && bytes > size-int64(address-base):
			return valueError("memory at %#x of %d bytes on %s: its allocation ends after %d bytes: name no more", address, bytes, s.device, size-int64(address-base))
		}
		managed = moves
		return nil
	})
	return managed, err
}

// reachable reports whether kernels on the device of s may use the memory.
func (m *Memory) reachable(s *state) bool {
	for m.parent != nil { // which has the pool and the tensor
		m = m.parent
	}
	switch {
	case m.pool != nil:
		return m.pool.has(s.device)
	case m.tensor != nil:
		return s.reaches(m.s.device)
	}
	return s.peers.memory.has(m.s.device)
}

func (m *Memory) unreachable(s *state) error {
	remedy := "Device.EnablePeerAccess"
	if m.pool != nil {
		remedy = cmp.Or(m.pool.by, "AllowAccess of its pool")
	}
	return valueError("the memory is on %s, the operation on %s: copy it there first, or let %s use it by %s", m.s.device, s.device, s.device, remedy)
}
