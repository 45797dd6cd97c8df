package objects

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Object is the state of every object wrapper: one reference to a native object
// (or a borrowed one during a callback). Wrappers of all types have its layout.
//
// It is a block without Go pointers that is too large for the tiny allocator: smaller
// ones would share memory with others, and their cleanups would wait for the neighbours.
type Object struct {
	// handle is the address of the native object, 0 once the wrapper has ended.
	handle uintptr
	// index is the type of the native object, which never changes.
	index abi.TypeIndex
	// status is an objectState and flags. It is atomic: while the owner releases the
	// wrapper, another goroutine may release it too or be giving it its cleanup.
	status  uint32
	born    ccall.Moment
	cleanup runtime.Cleanup // in stateGuarded
	way     ccall.Way       // of the calls of a Function
}

// Way is how calls of o, a Function, cross.
func (o *Object) Way() *ccall.Way { return &o.way }

// refer makes a wrapper of a live object. Those that may be released also get their Moment.
func refer(handle uintptr, status uint32) *Object {
	return &Object{handle: handle, index: capi.PointerTo[abi.Object](handle).TypeIndex, status: status}
}

// The states of a wrapper, in the low byte of its status.
const (
	stateFresh    uint32 = iota // owns one reference, has no cleanup yet
	stateGuarding               // owns one reference, is getting its cleanup
	stateGuarded                // owns one reference, has a cleanup
	stateStatic                 // owns one reference forever: no cleanup, Release does nothing
	stateBorrowed               // owns none; ends with the callback
	stateTaken                  // owns one reference, which the callback drops if nobody did
	stateReleased               // Release was called
	stateExpired                // the callback to which it belonged has returned
	stateMask     = 0xff
)

// The flags say what is special about a wrapper.
const (
	flagCounted        uint32 = 0x100 << iota // its memory is in the count
	flagReadOnly                              // its memory must not be written
	flagBorrowedMemory                        // its memory belongs to the caller of a callback
	flagUnclaimed                             // nobody can release it, so the collector may
	flagScalars                               // an Array built in place that holds no objects
	flagHeld                                  // another goroutine takes a reference to a borrowed Function
)

func (o *Object) load() uint32 { return atomic.LoadUint32(&o.status) }

// become changes the state if it is from; the flags stay.
func (o *Object) become(from, to uint32) bool {
	for {
		s := o.load()
		if s&stateMask != from {
			return false
		}
		if atomic.CompareAndSwapUint32(&o.status, s, s&^stateMask|to) {
			return true
		}
	}
}

// Collected counts the references that the garbage collector released because the program
// did not call Release. Tests for leaks of handles read it.
var Collected atomic.Int64

// Own wraps an object and takes over one reference to it. For a null pointer, which no
// well-behaved library returns as an object, it returns nil, which is None. An error need
// not be released.
func Own(handle uintptr) *Object {
	if handle == 0 {
		return nil
	}
	o := refer(handle, stateFresh)
	o.born = ccall.Now()
	if o.index == abi.TypeError {
		o.status |= flagUnclaimed
		o.guard()
		return o
	}
	track(o)
	if o.index < abi.TypeDynObjectBegin && o.heavy() {
		o.guard()
	} else {
		postpone(o)
	}
	return o
}

// LeaveToCollector marks an o that the program cannot release because it belongs to a Go
// func. When the garbage collector releases it, that is not a leak.
func (o *Object) LeaveToCollector() {
	if s := o.load(); s&flagUnclaimed != 0 || lent(s) {
		return
	}
	untrack(o)
	atomic.OrUint32(&o.status, flagUnclaimed)
	for o.load()&stateMask == stateGuarding {
		runtime.Gosched()
	}
	if s := o.load(); s&stateMask == stateGuarded {
		o.cleanup.Stop()
		o.cleanup = runtime.AddCleanup(o, dropOf(s), o.handle)
	}
}

// dropOf returns what drops the reference of a wrapper with the given status when the
// collector does so, and that is not a leak.
func dropOf(status uint32) func(handle uintptr) {
	if status&flagCounted != 0 {
		return dropTensor
	}
	return DecRef
}

// guard adds a cleanup to the wrapper, unless it has ended or has one.
func (o *Object) guard() {
	if !o.become(stateFresh, stateGuarding) {
		return
	}
	handle := o.unsynchronized()
	end := collect
	switch s := o.load(); {
	case s&flagUnclaimed != 0:
		end = dropOf(s)
	case s&flagCounted != 0:
		end = collectTensor
	}
	cleanup := runtime.AddCleanup(o, end, handle)
	o.cleanup = cleanup
	if !o.become(stateGuarding, stateGuarded) {
		cleanup.Stop() // it was released meanwhile
	}
	runtime.KeepAlive(o)
}

// unsynchronized returns the handle, or 0 if the owner ends the wrapper meanwhile: guard stops
// its cleanup then.
//
//go:norace
func (o *Object) unsynchronized() uintptr { return o.handle }

// Static wraps an object that lives as long as the process.
func Static(handle uintptr) *Object { return refer(handle, stateStatic) }

func collect(handle uintptr) {
	Collected.Add(1)
	DecRef(handle)
}

// Handle returns the address of the native object; 0 for nil and for wrappers
// that have ended. The caller must keep o alive while it uses the handle.
func (o *Object) Handle() uintptr {
	if o == nil {
		return 0
	}
	return o.Addr()
}

// HandleAddr returns the address of the handle of o, which is not nil. It is for loops that call
// code that may release o.
func (o *Object) HandleAddr() *uintptr { return &o.handle }

// Ended reports whether o is a wrapper that was released or has expired, and
// says which.
func (o *Object) Ended() (why string, ended bool) {
	switch {
	case o == nil || o.handle != 0:
		return "", false
	case o.load()&stateMask == stateReleased:
		return "was released", true
	case o.load()&stateMask == stateExpired:
		if o.index == abi.TypeFunction {
			return "was borrowed for a callback that has returned, or for a step of a loop (tvmffi.Retain keeps a Function, tvmffi.RetainFunc a Go func)", true
		}
		return "was borrowed for a callback that has returned, or for a step of a loop (tvmffi.Retain keeps an object)", true
	}
	return "was never set", true
}

// TypeIndex returns the run-time type of the object. o must not have ended.
func (o *Object) TypeIndex() abi.TypeIndex { return o.index }

// Release gives up the reference. A second call, and a call on nil, do nothing.
func (o *Object) Release() {
	if o == nil {
		return
	}
	// Most wrappers end fresh and without flags. This is Detach for them: what has no cleanup, is not in a count and was not lent.
	if !Tracking && o.load() == stateFresh && atomic.CompareAndSwapUint32(&o.status, stateFresh, stateReleased) {
		h := o.handle
		o.handle = 0
		if o.born.InUse() {
			IncRef(h)
			o.keepWhileUsed(h, DecRef)
		}
		if h != 0 { // of an Object that nothing has made
			DecRef(h)
		}
		return
	}
	scalars := o.load()&flagScalars != 0
	if h := o.Detach(); h != 0 && !(scalars && endArray(h, true)) {
		DecRef(h)
	}
}

// Detach ends the wrapper and returns the object of which the caller drops one reference,
// or 0. Of two goroutines that end one wrapper, one does and the other gets 0.
//
// If a call in which a callback runs may use the wrapper, its reference stays until the
// collector finds that no call does, and the caller gets another one.
func (o *Object) Detach() uintptr {
	if o == nil {
		return 0
	}
	s := o.load()
	for {
		switch s & stateMask {
		case stateStatic, stateReleased, stateExpired:
			return 0
		case stateBorrowed:
			if o.index == abi.TypeFunction {
				o.expire()
			} else if o.become(stateBorrowed, stateReleased) {
				o.handle = 0
			}
			return 0
		}
		if s&flagHeld != 0 {
			runtime.Gosched() // Hold reads the handle
		} else if atomic.CompareAndSwapUint32(&o.status, s, s&^stateMask|stateReleased) {
			break
		}
		s = o.load()
	}
	h := o.handle
	o.handle = 0
	if s&stateMask == stateGuarded {
		o.cleanup.Stop()
	}
	untrack(o)
	switch {
	case o.born.InUse():
		IncRef(h)
		o.keepWhileUsed(h, dropOf(s))
	case s&flagCounted != 0:
		uncount(h)
	}
	return h
}

// keepWhileUsed leaves the reference of an ended wrapper to the collector. No call uses o
// when it finds that nothing refers to o.
func (o *Object) keepWhileUsed(handle uintptr, drop func(handle uintptr)) {
	runtime.AddCleanup(o, drop, handle)
	if leftToCollector.Add(1)%leftAtOnce == 0 {
		go runtime.GC() // it does not see the memory of the objects
	}
}

// leftToCollector counts the references that keepWhileUsed left to the collector. For each
// leftAtOnce of them it runs once more.
var leftToCollector atomic.Int64

const leftAtOnce = 4096

// expire ends a wrapper that a callback lent, and returns the object whose reference is to
// be dropped, or 0.
func (o *Object) expire() uintptr {
	if o.index == abi.TypeFunction {
		return o.expireFunction()
	}
	h := o.handle
	taken := o.become(stateTaken, stateExpired) // it is in no ring
	if !taken && !o.become(stateBorrowed, stateExpired) {
		return 0
	}
	o.handle = 0
	if taken {
		return h
	}
	return 0
}

// Retain makes a wrapper with a reference of its own. o must not have ended.
func (o *Object) Retain() *Object {
	IncRef(o.handle)
	r := Own(o.handle)
	if o.ReadOnly() {
		r.SetReadOnly()
	}
	runtime.KeepAlive(o)
	return r
}

// IncRef adds a strong reference.
func IncRef(handle uintptr) { atomic.AddUint64(&capi.PointerTo[abi.Object](handle).RefCounts, 1) }

// TryDecRef drops a strong reference in Go, unless it is the last one.
func TryDecRef(handle uintptr) bool {
	counts := &capi.PointerTo[abi.Object](handle).RefCounts
	for {
		v := atomic.LoadUint64(counts)
		if uint32(v) <= 1 {
			return false
		}
		if atomic.CompareAndSwapUint64(counts, v, v-1) {
			return true
		}
	}
}

// DecRef drops a strong reference. It does so in Go if other references remain or the
// deleter is ours. Otherwise it calls C, because a deleter of C runs.
func DecRef(handle uintptr) {
	if TryDecRef(handle) {
		return
	}
	switch deleter := capi.PointerTo[abi.Object](handle).Deleter; {
	case deleter == ccall.ReleaseObject() && endNode(handle), deleter == ccall.ReleaseArray() && endArray(handle, false):
		return
	}
	ccall.Drop(handle)
	if ccall.HasReleased() {
		Drain()
	}
}

// UseCount returns the number of strong references to the object.
func (o *Object) UseCount() int {
	if o.Handle() == 0 {
		return 0
	}
	n := uint32(atomic.LoadUint64(&capi.PointerTo[abi.Object](o.handle).RefCounts))
	runtime.KeepAlive(o)
	return int(n)
}

// Addr is Handle of an o that is not nil.
func (o *Object) Addr() uintptr {
	handle := o.handle
	ccall.Collect()
	return handle
}

// SetScalars marks o as an Array built in place that holds no objects.
func (o *Object) SetScalars() { atomic.OrUint32(&o.status, flagScalars) }

// Released reports whether Release was called.
func (o *Object) Released() bool { return o.load()&stateMask == stateReleased }

// KeepAlive keeps o reachable up to this call.
func (o *Object) KeepAlive() { runtime.KeepAlive(o) }

// CallDeleter calls the deleter of a struct of DLPack.
func CallDeleter(deleter, managed uintptr) {
	if deleter != 0 {
		ccall.Syscall(deleter, managed)
	}
	if ccall.HasReleased() {
		Drain()
	}
}

// DropError drops the error that failure.ErrorOf would return.
func DropError(rc int64, raised uintptr) {
	if raised != 0 && rc != ccall.Thrown {
		DecRef(raised)
	}
}

// StateAt returns the state behind a pointer to a struct that begins with one:
// every object type of package tvmffi.
func StateAt[T any](p *T) *Object { return (*Object)(unsafe.Pointer(p)) }

// ReleaseValue drops the reference of an owned value, if it is an object.
func ReleaseValue(v abi.Any) {
	if v.TypeIndex.IsObject() && v.Bits != 0 {
		DecRef(uintptr(v.Bits))
	}
}

// Strong returns the number of strong references to an object.
func Strong(handle uintptr) uint32 {
	return uint32(atomic.LoadUint64(&capi.PointerTo[abi.Object](handle).RefCounts))
}

// Share returns an owned value for a borrowed one that the registry holds.
func Share(v abi.Any) abi.Any {
	if v.TypeIndex.IsObject() && v.Bits != 0 {
		IncRef(uintptr(v.Bits))
	}
	return v
}

// Attribute reads an attribute of a type as an owned value.
func Attribute(index abi.TypeIndex, name string) (abi.Any, bool) {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	v, ok := capi.TypeAttribute(index, name)
	return Share(v), ok
}

// TakeString copies the text of an owned String or Bytes object and releases it.
func TakeString(v abi.Any) string {
	s := capi.GoString(*capi.PointerTo[abi.ByteArray](uintptr(v.Bits) + abi.ObjectSize))
	DecRef(uintptr(v.Bits))
	return s
}

// Ref is a pointer to an object type of package tvmffi or above.
type Ref interface{ TVMFFIObject() *Object }

// StateOf returns the state behind x, or nil for a nil interface and a nil pointer.
func StateOf(x Ref) *Object {
	// The word of an interface that holds a pointer is the pointer; promoted
	// methods cannot be called on a nil one.
	if (*[2]unsafe.Pointer)(unsafe.Pointer(&x))[1] == nil {
		return nil
	}
	return x.TVMFFIObject()
}

// NoCopy makes go vet report copies of a struct that has a field of this type.
type NoCopy struct{}

// Lock does nothing: vet takes a type with this method for a lock.
func (*NoCopy) Lock() {}

// Unlock does nothing.
func (*NoCopy) Unlock() {}
