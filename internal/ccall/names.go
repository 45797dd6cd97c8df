package ccall

import (
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// called is a Function object with a name, for reports of faults. safeCall is its C function.
type called struct {
	handle, safeCall uintptr
	name             *string
}

// names has the functions that were found by name. A table that is full of names forgets one for each new one.
var (
	names     [1 << namesBits]called
	namesLock sync.Mutex
	namesNext int
)

const (
	namesBits = 11
	namesHash = 0x9E3779B97F4A7C15
	namesNear = 16 // places in which a name may be
)

// namesAt is the first place of a handle.
//
//go:nosplit
//go:norace
//go:nocheckptr
func namesAt(handle uintptr) uint64 { return uint64(handle) >> 4 * namesHash >> (64 - namesBits) }

// Named records the name under which a Function object was found, for reports of faults. The function may end: then another
// one at its address has another C function, or the next name, or, if neither, this name by mistake.
func Named(handle uintptr, name string) {
	safeCall := *(*uintptr)(pointer(handle + safeCallAt))
	namesLock.Lock()
	defer namesLock.Unlock()
	var free *called
	for i := range uint64(namesNear) {
		c := &names[(namesAt(handle)+i)%(1<<namesBits)]
		if c.handle == handle {
			if *c.name != name || c.safeCall != safeCall {
				c.rename(handle, safeCall, name)
			}
			return
		}
		if free == nil && c.handle == 0 {
			free = c
		}
	}
	if free == nil {
		namesNext++
		free = &names[(namesAt(handle)+uint64(namesNext%namesNear))%(1<<namesBits)]
	}
	free.rename(handle, safeCall, name)
}

// rename changes an entry, which a fault on another thread may read meanwhile.
func (c *called) rename(handle, safeCall uintptr, name string) {
	name = strings.Clone(name)
	atomic.StoreUintptr(&c.handle, 0)
	atomic.StoreUintptr(&c.safeCall, safeCall)
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&c.name)), unsafe.Pointer(&name))
	atomic.StoreUintptr(&c.handle, handle)
}

// safeCallAt is where a Function object has its C function.
const safeCallAt = abi.ObjectSize + unsafe.Offsetof(abi.FunctionCell{}.SafeCall)

// nameOf is what is known of a Function object, or nil. It is for a handler of faults.
//
//go:nosplit
//go:norace
//go:nocheckptr
func nameOf(handle uintptr) *called {
	for i := uint64(0); i < namesNear; i++ {
		c := &names[(namesAt(handle)+i)&(1<<namesBits-1)]
		if c.handle == handle && handle != 0 {
			return c
		}
	}
	return nil
}
