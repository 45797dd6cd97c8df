package cuda

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// MaxActiveBlocks returns how many blocks of the kernel can run at a time on one
// multiprocessor, with so many threads and so much dynamic shared memory (bytes)
// per block.
func (k *Kernel) MaxActiveBlocks(threads, shared int) (n int, err error) {
	if err := k.usable(); err != nil {
		return 0, err
	}
	if threads <= 0 || threads > math.MaxInt32 || shared < 0 {
		return 0, valueError("occupancy of the kernel %q: %d threads and %d bytes of shared memory per block are out of range", k.name, threads, shared)
	}
	err = k.m.s.with(func(g *guard) error {
		if err := g.call(driver.OccupancyMaxActiveBlocksPerMultiprocessor, g.out(0), k.handle, uintptr(threads), uintptr(shared)); err != nil {
			return about(err, "the kernel %q", k.name)
		}
		n = int(int32(g.result(0)))
		return nil
	})
	return n, err
}

// MaxActiveClusters returns how many clusters of a launch can run at a time on the
// device: 0 if the cluster of c is too large for it. The stream of c does not matter.
func (k *Kernel) MaxActiveClusters(c LaunchConfig) (n int, err error) {
	if err := k.usable(); err != nil {
		return 0, err
	}
	if err := k.check(&c); err != nil {
		return 0, err
	}
	if c.Cluster.none() {
		return 0, valueError("occupancy of the kernel %q: the launch has no clusters: set Cluster", k.name)
	}
	err = k.m.s.with(func(g *guard) error {
		if err := k.reserve(c.Shared); err != nil {
			return err
		}
		l := launches.Get().(*launch)
		defer launches.Put(l)
		l.extend(&c, 0)
		err := g.call(driver.OccupancyMaxActiveClusters, g.out(0), k.handle, uintptr(unsafe.Pointer(&l.config)))
		runtime.KeepAlive(l)
		if err != nil {
			return about(err, "the kernel %q", k.name)
		}
		n = int(int32(g.result(0)))
		return nil
	})
	return n, err
}

// SuggestBlock returns the number of threads per block that keeps the device
// busiest with so much dynamic shared memory (bytes) per block, and the least
// number of blocks for that. limit is the most threads per block that the kernel
// is written for, 0 for any.
func (k *Kernel) SuggestBlock(shared, limit int) (threads, blocks int, err error) {
	if err := k.usable(); err != nil {
		return 0, 0, err
	}
	if shared < 0 || limit < 0 || limit > math.MaxInt32 {
		return 0, 0, valueError("occupancy of the kernel %q: %d bytes of shared memory and at most %d threads are out of range", k.name, shared, limit)
	}
	err = k.m.s.with(func(g *guard) error {
		if err := g.call(driver.OccupancyMaxPotentialBlockSize, g.out(0), g.out(1), k.handle, 0, uintptr(shared), uintptr(limit)); err != nil {
			return about(err, "the kernel %q", k.name)
		}
		threads, blocks = int(int32(g.result(1))), int(int32(g.result(0)))
		return nil
	})
	return threads, blocks, err
}
