package cuda

import (
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
	s       *state
	address uintptr
	size    int64 // bytes
	parent  *Memory
	tensor  *tvmffi.Tensor // kept alive by a view of it
	module  *Module        // that holds the variable
	managed bool
	free    func(g *guard, address uintptr) error // nil for a view
	freed   atomic.Bool
}

// Alloc allocates device memory. It is not cleared. 0 bytes give memory without
// an address, which copies of nothing accept.
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
	if err := g.call(f, g.out(0), uintptr(bytes), flags); err != nil {
		return nil, about(err, "%d bytes on %s", bytes, d)
	}
	m = s.own(g.result(0), bytes, (*guard).free)
	m.managed = managed
	return m, nil
}

// AllocAsync allocates device memory from the default pool of the device in the order of
// a stream: work on the stream may use it from then on, other streams once they
// wait for that point. Free and FreeAsync both end it.
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
	if err := g.call(driver.MemAllocAsync, g.out(0), uintptr(bytes), h); err != nil {
		return nil, about(err, "%d bytes on %s", bytes, d)
	}
	return s.own(g.result(0), bytes, (*guard).free), nil
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

// FromPointer describes device memory of another owner. If free is
// not nil, the memory belongs to the caller of Free, which calls it once
// with the device current.
func FromPointer(d Device, p tvmffi.Pointer, bytes int64, free func() error) (*Memory, error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if bytes < 0 || p.Address == 0 && bytes > 0 {
		return nil, valueError("memory at %#x of %d bytes on %s: there is no such range", p.Address, bytes, d)
	}
	if free == nil {
		return &Memory{s: s, address: p.Address, size: bytes}, nil
	}
	return s.own(p.Address, bytes, func(*guard, uintptr) error { return free() }), nil
}

// TensorMemory returns the memory of a contiguous tensor on a CUDA device as a
// view, which keeps the tensor alive; the tensor must not be released while the
// view is used.
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
	return &Memory{s: s, address: c.Data + uintptr(c.ByteOffset), size: t.DataType().Size(t.Len()), tensor: t}, nil
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
	if need := dtype.Size(n); need > m.size {
		return nil, valueError("tensor: %s%v needs %d bytes, the memory has %d", dtype, shape, need, m.size)
	}
	device := m.s.device.TVMFFI()
	if m.managed {
		device.Type = abi.DLCUDAManaged
	}
	return tvmffi.FromPointer(tvmffi.Pointer{Address: address}, dtype, device, m, shape...)
}

// Part returns a view of bytes of the memory from offset on. The view ends when
// m is freed.
func (m *Memory) Part(offset, bytes int64) (*Memory, error) {
	address, err := m.at(nil)
	if err != nil {
		return nil, err
	}
	if offset < 0 || bytes < 0 || offset > m.size-bytes {
		return nil, valueError("the part of %d bytes at %d is not inside the memory of %d bytes", bytes, offset, m.size)
	}
	return &Memory{s: m.s, address: address + uintptr(offset), size: bytes, parent: m, managed: m.managed}, nil
}

// Pointer returns the device address, which FFI functions take as void*.
func (m *Memory) Pointer() tvmffi.Pointer { return tvmffi.Pointer{Address: m.address} }

// Size returns the number of bytes.
func (m *Memory) Size() int64 { return m.size }

// Device returns the device of the memory.
func (m *Memory) Device() Device { return m.s.device }

// at returns the address if the memory can be used, on the device of s unless
// that is nil.
func (m *Memory) at(s *state) (uintptr, error) {
	if m == nil {
		return 0, valueError("the memory is nil")
	}
	for p := m; p != nil; p = p.parent {
		if p.freed.Load() {
			return 0, valueError("the memory of %d bytes on %s was freed: it must not be used any more", m.size, m.s.device)
		}
		if p.module != nil {
			if _, err := p.module.get(); err != nil {
				return 0, err
			}
		}
	}
	switch {
	case s == m.s && s != nil:
	case m.s == nil:
		return 0, valueError("the memory is a zero Memory: Alloc of a device makes one")
	case s != nil && !m.managed:
		return 0, valueError("the memory is on %s, the operation on %s: copy it there first", m.s.device, s.device)
	}
	return m.address, nil
}

// Free frees the memory. It waits for work of the device that may use it. A
// second call, and a call for a view, does nothing.
func (m *Memory) Free() (err error) {
	if m == nil || m.free == nil || m.freed.Load() {
		return nil
	}
	g, err := m.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if m.freed.Swap(true) {
		return nil
	}
	m.gone()
	return about(m.free(&g, m.address), "memory of %d bytes on %s", m.size, m.s.device)
}

// free is the free of memory that the driver allocated.
func (g *guard) free(address uintptr) error { return g.call(driver.MemFree, address) }

// FreeAsync frees memory of [Device.AllocAsync] or [Pool.Alloc] in the order of a stream, without
// waiting.
func (m *Memory) FreeAsync(stream *Stream) (err error) {
	if m == nil || m.free == nil || m.freed.Load() {
		return nil
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
	if m.freed.Swap(true) {
		return nil
	}
	m.gone()
	return about(g.call(driver.MemFreeAsync, m.address, h), "memory of %d bytes on %s", m.size, m.s.device)
}

func (m *Memory) gone() {
	m.s.live[allocations].Add(-1)
	m.s.live[allocated].Add(-m.size)
}
