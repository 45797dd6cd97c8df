package core

import (
	"runtime"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Object is the state of every object wrapper: one reference to a native object
// (or a borrowed one during a callback). Wrappers of all types have its layout.
//
// It is 32 bytes without Go pointers: smaller pointer-free blocks would share
// memory with others, and their cleanups would wait for the neighbours.
type Object struct {
	// handle is the address of the native object, 0 once the wrapper has ended.
	handle uintptr
	// index is the type of the native object, which never changes.
	index   abi.TypeIndex
	state   objectState
	flags   objectFlags
	cleanup runtime.Cleanup
}

// refer makes a wrapper of a live object.
func refer(handle uintptr, state objectState) *Object {
	return &Object{handle: handle, index: At[abi.Object](handle).TypeIndex, state: state}
}

type objectState uint16

const (
	stateOwned    objectState = iota // owns one reference
	stateBorrowed                    // owns none; ends with the callback
	stateReleased                    // Release was called
	stateExpired                     // the callback that lent it has returned
	stateStatic                      // owns one reference for ever: no cleanup, Release does nothing
)

// Collected counts the references that the collector had to release because
// nobody called Release. Tests for leaks of handles read it.
var Collected atomic.Int64

// Own wraps an object and takes over one reference to it. A null pointer, which
// no well-behaved library returns as an object, is nil: None.
func Own(handle uintptr) *Object {
	if handle == 0 {
		return nil
	}
	o := refer(handle, stateOwned)
	if o.index == abi.TypeTensor {
		ownTensor(o, true)
		return o
	}
	o.cleanup = runtime.AddCleanup(o, collect, handle)
	track(o)
	return o
}

// LeaveToCollector says that nobody can release o, because it belongs to an error
// or to a Go func: that the collector releases it is no leak.
func (o *Object) LeaveToCollector() {
	o.cleanup.Stop()
	o.cleanup = runtime.AddCleanup(o, DecRef, o.handle)
	untrack(o)
}

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
	return o.handle
}

// Ended reports whether o is a wrapper that was released or has expired, and
// says which.
func (o *Object) Ended() (why string, ended bool) {
	switch {
	case o == nil || o.handle != 0:
		return "", false
	case o.state == stateReleased:
		return "was released", true
	case o.state == stateExpired:
		return "was borrowed for a callback that has returned (tvmffi.Retain keeps an object)", true
	}
	return "was never set", true
}

// TypeIndex returns the run-time type of the object. o must not have ended.
func (o *Object) TypeIndex() abi.TypeIndex { return o.index }

// Release gives up the reference. A second call, and a call on nil, do nothing.
func (o *Object) Release() {
	if h := o.end(); h != 0 {
		DecRef(h)
	}
}

// end ends the wrapper and returns the object whose reference is to be dropped,
// or 0.
func (o *Object) end() uintptr {
	if o == nil || o.handle == 0 || o.state == stateStatic {
		return 0
	}
	h := o.handle
	o.handle = 0
	if o.state == stateBorrowed {
		o.state = stateExpired
		return 0
	}
	o.state = stateReleased
	o.cleanup.Stop()
	untrack(o)
	if o.flags&flagCounted != 0 {
		uncount(h)
	}
	return h
}

// Retain makes a wrapper with a reference of its own. o must not have ended.
func (o *Object) Retain() *Object {
	IncRef(o.handle)
	r := Own(o.handle)
	r.flags |= o.flags & flagReadOnly
	runtime.KeepAlive(o)
	return r
}

// IncRef adds a strong reference.
func IncRef(handle uintptr) { atomic.AddUint64(&At[abi.Object](handle).RefCounts, 1) }

// DecRef drops a strong reference: in Go while others remain, in C for the last
// one, because then deleters run.
func DecRef(handle uintptr) {
	counts := &At[abi.Object](handle).RefCounts
	for {
		v := atomic.LoadUint64(counts)
		if uint32(v) <= 1 {
			break
		}
		if atomic.CompareAndSwapUint64(counts, v, v-1) {
			return
		}
	}
	h := ccall.Head{Fn: API.ObjectDecRef, Handle: handle, Mode: ccall.Value}
	ccall.Call(&h)
	if h.Err != 0 {
		DecRef(h.Err)
	}
	if ccall.HasReleased() {
		drain()
	}
}

// UseCount returns the number of strong references to the object.
func (o *Object) UseCount() int {
	if o.Handle() == 0 {
		return 0
	}
	n := uint32(atomic.LoadUint64(&At[abi.Object](o.handle).RefCounts))
	runtime.KeepAlive(o)
	return int(n)
}

func (o *Object) keepAlive() { runtime.KeepAlive(o) }
