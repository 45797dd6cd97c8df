package cuda

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// multicastProperties is CUmulticastObjectProp.
type multicastProperties struct {
	devices uint32
	size    uint64
	handles uint64
	flags   uint64
}

// Multicast is memory of several devices under one address: a kernel that writes there
// writes on each of them, and the switch between them can add up what it reads. It needs
// devices that NVSwitch connects; others refuse it (the attribute MulticastSupported).
type Multicast struct {
	resource
	size    int64
	least   int64 // granularity
	devices []*state
}

// MulticastGranularity returns what sizes and offsets of multicast memory of a number
// of devices are multiples of: the least, and the one for the best speed. Both are bytes.
func (d Device) MulticastGranularity(devices int) (least, best int64, err error) {
	s, err := stateOf(d)
	if err != nil {
		return 0, 0, err
	}
	if devices < 1 {
		return 0, 0, valueError("multicast memory of %d devices: the number is not positive", devices)
	}
	g, err := s.enter()
	if err != nil {
		return 0, 0, err
	}
	defer g.leave(&err)
	p := &multicastProperties{devices: uint32(devices), size: 1}
	if least, err = g.granularity(driver.MulticastGetGranularity, unsafe.Pointer(p), 0); err == nil {
		best, err = g.granularity(driver.MulticastGetGranularity, unsafe.Pointer(p), 1)
	}
	return least, best, err
}

// NewMulticast makes multicast memory of some devices. The size is rounded up to a multiple of
// the granularity ([Device.MulticastGranularity]). It has no memory of its own yet: see
// [Multicast.Bind]. All devices are given here because the driver blocks a Bind or a Map until
// the last one is added. The caller closes it.
func NewMulticast(bytes int64, devices ...Device) (m *Multicast, err error) {
	if len(devices) == 0 {
		return nil, valueError("multicast memory without devices: pass at least one")
	}
	states := make([]*state, len(devices))
	for i, d := range devices {
		if states[i], err = stateOf(d); err != nil {
			return nil, err
		}
		if slices.Contains(devices[:i], d) {
			return nil, valueError("multicast memory: %s is given twice", d)
		}
	}
	if _, err := roundUp(bytes, 1); err != nil {
		return nil, err
	}
	g, err := states[0].enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	p := &multicastProperties{devices: uint32(len(devices)), size: uint64(bytes)}
	least, err := g.granularity(driver.MulticastGetGranularity, unsafe.Pointer(p), 0)
	if err != nil {
		return nil, err
	}
	size, err := roundUp(bytes, least)
	if err != nil {
		return nil, err
	}
	p.size = uint64(size)
	if err := g.callGo(driver.MulticastCreate, g.out(0), uintptr(unsafe.Pointer(p))); err != nil {
		return nil, about(err, "%d bytes of multicast memory on %d devices", size, len(devices))
	}
	h := g.result(0)
	for _, s := range states {
		if err := g.call(driver.MulticastAddDevice, h, s.handle); err != nil {
			g.call(driver.MemRelease, h)
			return nil, about(err, "%s in multicast memory of %d devices", s.device, len(devices))
		}
	}
	m = &Multicast{size: size, least: least, devices: states}
	m.open(states[0], "multicast memory", h, multicasts, driver.MemRelease)
	return m, nil
}

func (m *Multicast) mapping() (handle uintptr, size int64, err error) {
	if m == nil {
		return 0, 0, aMulticast.none()
	}
	handle, err = m.get(aMulticast)
	return handle, m.size, err
}

// Size returns the number of bytes on each device, a multiple of the granularity.
func (m *Multicast) Size() int64 { return m.size }

// part checks a range of the memory, on a device.
func (m *Multicast) part(d Device, offset, bytes int64) (handle uintptr, s *state, err error) {
	if handle, _, err = m.mapping(); err != nil {
		return 0, nil, err
	}
	if s, err = stateOf(d); err != nil {
		return 0, nil, err
	}
	switch {
	case !slices.Contains(m.devices, s):
		return 0, nil, valueError("%s is not a device of the multicast memory: name it in NewMulticast", d)
	case offset < 0 || bytes <= 0 || offset > m.size-bytes:
		return 0, nil, valueError("%d bytes at %d are not inside the multicast memory of %d bytes", bytes, offset, m.size)
	case offset%m.least != 0 || bytes%m.least != 0:
		return 0, nil, valueError("%d bytes at %d of multicast memory: both must be multiples of %d", bytes, offset, m.least)
	}
	return handle, s, nil
}

// Bind backs a part of the multicast memory, on the device of p, with memory of p: bytes at
// offset with as many at from. Both offsets and the size are multiples of the granularity. The
// caller may close p after that.
func (m *Multicast) Bind(offset int64, p *Physical, from, bytes int64) error {
	memory, size, err := p.mapping()
	if err != nil {
		return err
	}
	h, s, err := m.part(p.s.device, offset, bytes)
	if err != nil {
		return err
	}
	if from < 0 || from%m.least != 0 || from > size-bytes {
		return valueError("%d bytes at %d are not inside the physical memory of %d bytes, or not at a multiple of %d", bytes, from, size, m.least)
	}
	return about(s.do(driver.MulticastBindMem, h, uintptr(offset), memory, uintptr(from), uintptr(bytes), 0), "%d bytes at %d of multicast memory on %s", bytes, offset, s.device)
}

// Unbind undoes one Bind, whose offset and size it takes. It waits first for the work of all the
// devices. While a stream of one of them is captured, it is an error.
func (m *Multicast) Unbind(d Device, offset, bytes int64) (err error) {
	h, s, err := m.part(d, offset, bytes)
	if err != nil {
		return err
	}
	if err := outside("Unbind", "unbind after it"); err != nil {
		return err
	}
	defer func() {
		for _, s := range m.devices {
			also(&err, s.endLate())
		}
	}()
	lost, err := settle(m.devices)
	if err != nil {
		return err
	}
	err = about(s.do(driver.MulticastUnbind, h, s.handle, uintptr(offset), uintptr(bytes)), "%d bytes at %d of multicast memory on %s", bytes, offset, d)
	return cmp.Or(err, lost)
}

// Close gives up the memory. Where it is mapped it stays until it is unmapped. A second call
// does nothing.
func (m *Multicast) Close() error {
	if m == nil {
		return nil
	}
	return m.shut()
}
