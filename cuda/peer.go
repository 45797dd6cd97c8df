package cuda

import (
	"cmp"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/cuda/internal/packed"
)

// access is a set of devices. Beyond 64 devices it remembers nothing.
type access struct {
	bits atomic.Uint64
	by   string // what lets a device in, "" for AllowAccess of a pool
}

func (a *access) allow(d Device) {
	if d < 64 {
		a.bits.Or(1 << uint(d))
	}
}

func (a *access) has(d Device) bool { return uint(d) < 64 && a.bits.Load()>>uint(d)&1 != 0 }

// peers is what a device and others may use of each other's memory.
type peers struct {
	memory      access // the devices whose memory this one may use, apart from that of pools
	pools       access // the devices of which it may use the memory of a pool
	defaultPool access // the devices that may use the memory of this one's default pool
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

// reaches reports whether kernels on the device may use memory of another one whose
// origin is not known: such as that of a tensor. The program must know which pool
// it is from.
func (s *state) reaches(d Device) bool { return s.peers.memory.has(d) || s.peers.pools.has(d) }

// forgetPeers forgets the access that ends with the context of the device, and what it
// knows of pools for tensors; the default pool and its access stay.
func (s *state) forgetPeers() {
	states, _ := start()
	for _, o := range states {
		for _, a := range []*access{&o.peers.memory, &o.peers.pools} {
			if o == s {
				a.bits.Store(0)
			} else if s.device < 64 {
				a.bits.And(^(1 << uint(s.device)))
			}
		}
	}
}

func init() {
	packed.Reaches = func(device, memory int32) bool {
		s, err := stateOf(Device(device))
		return err == nil && s.reaches(Device(memory))
	}
}
