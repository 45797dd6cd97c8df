package objects

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// peers finds the node that stands for a Go pointer. An entry is there from the moment when
// the node is made until its slot is cleared, which is before the node is used again. While
// a reference to the node exists, its slot keeps the Go value alive, so no other value has
// its address. An entry without references belongs to a node that native code has released:
// it must not be used, and the value may be gone.
var peers struct {
	mu sync.Mutex
	of map[peer]uintptr
	// closed has the closed values that Go still refers to, also when no object stands for
	// them any more.
	closed map[peer]isSame
	// watched says that a cleanup waits for the next collection.
	watched atomic.Bool
}

// peer is a pointer with its type, as numbers, which keep nothing alive.
type peer struct{ kind, data uintptr }

// isSame reports whether a pointer is the one for which the func was made, and does not point
// to a later value at the same address.
type isSame func(p unsafe.Pointer) bool

// isPeer marks the slot of a node that peers may list.
var isPeer = new(held)

func peerOf(kind, data unsafe.Pointer) peer { return peer{uintptr(kind), uintptr(data)} }

// PeerNode returns a new reference to the object of the given type that stands for a Go
// pointer: the one that others have, or a new object. Its Go value ends when the last
// reference has ended and nothing in Go refers to it. value holds a pointer that is not nil,
// and always has the same index.
func PeerNode(index abi.TypeIndex, value any) uintptr {
	w := (*words)(unsafe.Pointer(&value)) // sound as in setValue
	key := peerOf(w.kind, w.data)
	peers.mu.Lock()
	n := livePeer(key)
	peers.mu.Unlock()
	if n != 0 {
		runtime.KeepAlive(value)
		return n
	}
	n = freeNode()
	s := slotOf(n)
	s.Store(isPeer)
	s.setValue(value)
	*capi.PointerTo[abi.Object](n) = abi.Object{RefCounts: oneReference, TypeIndex: index, Deleter: ccall.ReleaseObject()}
	state := peerState(n)
	*state = 0
	peers.mu.Lock()
	if same := peers.closed[key]; same != nil && same(w.data) {
		*state = 1
	}
	other := livePeer(key)
	if other == 0 {
		if peers.of == nil {
			peers.of = map[peer]uintptr{}
		}
		peers.of[key] = n
	}
	peers.mu.Unlock()
	watchPeers()
	if other != 0 { // another goroutine was faster
		endNode(n)
		return other
	}
	return n
}

// livePeer returns a new reference to the node of a pointer, 0 if there is none. peers.mu is
// held.
func livePeer(key peer) uintptr {
	n := peers.of[key]
	if n == 0 {
		return 0
	}
	counts := &capi.PointerTo[abi.Object](n).RefCounts // the memory of nodes is never freed
	for {
		v := atomic.LoadUint64(counts)
		if uint32(v) == 0 {
			return 0
		}
		if atomic.CompareAndSwapUint64(counts, v, v+1) {
			return n
		}
	}
}

// dropPeer removes the entry of a slot that is about to be cleared.
func dropPeer(s *slot) {
	key := peerOf(atomic.LoadPointer(&s.kind), atomic.LoadPointer(&s.data))
	peers.mu.Lock()
	if n := peers.of[key]; n != 0 && slotOf(n) == s {
		delete(peers.of, key)
	}
	peers.mu.Unlock()
}

// LivePeers counts the pointers that have an object.
func LivePeers() int {
	Drain()
	peers.mu.Lock()
	defer peers.mu.Unlock()
	return len(peers.of)
}

// ClosedPeers counts the closed values that Go still refers to.
func ClosedPeers() int {
	peers.mu.Lock()
	defer peers.mu.Unlock()
	return len(peers.closed)
}

// PeerOf returns the Go pointer that an object of PeerNode stands for. The caller holds a
// reference.
func PeerOf(handle uintptr) unsafe.Pointer { return atomic.LoadPointer(&slotOf(handle).data) }

// PeerAs returns the pointer that a borrowed value stands for, nil if it is not a *T, and whether ClosePeer has
// closed it, whatever it is.
func PeerAs[T any](v *abi.Any) (x *T, closed bool) {
	var none any = x
	if !isPeerNode(v) {
		return nil, false
	}
	s := slotOf(uintptr(v.Bits))
	// The first word of an interface value is its type, as in words.
	if atomic.LoadPointer(&s.kind) == (*words)(unsafe.Pointer(&none)).kind {
		x = (*T)(atomic.LoadPointer(&s.data))
	}
	return x, atomic.LoadUint32(peerState(uintptr(v.Bits))) != 0
}

// peerState is where a node has its state: 1 if it is closed.
func peerState(handle uintptr) *uint32 {
	return (*uint32)(unsafe.Pointer(&capi.PointerTo[node](handle).dims[0]))
}

// isPeerNode reports whether a borrowed value is an object of PeerNode. Nodes are known by
// their deleter, and those for pointers by the mark in their slot.
func isPeerNode(v *abi.Any) bool {
	return v.TypeIndex.IsObject() && v.Bits != 0 && capi.PointerTo[abi.Object](uintptr(v.Bits)).Deleter == ccall.ReleaseObject() &&
		slotOf(uintptr(v.Bits)).Load() == isPeer
}

// ClosePeer closes a borrowed object of PeerNode, and its Go value for later objects that
// stand for it. It reports whether it was open.
func ClosePeer(v *abi.Any) bool {
	if !isPeerNode(v) || !atomic.CompareAndSwapUint32(peerState(uintptr(v.Bits)), 0, 1) {
		return false
	}
	s := slotOf(uintptr(v.Bits))
	p := (*byte)(atomic.LoadPointer(&s.data)) // of which the address alone is used
	key := peerOf(atomic.LoadPointer(&s.kind), unsafe.Pointer(p))
	w := weak.Make(p)
	same := isSame(func(other unsafe.Pointer) bool { return w.Value() == (*byte)(other) })
	peers.mu.Lock()
	if peers.closed == nil {
		peers.closed = map[peer]isSame{}
	}
	peers.closed[key] = same
	peers.mu.Unlock()
	runtime.AddCleanup(p, func(key peer) {
		peers.mu.Lock()
		defer peers.mu.Unlock()
		// A later value at this address may have been closed meanwhile.
		if same := peers.closed[key]; same != nil && same(nil) {
			delete(peers.closed, key)
		}
	}, key)
	return true
}

// watchPeers makes each collection drop the values of the objects that native code has
// released. Otherwise they would stay until Go makes the next node, perhaps forever.
func watchPeers() {
	if !peers.watched.Load() && peers.watched.CompareAndSwap(false, true) {
		// It has a pointer, as a small block without one would share its memory.
		runtime.AddCleanup(&struct{ _ *int }{}, func(struct{}) {
			Drain()
			peers.watched.Store(false)
			peers.mu.Lock()
			left := len(peers.of)
			peers.mu.Unlock()
			if left > 0 {
				watchPeers()
			}
		}, struct{}{})
	}
}
