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
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Memory is a range of device memory: an allocation, a part of one, or memory
// of another owner.
type Memory struct {
	s         *state
	address   uintptr
	size      int64 // bytes
	parent    *Memory
	tensor    *tvmffi.Tensor // kept alive by a view of it
	module    *Module        // that holds the variable
	node      *GraphNode     // that allocates it
	managed   bool
	pool      *access                               // of the pool or the addresses that it is from, nil for other memory
	inOrder   bool                                  // FreeAsync may free it
	recording *recording                            // that allocates it, nil outside captures
	check     func() error                          // whether what the memory is in can still be used
	free      func(g *guard, address uintptr) error // nil for a view
	freed     atomic.Uint64                         // which allocation was, see made
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

// ManagedSlice returns memory of [Device.AllocManaged] as a slice for the host, with
// as many elements as fit. It must not be used after Free.
func ManagedSlice[T Scalar](m *Memory) ([]T, error) {
	address, err := m.at(nil)
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
		return nil, valueError("the memory at %#x is not aligned for elements of %d bytes", address, size)
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
	if err := outside("Alloc", "allocate before it, or by AllocAsync on the stream"); err != nil {
		return nil, err
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	const attachGlobal = 1
	flags := uintptr(0)
	if managed {
		flags = attachGlobal
	}
	err = g.call(f, g.out(0), uintptr(bytes), flags)
	if errors.Is(err, ErrOutOfMemory) && s.order.late.any() && g.finish() == nil {
		err = g.call(f, g.out(0), uintptr(bytes), flags) // there may be enough now
	}
	if err != nil {
		return nil, about(err, "%d bytes on %s", bytes, d)
	}
	m = s.own(g.result(0), bytes, (*guard).free)
	m.managed, m.inOrder = managed, !managed
	return m, nil
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
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	h, err := g.stream(stream)
	if err != nil {
		return nil, err
	}
	m, err = g.ordered(h, bytes, driver.MemAllocAsync, g.out(0), uintptr(bytes), h)
	if err != nil {
		return nil, about(err, "%d bytes on %s", bytes, d)
	}
	m.pool = &s.peers.defaultPool
	return m, nil
}

// ordered allocates memory on a stream by a call of the driver, which writes the address to
// out(0).
func (g *guard) ordered(h uintptr, bytes int64, f driver.Func, args ...uintptr) (*Memory, error) {
	ls := &g.s.order.lanes
	defer ls.release(ls.hold(h))
	r, err := g.recording(h)
	if err != nil {
		return nil, err
	}
	if r != nil {
		r.memory.Store(true)
	}
	if err := g.call(f, args...); err != nil {
		return nil, err
	}
	m := g.s.own(g.result(0), bytes, (*guard).free)
	m.inOrder, m.recording = true, r
	if r != nil {
		m.gone() // the graph has it
	}
	return m, nil
}

func (s *state) none(bytes int64) (*Memory, error) {
	if bytes < 0 {
		return nil, valueError("allocation of %d bytes on %s: the size is negative", bytes, s.device)
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
// another device, or to end before, is refused; see [Device.About]. If free is not nil,
// [Memory.Free] waits for the work of the device and then calls free once, with the device
// current. If it is nil, Free does nothing. [Memory.FreeAsync] refuses such memory.
func FromPointer(d Device, p tvmffi.Pointer, bytes int64, free func() error) (*Memory, error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if bytes < 0 || p.Address == 0 && bytes > 0 {
		return nil, valueError("memory at %#x of %d bytes on %s: there is no such range", p.Address, bytes, d)
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
// view is used, also not by work that is still queued: see [Stream.Keep].
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
		return nil, valueError("the tensor with shape %v and strides %v is not contiguous", t.Shape(), t.Strides())
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

// cell returns the DLTensor of a tensor that is neither nil nor released.
func cell(t *tvmffi.Tensor) (*abi.DLTensor, error) {
	if t == nil {
		return nil, valueError("the tensor is nil: pass a tensor, to a kernel tvmffi.Pointer{} for a null pointer")
	}
	// Every object type has the layout of objects.Object.
	h := (*objects.Object)(unsafe.Pointer(t)).Handle()
	if h == 0 {
		return nil, valueError("the tensor was released: release it after its last use")
	}
	return capi.PointerTo[abi.DLTensor](h + abi.ObjectSize), nil
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
			return nil, valueError("tensor: shape %v is negative or too large", shape)
		}
		n *= d
	}
	if high, low := bits.Mul64(uint64(n), uint64(dtype.Bits)*uint64(dtype.Lanes)); dtype.IsScalable() || high != 0 || low > math.MaxInt64 {
		return nil, valueError("tensor: %s%v is too large, or only the hardware knows its size", dtype, shape)
	}
	if need := dtype.Size(n); need > m.size {
		return nil, valueError("tensor: %s%v needs %d bytes, the memory has %d", dtype, shape, need, m.size)
	}
	device := m.s.device.TVMFFI()
	if m.managed {
		device.Type = abi.DLCUDAManaged
	}
	return tvmffi.FromPointer(tvmffi.Pointer{Address: address}, dtype, device, m, shape...)
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
		if err := p.ended(); err != nil {
			return 0, err
		}
		if p.node != nil && p.node.ended() {
			return 0, valueError("the memory of %d bytes on %s is that of %s, whose graph and builder are closed: it must not be used any more", m.size, m.s.device, p.node)
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
		if p.module != nil {
			if _, err := p.module.live(); err != nil {
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

// Free waits for all work of the device, on every stream, and frees the memory. That
// holds for memory of each origin: the driver itself need not wait, and it does
// not for memory of [Device.AllocAsync] and [Pool.Alloc]. Work of other devices that
// uses the memory must be done before. [Memory.FreeAsync] does not wait.
//
// The driver cannot wait for a device while a stream of it is captured. Inside [Stream.Capture],
// Free is an error. While another goroutine captures, Free returns at once; after that capture
// the next call that waits for the device frees the memory, such as another Free, or Alloc where
// memory is short. [Device.Synchronize] returns the error if that fails. If the wait fails and
// the device is not lost, the memory is not freed, and Free can be called again. Otherwise a
// second call, and a call for a view, does nothing. Memory that a capture allocates is freed once
// after each launch of its graph; before the first one Free does nothing.
func (m *Memory) Free() (err error) {
	if m == nil || m.free == nil || m.done() {
		return nil
	}
	if err := outside("Free", "free after it; what the work of a graph uses must live as long as the graph"); err != nil {
		return err
	}
	g, err := m.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	allocation := m.made()
	before, ok := m.claim(allocation)
	if !ok {
		return nil
	}
	what := func(err error) error { return about(err, "memory of %d bytes on %s", m.size, m.s.device) }
	called, err := g.whenDone(func(g *guard) error {
		if m.recording == nil {
			m.gone()
			return what(m.free(g, m.address))
		}
		defer m.recording.still()() // no launch comes between
		if !m.recording.unknown && m.made() != allocation {
			return nil // a later launch has freed it, and allocated it again
		}
		return what(m.free(g, m.address))
	})
	if !called {
		m.freed.CompareAndSwap(allocation, before) // work may still use it
	}
	return what(err)
}

// free is the free of memory that the driver allocated.
func (g *guard) free(address uintptr) error { return g.call(driver.MemFree, address) }

// FreeAsync frees memory of [Device.AllocAsync], [Pool.Alloc] or [Device.Alloc] in the order of a
// stream, without waiting: work that is queued there before may still use it. Any stream of the
// device will do. Uses on other streams must come before that point: let the stream wait for an
// event of theirs, or synchronise them. A second call, and a call for a view, does nothing. Other
// memory is refused: Free ends it. After an error the memory is still there, unless the device is
// lost. In a capture only memory that the capture allocates can be freed. If the capture does not
// free it, each launch allocates it again: it is freed after each launch, once, by Free or
// FreeAsync, and must not be used until the next one. For a capture that another library has
// begun, this package does not know the launches: the program frees such memory once for each.
func (m *Memory) FreeAsync(stream *Stream) (err error) {
	if m == nil || m.free == nil || m.done() {
		return nil
	}
	if !m.inOrder {
		return valueError("FreeAsync of memory on %s that is not of AllocAsync, Pool.Alloc or Alloc: a stream cannot free it: call Free", m.s.device)
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
	ls := &m.s.order.lanes
	defer ls.release(ls.hold(h))
	r, lost := g.recording(h)
	if !idle(lost) {
		return lost
	}
	allocation := m.made()
	switch {
	case r == nil:
	case m.recording == nil || m.recording.id != r.id:
		return valueError("FreeAsync of memory of %d bytes on %s for a stream that is captured: a capture frees only memory that it allocates by AllocAsync or Pool.Alloc: free this after it", m.size, m.s.device)
	default:
		allocation = forever
	}
	before, ok := m.claim(allocation)
	if !ok {
		return nil
	}
	err = g.call(driver.MemFreeAsync, m.address, h)
	if !idle(err) {
		m.freed.CompareAndSwap(allocation, before) // the memory is still there, and Free can end it
	} else if m.recording == nil {
		m.gone()
	}
	if err = cmp.Or(err, lost); err != nil {
		return about(err, "memory of %d bytes on %s", m.size, m.s.device)
	}
	return nil
}

func (m *Memory) gone() {
	m.s.live[allocations].Add(-1)
	m.s.live[allocated].Add(-m.size)
}
