package cuda

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Granularity returns what sizes and offsets of virtual memory on the device are multiples
// of: the least, and the one for the best speed. Both are bytes.
func (d Device) Granularity() (least, best int64, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, 0, err
	}
	g, err := s.enter()
	if err != nil {
		return 0, 0, err
	}
	defer g.leave(&err)
	p := physicalProperties(d, nil)
	if least, err = g.granularity(driver.MemGetAllocationGranularity, unsafe.Pointer(p), 0); err == nil {
		best, err = g.granularity(driver.MemGetAllocationGranularity, unsafe.Pointer(p), 1)
	}
	return least, best, err
}

// granularity reads one granularity. The driver reads the properties during the call.
func (g *guard) granularity(f driver.Func, properties unsafe.Pointer, which uintptr) (int64, error) {
	if err := g.callGo(f, g.out(0), uintptr(properties), which); err != nil {
		return 0, about(err, "the granularity of memory on %s", g.s.device)
	}
	if n := int64(g.result(0)); n > 0 {
		return n, nil
	}
	return 1, nil
}

// roundUp rounds a size up to a granularity.
func roundUp(bytes, granularity int64) (int64, error) {
	if bytes <= 0 || bytes > math.MaxInt64-granularity {
		return 0, valueError("virtual memory of %d bytes: the size is not positive, or too large", bytes)
	}
	return (bytes + granularity - 1) / granularity * granularity, nil
}

// Addresses is a range of addresses of a device, with physical memory mapped into parts of
// it. Memory that grows in place reserves the most it will ever need and maps what it
// needs now. Its methods may be called from any goroutine.
type Addresses struct {
	s       *state
	address uintptr
	size    int64
	least   int64 // the granularity

	// change is held by who changes what follows, also while Unmap waits for devices.
	change  sync.Mutex
	devices []*state // that may use the memory; the first one is s
	// mu comes after change and guards the next two for those who only read them, such as
	// launches, which must not wait for work.
	mu     sync.Mutex
	closed bool
	mapped []mapped // by offset, without gaps of size 0

	access access // the devices but s
}

type mapped struct{ offset, size int64 }

// Reserve reserves a range of addresses, which costs no memory. The size is rounded up to a
// multiple of the granularity ([Device.Granularity]). The caller closes it.
func (d Device) Reserve(bytes int64) (a *Addresses, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	least, _, err := d.Granularity()
	if err != nil {
		return nil, err
	}
	size, err := roundUp(bytes, least)
	if err != nil {
		return nil, err
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	if err := g.call(driver.MemAddressReserve, g.out(0), uintptr(size), 0, 0, 0); err != nil {
		return nil, about(err, "%d bytes of addresses on %s", size, d)
	}
	s.live[reservations].Add(1)
	a = &Addresses{s: s, address: g.result(0), size: size, least: least, devices: []*state{s}}
	a.access.by = "AllowAccess of its addresses"
	return a, nil
}

// Size returns the number of bytes, a multiple of the granularity.
func (a *Addresses) Size() int64 { return a.size }

// open locks a range that is not closed by one of its locks; the caller unlocks it where
// there is no error.
func (a *Addresses) open(lock *sync.Mutex) error {
	lock.Lock()
	if a.closed {
		lock.Unlock()
		return valueError("the range of addresses on %s is closed: it must not be used any more", a.s.device)
	}
	return nil
}

// begin is open for a change.
func (a *Addresses) begin() error {
	if a == nil || a.s == nil {
		return a.none()
	}
	return a.open(&a.change)
}

// none is the error of a range that nobody has reserved.
func (a *Addresses) none() error {
	if a == nil {
		return anAddresses.none()
	}
	return anAddresses.zero()
}

// set replaces the list of what is mapped.
func (a *Addresses) set(list []mapped) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mapped = list
}

// Map maps all of a piece of memory at an offset, and lets the device and those of
// [Addresses.AllowAccess] read and write it. The offset is a multiple of the granularity; nothing is
// mapped there yet.
func (a *Addresses) Map(offset int64, what Mappable) (err error) {
	if what == nil {
		return valueError("the memory to map is nil: pass memory of Device.AllocPhysical or NewMulticast")
	}
	h, size, err := what.mapping()
	if err != nil {
		return err
	}
	if err := a.begin(); err != nil {
		return err
	}
	defer a.change.Unlock()
	if offset < 0 || offset > a.size-size {
		return valueError("memory of %d bytes at %d is not inside the %d bytes of addresses", size, offset, a.size)
	}
	if offset%a.least != 0 {
		return valueError("the offset %d is not a multiple of the granularity of %s, which is %d bytes: see Device.Granularity", offset, a.s.device, a.least)
	}
	at := slices.IndexFunc(a.mapped, func(m mapped) bool { return m.offset+m.size > offset })
	if at < 0 {
		at = len(a.mapped)
	} else if m := a.mapped[at]; m.offset < offset+size {
		return valueError("memory of %d bytes at %d: memory of %d bytes is mapped at %d; unmap it first", size, offset, m.size, m.offset)
	}
	g, err := a.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	if err := g.call(driver.MemMap, a.address+uintptr(offset), uintptr(size), 0, h, 0); err != nil {
		return about(err, "%d bytes at %d of addresses on %s", size, offset, a.s.device)
	}
	if err := a.give(&g, mapped{offset, size}, a.devices); err != nil {
		g.call(driver.MemUnmap, a.address+uintptr(offset), uintptr(size))
		return err
	}
	a.set(slices.Insert(slices.Clone(a.mapped), at, mapped{offset, size}))
	runtime.KeepAlive(what)
	return nil
}

// give lets devices use a mapping.
func (a *Addresses) give(g *guard, m mapped, devices []*state) error {
	const readWrite = 3
	list := make([][3]int32, len(devices)) // CUmemAccessDesc
	for i, s := range devices {
		list[i] = [3]int32{onDevice, int32(s.device), readWrite}
	}
	err := g.callGo(driver.MemSetAccess, a.address+uintptr(m.offset), uintptr(m.size), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)))
	return about(err, "%d bytes at %d of addresses on %s", m.size, m.offset, a.s.device)
}

// AllowAccess lets another device read and write the memory too, what is mapped now and later.
// The devices must be able to reach each other, see [Device.CanAccessPeer].
func (a *Addresses) AllowAccess(other Device) (err error) {
	s, err := stateOf(other)
	if err != nil {
		return err
	}
	if err := a.begin(); err != nil {
		return err
	}
	defer a.change.Unlock()
	if slices.Contains(a.devices, s) {
		return nil
	}
	g, err := a.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	for _, m := range a.mapped {
		if err := a.give(&g, m, []*state{s}); err != nil {
			return in(other.String(), err)
		}
	}
	a.devices = append(a.devices, s)
	a.access.allow(other)
	return nil
}

// Memory returns a part of the addresses as memory of the device. All of it is mapped, by one or
// by several pieces side by side. It ends when a part of it is unmapped; Free of it does
// nothing.
func (a *Addresses) Memory(offset, bytes int64) (*Memory, error) {
	check := func() error { return a.covers(offset, bytes) }
	if err := check(); err != nil {
		return nil, err
	}
	return &Memory{s: a.s, address: a.address + uintptr(offset), size: bytes, check: check, pool: &a.access}, nil
}

// covers reports whether memory is mapped in a range.
func (a *Addresses) covers(offset, bytes int64) error {
	if a == nil || a.s == nil {
		return a.none()
	}
	if err := a.open(&a.mu); err != nil {
		return err
	}
	defer a.mu.Unlock()
	if offset < 0 || bytes < 0 || offset > a.size-bytes {
		return valueError("memory of %d bytes at %d is not inside the %d bytes of addresses", bytes, offset, a.size)
	}
	end := offset
	for _, m := range a.mapped {
		if m.offset <= end && end < m.offset+m.size {
			end = m.offset + m.size
		}
	}
	if end < offset+bytes {
		return valueError("memory of %d bytes at %d of addresses on %s: nothing is mapped at %d", bytes, offset, a.s.device, end)
	}
	return nil
}

// Unmap ends the mapping that begins at an offset. It waits first for the work of the devices
// that may use it. While a stream of one of them is captured, it is an error.
func (a *Addresses) Unmap(offset int64) (err error) {
	if err := a.begin(); err != nil {
		return err
	}
	defer a.endLate(&err)
	defer a.change.Unlock()
	at := slices.IndexFunc(a.mapped, func(m mapped) bool { return m.offset == offset })
	if at < 0 {
		return valueError("no mapping begins at %d of the addresses on %s", offset, a.s.device)
	}
	return a.unmap(at)
}

// unmap waits and ends one mapping.
func (a *Addresses) unmap(at int) (err error) {
	var lost error // which does not keep the mapping
	if err := outside("Unmap or Close of addresses", "unmap after it; what the work of a graph uses must live as long as the graph"); err != nil {
		return err
	}
	m, before := a.mapped[at], a.mapped
	a.set(slices.Delete(slices.Clone(before), at, at+1)) // its memory ends now
	defer func() {
		if err != nil && err != lost {
			a.set(before)
		}
	}()
	if lost, err = settle(a.devices); err != nil {
		return err
	}
	if err := a.s.do(driver.MemUnmap, a.address+uintptr(m.offset), uintptr(m.size)); err != nil {
		return about(err, "%d bytes at %d of addresses on %s", m.size, m.offset, a.s.device)
	}
	return lost
}

// endLate frees what was freed during captures, when the lock of the addresses is not held.
func (a *Addresses) endLate(err *error) {
	a.change.Lock()
	devices := slices.Clone(a.devices)
	a.change.Unlock()
	for _, s := range devices {
		also(err, s.endLate())
	}
}

// settle waits for all work of devices. No work runs on a device that is lost, whose error
// comes apart; after another error it is not safe to take memory away.
func settle(devices []*state) (lost, err error) {
	for _, s := range devices {
		err := s.settle()
		if e, ok := err.(*Error); ok && e.Sticky() {
			lost = cmp.Or(lost, err)
		} else if err != nil {
			return nil, err
		}
	}
	return lost, nil
}

func (s *state) settle() (err error) {
	g, err := s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	return about(g.wait(), "%s", s.device)
}

// Close unmaps what is mapped, as [Addresses.Unmap] does, and gives up the addresses. A
// second call does nothing. Where unmapping fails, it can be called again.
func (a *Addresses) Close() (err error) {
	if a == nil || a.s == nil {
		return nil
	}
	a.change.Lock()
	if a.closed {
		a.change.Unlock()
		return nil
	}
	defer a.endLate(&err)
	defer a.change.Unlock()
	var first error
	for n := len(a.mapped); n > 0; n = len(a.mapped) {
		err := a.unmap(n - 1)
		if len(a.mapped) == n {
			return err
		}
		if first == nil {
			first = err
		}
	}
	if err := a.s.do(driver.MemAddressFree, a.address, uintptr(a.size)); err != nil {
		return about(err, "%d bytes of addresses on %s", a.size, a.s.device)
	}
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.s.live[reservations].Add(-1)
	return first
}
