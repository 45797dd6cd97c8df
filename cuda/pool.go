package cuda

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Pool is a memory pool of a device, which [Pool.Alloc] takes from without asking the
// system each time. [Device.AllocAsync] uses the default pool.
type Pool struct {
	resource
	borrowed bool
	address  uintptr // of the default pool
	access   *access // which devices may use its memory
}

// PoolAttribute is a number of CUmemPool_attribute.
type PoolAttribute int32

// The attributes of pools. The first three are 0 or 1, the others numbers of bytes. PoolReserved
// and PoolUsed cannot be set, PoolReservedHigh and PoolUsedHigh only to 0.
const (
	// PoolReuseFollowEvents lets memory that one stream has freed be used by another
	// that waits for it by an event. It is on by default, like the next two.
	PoolReuseFollowEvents PoolAttribute = 1
	// PoolReuseOpportunistic lets memory be used again as soon as the driver sees that
	// the work before is done.
	PoolReuseOpportunistic PoolAttribute = 2
	// PoolReuseInternal lets the driver make a stream wait for another one to use
	// its memory again.
	PoolReuseInternal PoolAttribute = 3
	// PoolReleaseThreshold is how many bytes the pool keeps when a stream is
	// synchronised. It is 0 at first.
	PoolReleaseThreshold PoolAttribute = 4
	PoolReserved         PoolAttribute = 5 // bytes that the pool has taken from the system
	PoolReservedHigh     PoolAttribute = 6 // the most that it had
	PoolUsed             PoolAttribute = 7 // bytes of allocations now
	PoolUsedHigh         PoolAttribute = 8 // the most that were
)

// poolProperties describes a new pool to the driver.
type poolProperties struct {
	driver.PoolProperties
	limit int64
}

// PoolOption changes a new pool.
type PoolOption func(*poolProperties)

// PoolMaxSize limits a pool, in bytes; without it, or with 0, the system determines the limit.
// Drivers of CUDA 11 refuse it.
func PoolMaxSize(bytes int64) PoolOption {
	return func(p *poolProperties) { p.limit = bytes }
}

// NewPool makes a memory pool on a device. The caller closes it.
func (d Device) NewPool(options ...PoolOption) (p *Pool, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	properties := &poolProperties{PoolProperties: driver.PoolProperties{Allocation: driver.AllocationPinned, LocationType: driver.LocationDevice, Location: int32(d)}}
	for _, o := range options {
		o(properties)
	}
	if properties.limit < 0 {
		return nil, valueError("a memory pool on %s: the limit of %d bytes is negative: pass 0 for none", d, properties.limit)
	}
	properties.MaxSize = uint64(properties.limit)
	err = s.with(func(g *guard) error {
		if err := g.callGo(driver.MemPoolCreate, g.out(0), uintptr(unsafe.Pointer(properties))); err != nil {
			return about(err, "a memory pool on %s", d)
		}
		p = &Pool{access: new(access)}
		p.open(s, "memory pool of "+d.String(), g.result(0), pools, driver.MemPoolDestroy)
		return nil
	})
	return p, err
}

// DefaultPool returns the pool that [Device.AllocAsync] takes from, which the whole
// process shares and which needs no closing.
func (d Device) DefaultPool() (p *Pool, err error) {
	s, err := stateOf(d)
	if err != nil {
		return nil, err
	}
	err = s.with(func(g *guard) error {
		if err := g.call(driver.DeviceGetDefaultMemPool, g.out(0), s.handle); err != nil {
			return about(err, "%s", d)
		}
		p = &Pool{borrowed: true, address: g.result(0), access: &s.peers.defaultPool}
		p.s, p.what = s, "default memory pool of "+d.String()
		return nil
	})
	return p, err
}

func (p *Pool) get() (uintptr, error) {
	switch {
	case p == nil:
		return 0, aPool.none()
	case p.borrowed:
		return p.address, nil
	}
	return p.resource.get(aPool)
}

// on calls the driver with the pool as first argument.
func (p *Pool) on(f driver.Func, second, third uintptr) error {
	h, err := p.get()
	if err != nil {
		return err
	}
	return about(p.s.do(f, h, second, third), "the %s", p.what)
}

// Device returns the device of the pool.
func (p *Pool) Device() Device { return p.s.device }

// Alloc allocates memory from the pool in the order of a stream, like
// [Device.AllocAsync].
func (p *Pool) Alloc(bytes int64, stream *Stream) (m *Memory, err error) {
	h, err := p.get()
	if err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return p.s.none(bytes)
	}
	if err := ordered("Pool.Alloc", "allocate before it"); err != nil {
		return nil, err
	}
	err = p.s.onStream(stream, func(g *guard, on uintptr) error {
		ordered, err := p.s.ordered(g, on, bytes, driver.MemAllocFromPoolAsync, g.out(0), uintptr(bytes), h, on)
		if err != nil {
			return about(err, "%d bytes of the %s", bytes, p.what)
		}
		m, ordered.pool = ordered, p.access
		return nil
	})
	return m, err
}

// Attribute reads an attribute of the pool.
func (p *Pool) Attribute(a PoolAttribute) (v int64, err error) {
	h, err := p.get()
	if err != nil {
		return 0, err
	}
	err = p.s.with(func(g *guard) error {
		// The switches are of 4 bytes, the others of 8.
		out := new(uint64)
		if err := g.callGo(driver.MemPoolGetAttribute, h, uintptr(a), uintptr(unsafe.Pointer(out))); err != nil {
			return about(err, "attribute %d of the %s", a, p.what)
		}
		v = int64(*out)
		return nil
	})
	return v, err
}

// SetAttribute changes an attribute of the pool.
func (p *Pool) SetAttribute(a PoolAttribute, value int64) (err error) {
	h, err := p.get()
	if err != nil {
		return err
	}
	if value < 0 {
		return valueError("attribute %d of the %s: %d is negative: set 0 or more", a, p.what, value)
	}
	return p.s.with(func(g *guard) error {
		in := new(uint64)
		*in = uint64(value)
		if err := g.callGo(driver.MemPoolSetAttribute, h, uintptr(a), uintptr(unsafe.Pointer(in))); err != nil {
			return about(err, "attribute %d of the %s", a, p.what)
		}
		return nil
	})
}

// Trim returns unused memory of the pool to the system, until no more than the given
// number of bytes is left.
func (p *Pool) Trim(keep int64) error { return p.on(driver.MemPoolTrimTo, uintptr(max(keep, 0)), 0) }

// AllowAccess lets kernels on another device use the memory of the pool, that of earlier
// allocations too. [Device.EnablePeerAccess] does not: the driver keeps the two apart.
// Launches on the other device accept the memory from then on.
func (p *Pool) AllowAccess(other Device) (err error) {
	h, err := p.get()
	if err != nil {
		return err
	}
	o, err := stateOf(other)
	if err != nil {
		return err
	}
	return p.s.with(func(g *guard) error {
		access := &driver.MemoryAccess{LocationType: driver.LocationDevice, Location: int32(other), Flags: driver.AccessReadWrite}
		if err := g.callGo(driver.MemPoolSetAccess, h, uintptr(unsafe.Pointer(access)), 1); err != nil {
			return about(err, "%s and the %s", other, p.what)
		}
		p.access.allow(other)
		o.peers.pools.allow(p.s.device)
		return nil
	})
}

// Close destroys the pool. Memory that was taken from it stays until it is freed. A
// second call, and a call for a default pool, does nothing.
func (p *Pool) Close() error {
	if p == nil || p.borrowed {
		return nil
	}
	return p.shut()
}
