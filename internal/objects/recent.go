package objects

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// A cleanup costs more than everything else in the life of a wrapper, and most wrappers
// are released soon after they are made. So a new wrapper has no cleanup. It lies in a
// ring, which keeps it reachable, and gets its cleanup when other wrappers push it out or
// after the next collection. A wrapper that is released before that never has a cleanup.
//
// The price: the second collection finds a wrapper that the program did not release, not
// the first. At most recentShards*recentSlots wrappers wait in this way. Tensors whose
// memory is counted do not go through the ring.
const (
	recentShards = 32
	recentSlots  = 64
)

var recent struct {
	// watched says that a cleanup waits for the next collection.
	watched atomic.Bool
	// guarding is held while the rings are emptied.
	guarding sync.Mutex
	// shards are rings, each for the goroutines whose stacks hash to it.
	shards [recentShards][recentSlots]atomic.Pointer[Object]
}

// postpone puts a new wrapper into a ring. The collector gives out memory in order of
// addresses, so the address of the wrapper is its turn.
func postpone(o *Object) {
	if ccall.Liveness {
		o.guard()
		return
	}
	if !recent.watched.Load() {
		watch()
	}
	var here byte // its address tells goroutines apart; it is not used after that
	shard := uint32(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B1 >> 27
	slot := uintptr(unsafe.Pointer(o)) >> 4
	if old := recent.shards[shard%recentShards][slot%recentSlots].Swap(o); old != nil && old.load()&stateMask == stateFresh {
		old.guard()
	}
}

// watch makes the next collection empty the rings.
func watch() {
	if !recent.watched.Load() && recent.watched.CompareAndSwap(false, true) {
		// It has a pointer, as a small block without one would share its memory.
		runtime.AddCleanup(&struct{ _ *int }{}, func(struct{}) { GuardRecent() }, struct{}{})
	}
}

// GuardRecent adds the cleanups to the wrappers in the rings. It drops the memory that waits
// for Arrays. The next collection then finds everything that is unreachable. Tests call it
// before a collection.
func GuardRecent() {
	recent.guarding.Lock()
	defer recent.guarding.Unlock()
	recent.watched.Store(false)
	freeBlocks()
	for i := range recent.shards {
		for j := range recent.shards[i] {
			if o := recent.shards[i][j].Swap(nil); o != nil {
				o.guard()
			}
		}
	}
}
