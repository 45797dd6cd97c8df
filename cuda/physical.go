package cuda

import (
	"os"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// memProperties is CUmemAllocationProp.
type memProperties struct {
	allocation, handles    int32
	locationType, location int32
	security               uintptr
	compression, rdma      uint8
	usage                  uint16
	_                      [4]byte
}

// PhysicalOption changes new physical memory.
type PhysicalOption func(*memProperties)

// PhysicalForFile makes memory that [Physical.File] can share. Linux alone has it.
func PhysicalForFile() PhysicalOption { return func(p *memProperties) { p.handles |= fileHandle } }

func physicalProperties(d Device, options []PhysicalOption) *memProperties {
	const pinned = 1 // memory that stays where it is, the only kind
	p := &memProperties{allocation: pinned, locationType: onDevice, location: int32(d)}
	for _, o := range options {
		o(p)
	}
	return p
}

// Physical is memory of a device without an address: [Addresses.Map] gives it one.
type Physical struct {
	resource
	size int64
}

// Mappable is what [Addresses.Map] takes: *[Physical] or *[Multicast].
type Mappable interface {
	mapping() (handle uintptr, size int64, err error)
}

func (p *Physical) mapping() (handle uintptr, size int64, err error) {
	if p == nil {
		return 0, 0, aPhysical.none()
	}
	handle, err = p.get(aPhysical)
	return handle, p.size, err
}

// AllocPhysical allocates physical memory. The size is rounded up to a multiple of the
// granularity ([Device.Granularity]). The memory is not cleared. The caller closes it, which may
// be as soon as it is mapped.
func (d Device) AllocPhysical(bytes int64, options ...PhysicalOption) (p *Physical, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if _, err := roundUp(bytes, 1); err != nil {
		return nil, err
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	properties := physicalProperties(d, options)
	least, err := g.granularity(driver.MemGetAllocationGranularity, unsafe.Pointer(properties), 0)
	if err != nil {
		return nil, err
	}
	size, err := roundUp(bytes, least)
	if err != nil {
		return nil, err
	}
	if err := g.callGo(driver.MemCreate, g.out(0), uintptr(size), uintptr(unsafe.Pointer(properties)), 0); err != nil {
		return nil, about(err, "%d bytes of physical memory on %s", size, d)
	}
	p = &Physical{size: size}
	p.open(s, "physical memory of "+d.String(), g.result(0), physical, driver.MemRelease)
	return p, nil
}

// Size returns the number of bytes, a multiple of the granularity.
func (p *Physical) Size() int64 { return p.size }

// Device returns the device of the memory.
func (p *Physical) Device() Device { return p.s.device }

// Close gives up the memory. Where it is mapped it stays until it is unmapped. A second call
// does nothing.
func (p *Physical) Close() error {
	if p == nil {
		return nil
	}
	return p.shut()
}

// File returns the memory as a file for another process, as [Pool.File] does. The memory is
// made with [PhysicalForFile]. The caller closes the file.
func (p *Physical) File() (f *os.File, err error) {
	h, _, err := p.mapping()
	if err != nil {
		return nil, err
	}
	if err := noFiles("the " + p.what); err != nil {
		return nil, err
	}
	g, err := p.s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	return newFile(p.what, func() (uintptr, error) {
		err := g.call(driver.MemExportToShareableHandle, g.out(0), h, fileHandle, 0)
		return uintptr(uint32(g.result(0))), about(err, "the %s: it must be made with cuda.PhysicalForFile()", p.what)
	})
}

// OpenPhysical opens physical memory of another process from its file. bytes is what Size
// returned there. OpenPhysical does not close the file. The caller closes the memory.
func (d Device) OpenPhysical(f *os.File, bytes int64) (p *Physical, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	if f == nil || bytes <= 0 {
		return nil, valueError("physical memory of %d bytes from a file: the file is nil, or the size is not positive", bytes)
	}
	if err := noFiles("physical memory of another process"); err != nil {
		return nil, err
	}
	g, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer g.leave(&err)
	err = withDescriptor(f, func(fd uintptr) error {
		return g.call(driver.MemImportFromShareableHandle, g.out(0), fd, fileHandle)
	})
	if err != nil {
		return nil, about(err, "%d bytes of another process on %s", bytes, d)
	}
	p = &Physical{size: bytes}
	p.open(s, "physical memory of another process on "+d.String(), g.result(0), physical, driver.MemRelease)
	return p, nil
}
