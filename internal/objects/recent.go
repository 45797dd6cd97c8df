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

// recentShard is used by the goroutines whose stacks hash to it.
type recentShard struct {
	mu    sync.Mutex
	next  uint32
	slots [recentSlots]recentWrapper
	_     [64]byte // the next shard is of another cache line
}

// recentWrapper has a copy of the handle, because the owner may write the handle of the
// wrapper at any time.
type recentWrapper struct {
	object *Object
	handle uintptr
}

var recent struct {
	// watched says that a cleanup waits for the next collection.
	watched atomic.Bool
	// guarding is held while the rings are emptied.
	guarding sync.Mutex
	shards   [recentShards]recentShard
}

// postpone puts a new wrapper into a ring.
func postpone(o *Object) {
	if ccall.Liveness {
		o.guard(o.handle)
		return
	}
	watch()
	var here byte // its address tells goroutines apart; it is not used after that
	shard := uint32(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B1 >> 27
	const tries = 3
	for range tries {
		s := &recent.shards[shard%recentShards]
		if s.mu.TryLock() {
			i := s.next % recentSlots
			s.next++
			old := s.slots[i]
			s.slots[i] = recentWrapper{o, o.handle}
			s.mu.Unlock()
			if old.object != nil {
				old.object.guard(old.handle)
			}
			return
		}
		shard++
	}
	o.guard(o.handle)
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
		s := &recent.shards[i]
		s.mu.Lock()
		slots := s.slots
		s.slots = [recentSlots]recentWrapper{}
		s.mu.Unlock()
		for _, w := range slots {
			if w.object != nil {
				w.object.guard(w.handle)
			}
		}
	}
}
