package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Host is pinned memory of the host, which devices copy from and to without
// waiting for the host. [AllocHost] makes it of memory of the driver, [RegisterHost] of
// memory of C, [PinHost] of a slice of Go. None of its slices may be used after Free.
type Host[T Scalar] struct {
	s       *state
	address uintptr
	device  uintptr // the address for kernels, 0 where there is none
	n       int
	close   func(g *guard) error
	parent  *Host[T] // of a part
	freed   atomic.Bool
}

// HostOption changes pinned memory.
type HostOption func(*hostConfig)

type hostConfig struct{ flags uintptr }

// HostMapped gives the memory an address for kernels, which [Host.Mapped] and launches use.
// Memory of [AllocHost] that is not write-combined has one without it too.
func HostMapped() HostOption { return func(c *hostConfig) { c.flags |= driver.HostMapped } }

// HostWriteCombined makes memory that the host writes past its caches: faster for the device
// to read, very slow for the host to read. It is for [AllocHost] alone.
func HostWriteCombined() HostOption {
	return func(c *hostConfig) { c.flags |= driver.HostWriteCombined }
}

// HostReadOnly says that devices only read the memory, which lets pages be
// registered that the host may not write. It is for [RegisterHost] and [PinHost], on devices
// that support it (number 113 of CUdevice_attribute).
func HostReadOnly() HostOption { return func(c *hostConfig) { c.flags |= driver.HostReadOnly } }

// AllocHost allocates pinned memory for n elements. All devices can use it; it is
// counted for d. It is memory of the driver, not of Go: the collector does not see it.
func AllocHost[T Scalar](d Device, n int, options ...HostOption) (h *Host[T], err error) {
	c := hostConfig{flags: driver.HostPortable}
	for _, o := range options {
		o(&c)
	}
	if c.flags&driver.HostReadOnly != 0 {
		return nil, valueError("pinned memory for %d elements: HostReadOnly is for memory that exists, see RegisterHost", n)
	}
	return pinHost[T](d, "AllocHost", n, func(g *guard, h *Host[T]) error {
		if err := g.call(driver.MemHostAlloc, g.out(0), uintptr(h.bytes()), c.flags); err != nil {
			return about(err, "%d bytes of pinned host memory", h.bytes())
		}
		h.address = g.result(0)
		h.close = func(g *guard) error { return g.call(driver.MemFreeHost, h.address) }
		// All addresses are unified on 64-bit machines, but not those of write-combined memory.
		if h.device = h.address; c.flags&driver.HostWriteCombined != 0 {
			h.device = 0
		}
		return h.find(g, c.flags)
	})
}

// RegisterHost pins memory for n elements at an address of memory that is not Go's, such as
// memory of malloc or mmap. The memory stays the owner's, who must keep it until Free, which
// only ends the registration. The driver pins whole pages, and refuses a page that is
// registered already. Memory of Go may move or end: take [PinHost] for it.
func RegisterHost[T Scalar](d Device, p tvmffi.Pointer, n int, options ...HostOption) (*Host[T], error) {
	var zero T
	switch {
	case p.Address == 0:
		return nil, valueError("the host memory to register is at a null pointer")
	case p.Address%unsafe.Alignof(zero) != 0:
		return nil, valueError("the host memory at %#x is not aligned for elements of %d bytes", p.Address, unsafe.Sizeof(zero))
	}
	return registerHost[T](d, p.Address, n, options, func() {})
}

// PinHost pins the elements of a slice of Go for devices until Free: it keeps the
// slice alive and in its place (see runtime.Pinner), and then registers its pages. The
// driver pins whole pages, so two slices that share a page cannot both be pinned: pin large
// ones. Without Free the slice stays in memory for the rest of the program.
func PinHost[T Scalar](d Device, s []T, options ...HostOption) (*Host[T], error) {
	if len(s) == 0 {
		return registerHost[T](d, 0, 0, options, func() {})
	}
	// The pinner is reachable until Free: the runtime ends the program for one that is
	// collected before it is unpinned.
	p := new(runtime.Pinner)
	p.Pin(&s[0])
	pinners.Store(p, nil)
	release := func() {
		p.Unpin()
		pinners.Delete(p)
	}
	return registerHost[T](d, uintptr(unsafe.Pointer(&s[0])), len(s), options, release)
}

var pinners sync.Map // of *runtime.Pinner

// registerHost registers memory. It calls release as soon as the driver does not have the memory:
// in Free, and where it fails.
func registerHost[T Scalar](d Device, address uintptr, n int, options []HostOption, release func()) (h *Host[T], err error) {
	registered := false
	defer func() {
		if err != nil && !registered {
			release()
		}
	}()
	c := hostConfig{flags: driver.HostPortable}
	for _, o := range options {
		o(&c)
	}
	if c.flags&driver.HostWriteCombined != 0 {
		return nil, valueError("registered memory for %d elements: HostWriteCombined is for AllocHost alone", n)
	}
	return pinHost[T](d, "RegisterHost or PinHost", n, func(g *guard, h *Host[T]) error {
		if err := g.call(driver.MemHostRegister, address, uintptr(h.bytes()), c.flags); err != nil {
			return about(err, "%d bytes of host memory at %#x", h.bytes(), address)
		}
		registered = true
		h.address = address
		h.close = func(g *guard) error {
			err := g.call(driver.MemHostUnregister, address)
			if idle(err) {
				release() // otherwise the driver may use the pages still
			}
			return err
		}
		return h.find(g, c.flags)
	})
}

// pinHost makes a Host of n elements by a function that leaves nothing behind where it fails
// before it sets close.
func pinHost[T Scalar](d Device, call string, n int, pin func(*guard, *Host[T]) error) (h *Host[T], err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	var zero T
	if size := int(unsafe.Sizeof(zero)); n < 0 || n > 1<<56/size {
		return nil, valueError("pinned memory for %d elements: the number is negative or too large", n)
	}
	pinned := &Host[T]{s: s, n: n}
	if n == 0 {
		return pinned, nil
	}
	if err := outside(call, "allocate before it"); err != nil {
		return nil, err
	}
	err = s.with(func(g *guard) error {
		if err := pin(g, pinned); err != nil {
			if pinned.close != nil {
				also(&err, pinned.close(g))
			}
			return err
		}
		s.live[allocations].Add(1)
		s.live[allocated].Add(pinned.bytes())
		h = pinned
		return nil
	})
	return h, err
}

// find asks for the address that kernels use, of mapped memory.
func (h *Host[T]) find(g *guard, flags uintptr) error {
	if flags&driver.HostMapped == 0 {
		return nil
	}
	if err := g.call(driver.MemHostGetDevicePointer, g.out(1), h.address, 0); err != nil {
		return about(err, "%d bytes of host memory on %s", h.bytes(), h.s.device)
	}
	h.device = g.result(1)
	return nil
}

func (h *Host[T]) bytes() int64 {
	var zero T
	return int64(h.n) * int64(unsafe.Sizeof(zero))
}

// gone reports whether the memory was freed.
func (h *Host[T]) gone() bool {
	return h.freed.Load() || h.parent != nil && h.parent.gone()
}

// Len returns the number of elements, 0 for nil.
func (h *Host[T]) Len() int {
	if h == nil {
		return 0
	}
	return h.n
}

// Slice returns the memory as a slice, nil after Free. While an asynchronous copy
// uses it, the program must not.
func (h *Host[T]) Slice() []T {
	if h == nil || h.gone() || h.n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(driver.Pointer(h.address)), h.n)
}

// Part returns a view of n elements from the given one on, for copies with an offset. The view ends
// when h is freed; its own Free does nothing.
func (h *Host[T]) Part(from, n int) (*Host[T], error) {
	if _, err := h.hostPointer(); err != nil {
		return nil, err
	}
	if from < 0 || n < 0 || from > h.n-n {
		return nil, valueError("the part of %d elements from %d on is not inside the pinned memory of %d elements", n, from, h.n)
	}
	part := &Host[T]{s: h.s, address: h.address, device: h.device, n: n, parent: h}
	if n > 0 {
		var zero T
		part.address += uintptr(from) * unsafe.Sizeof(zero)
		if h.device != 0 {
			part.device += uintptr(from) * unsafe.Sizeof(zero)
		}
	}
	return part, nil
}

// Mapped returns the memory as kernels of a device see it, as a view that ends when h is
// freed. They read and write the memory of the host each time. It needs the
// option [HostMapped], unless it is plain memory of [AllocHost].
func (h *Host[T]) Mapped(d Device) (*Memory, error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	address, err := h.devicePointer()
	if err != nil {
		return nil, err
	}
	return &Memory{s: s, address: address, size: h.bytes(), check: func() error { _, err := h.hostPointer(); return err }}, nil
}

// hostPointer returns the address for copies.
func (h *Host[T]) hostPointer() (uintptr, error) {
	switch {
	case h == nil:
		return 0, aHost.none()
	case h.s == nil:
		return 0, aHost.zero()
	case h.gone():
		return 0, valueError("the pinned host memory of %d elements was freed: it must not be used any more", h.n)
	}
	return h.address, nil
}

// devicePointer returns the address for kernels.
func (h *Host[T]) devicePointer() (uintptr, error) {
	if _, err := h.hostPointer(); err != nil {
		return 0, err
	}
	if h.device == 0 && h.n > 0 {
		return 0, valueError("the pinned host memory of %d bytes has no address for kernels: make it with HostMapped", h.bytes())
	}
	return h.device, nil
}

// Free waits for the work of the device that the memory is counted for, and frees it or
// ends its registration, as [Memory.Free] does. Copies of other devices must be done. A
// second call, and a call for a part, does nothing.
func (h *Host[T]) Free() (err error) {
	if h == nil || h.parent != nil || h.freed.Load() {
		return nil
	}
	if h.close == nil {
		h.freed.Store(true)
		return nil
	}
	if err := outside("Free of pinned memory", "free after it; everything that a graph uses must outlive the graph"); err != nil {
		return err
	}
	return h.s.with(func(g *guard) error {
		if h.freed.Swap(true) {
			return nil
		}
		called, err := h.s.gate.whenDone(g, func() error {
			h.s.live[allocations].Add(-1)
			h.s.live[allocated].Add(-h.bytes())
			return h.close(g)
		})
		if !called {
			h.freed.Store(false) // a copy may still use it
		}
		return about(err, "%d bytes of pinned host memory", h.bytes())
	})
}
