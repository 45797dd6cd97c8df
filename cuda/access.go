package cuda

import (
	"sync/atomic"
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
