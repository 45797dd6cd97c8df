package objects

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// newCallNode makes a node that keeps a closure, which origin made. about describes the
// function.
func newCallNode(call unsafe.Pointer, origin uintptr, about any) uintptr {
	var h *held
	if about != nil {
		h = &held{about: about}
	}
	n := newNode(h, words{*(*unsafe.Pointer)(unsafe.Pointer(&origin)), call})
	capi.PointerTo[node](n).Call = uintptr(call)
	return n
}

// NewFunctionNode makes a Function that calls a closure.
func NewFunctionNode(call unsafe.Pointer, origin uintptr, about any) uintptr {
	n := newCallNode(call, origin, about)
	*capi.PointerTo[functionObject](n) = functionObject{
		abi.Object{RefCounts: oneReference, TypeIndex: abi.TypeFunction, Deleter: ccall.ReleaseObject()},
		abi.FunctionCell{SafeCall: ccall.Callback()},
	}
	return n
}

// NewLastingNode is newCallNode for an export, which is never released.
func NewLastingNode(call unsafe.Pointer, origin uintptr, about any) uintptr {
	n := newCallNode(call, origin, about)
	slots.mu.Lock()
	slots.kept++
	slots.mu.Unlock()
	return n
}

// OriginOfNode returns the origin that was given to newCallNode, 0 if the node no longer
// keeps call.
func OriginOfNode(handle, call uintptr) uintptr {
	s := slotOf(handle)
	origin := atomic.LoadPointer(&s.kind)
	if uintptr(atomic.LoadPointer(&s.data)) != call { // read last: what was read before it is older
		return 0
	}
	return uintptr(origin)
}

// AboutNode returns what was given to newCallNode about the function, nil if the node no
// longer keeps call.
func AboutNode(handle, call uintptr) any {
	s := slotOf(handle)
	if h := s.Load(); h != nil && uintptr(atomic.LoadPointer(&s.data)) == call {
		return h.about
	}
	return nil
}

// NewValueNode makes an object of a type that has nothing but a Go value.
func NewValueNode(index abi.TypeIndex, value any) uintptr {
	n := freeNode()
	slotOf(n).setValue(value)
	*capi.PointerTo[abi.Object](n) = abi.Object{RefCounts: oneReference, TypeIndex: index, Deleter: ccall.ReleaseObject()}
	return n
}

// ValueOfNode is the value given to newValueNode.
func ValueOfNode(handle uintptr) any { return slotOf(handle).value() }

const _ = unsafe.Offsetof(node{}.Next) - unsafe.Sizeof(functionObject{})

// node is the block in C memory behind a Go value that native code holds: a
// Function, a Tensor or an object of the type go.Value, or the handle of a DLPack
// tensor. Its deleter is ccall.ReleaseObject, so a node that native code
// has released waits on a list and enters Go only when Drain takes it.
type node struct {
	ccall.Released
	slot uintptr            // the address of its slot, which slots keeps alive and the heap does not move
	dims [2 * FewDims]int64 // of a tensor
}

// functionObject is a Function object: what the library reads of any, and no more.
type functionObject struct {
	abi.Object
	abi.FunctionCell
}

// oneReference is the count of an object with one strong and one weak reference.
const oneReference = 1<<32 | 1

// allocHeader is the size of what lies in front of every object: a word for its allocator, and
// TVMFFIObjectAllocHeader, which is empty. C of package exportrt/python keeps a weak reference of Python in the word, and
// knows nodes by NodeDeleter. Go never reads or writes it.
const allocHeader = 16

// NodeDeleter is the deleter of the objects in nodes.
func NodeDeleter() uintptr { return ccall.ReleaseObject() }

const nodeStride = allocHeader + unsafe.Sizeof(node{})

// slots holds the Go values behind nodes. Each node has one slot forever. A slot is written
// before its node is handed out and cleared after native code has released the node.
var slots struct {
	mu    sync.Mutex
	slabs [][]slot
	nodes int
	free  []uintptr // nodes
	// spare is a free node that is not in free, or 0: values that come and go need no
	// lock.
	spare atomic.Uintptr
	// kept counts the nodes that native code never releases.
	kept int
}

// slot refers to what a node holds. Its reads are atomic because the threads of native
// code order reads and writes in a way that the race detector does not see. For writes see set.
type slot struct {
	atomic.Pointer[held]
	data unsafe.Pointer // memory of a tensor, a closure, or the second word of a value
	kind unsafe.Pointer // the code of the Go func behind a closure, or the first word of a value, its type
}

// words are the two pointers that an interface value consists of: the collector may
// find them in any place, and follows them there.
type words struct{ kind, data unsafe.Pointer }

func (s *slot) setValue(v any) {
	s.set(*(*words)(unsafe.Pointer(&v)))
}

func (s *slot) value() (v any) {
	*(*words)(unsafe.Pointer(&v)) = words{atomic.LoadPointer(&s.kind), atomic.LoadPointer(&s.data)}
	return v
}

// clear drops the Go value that the node held.
func (s *slot) clear() {
	if h := s.Load(); h != nil {
		if h == isPeer {
			dropPeer(s)
		}
		if h.region != nil {
			h.region.leave()
		}
		if about, ok := h.about.(interface{ NodeEnded() }); ok {
			about.NodeEnded()
		}
		s.Store(nil)
	}
	s.set(words{})
}

// set is not atomic: native code that passes the node on to another thread orders what was
// written before, and a node that comes back is free for one goroutine.
//
//go:norace
func (s *slot) set(w words) { s.data, s.kind = w.data, w.kind }

// held is what a tensor stands on, or the description of a function.
type held struct {
	// value is what a tensor keeps alive, and about what describes a function.
	value, about any
	// region is large memory of Go under a tensor.
	region *region
}

// LiveCallbacks counts the Go values that native code holds.
func LiveCallbacks() int64 {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	reclaim()
	live := int64(slots.nodes - len(slots.free) - slots.kept)
	if slots.spare.Load() != 0 {
		live--
	}
	return live
}

func slotOf(nodeAddress uintptr) *slot {
	return capi.PointerTo[slot](capi.PointerTo[node](nodeAddress).slot)
}

// newNode takes a free node and fills its slot.
func newNode(h *held, w words) uintptr {
	n := freeNode()
	s := slotOf(n)
	if h != nil {
		s.Store(h)
	}
	s.set(w)
	return n
}

func freeNode() uintptr {
	if !ccall.HasReleased() && slots.spare.Load() != 0 {
		if n := slots.spare.Swap(0); n != 0 {
			return n
		}
	}
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if ccall.HasReleased() {
		reclaim()
	}
	if len(slots.free) == 0 {
		growNodes()
	}
	last := len(slots.free) - 1
	n := slots.free[last]
	slots.free = slots.free[:last]
	return n
}

// growNodes doubles the number of nodes; they are used again and never freed.
func growNodes() {
	slab := make([]slot, max(64, slots.nodes))
	base := capi.Allocate(uintptr(len(slab)) * nodeStride)
	for i := range slab {
		n := base + uintptr(i)*nodeStride + allocHeader
		*capi.PointerTo[node](n) = node{slot: uintptr(unsafe.Pointer(&slab[i]))}
		slots.free = append(slots.free, n)
	}
	slots.slabs = append(slots.slabs, slab)
	slots.nodes += len(slab)
}

// Drain clears the slots of the nodes that native code has released.
func Drain() {
	if !ccall.HasReleased() {
		return
	}
	slots.mu.Lock()
	reclaim()
	slots.mu.Unlock()
}

// reclaim is Drain while slots.mu is held.
func reclaim() {
	ccall.TakeReleased(func(released uintptr) {
		slotOf(released).clear()
		spoil(released)
		slots.free = append(slots.free, released)
	})
}

// endNode drops the only reference to an object in a node, without C.
func endNode(handle uintptr) bool {
	o := capi.PointerTo[abi.Object](handle)
	if o.Deleter != ccall.ReleaseObject() || !atomic.CompareAndSwapUint64(&o.RefCounts, oneReference, 0) {
		return false
	}
	slotOf(handle).clear()
	spoil(handle)
	if old := slots.spare.Swap(handle); old != 0 {
		slots.mu.Lock()
		slots.free = append(slots.free, old)
		slots.mu.Unlock()
	}
	return true
}

// spoil overwrites the object of a node that has ended, as malloc overwrites memory, so that a
// test notices its use.
func spoil(handle uintptr) {
	if ccall.Liveness {
		n := capi.PointerTo[node](handle)
		for i := range n.dims {
			n.dims[i] = spoiled
		}
		words := unsafe.Slice(capi.PointerTo[int64](handle), unsafe.Sizeof(tensorObject{})/8)
		for i := range words {
			words[i] = spoiled
		}
	}
}

// spoiled is eight bytes of 0x5a, which MALLOC_PERTURB_=165 writes.
const spoiled = 0x5a5a5a5a5a5a5a5a
