package objects

import (
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Owner wraps borrowed objects, which have no reference of their own.
type Owner interface {
	// Borrow wraps an object that its owner keeps alive.
	Borrow(handle uintptr) *Object
}

// Lender is an Owner that can end what it wraps. So it may wrap memory that is not its own.
type Lender interface {
	Owner
	// Adopt wraps a tensor over memory that is lent, and takes over its reference.
	Adopt(handle uintptr) *Object
}

// FuncLender wraps Functions that become Go funcs. Nobody can release a Go func, so a
// callback ends all funcs in its arguments, however deep they lie.
type FuncLender interface {
	// Lend wraps a Function, with a reference that ends with the FuncLender.
	Lend(handle uintptr) *Object
}

// Reading says how a value is read into a Go type: who owns the objects in it, and
// what is converted. [ReadOwned], [ReadBorrowed] and [ReadCollected] make one.
type Reading struct {
	// Inner wraps the objects. If it is nil, they get references of their own.
	Inner Owner
	// Depth is the depth of the value inside a value whose type contains itself.
	Depth int
	// Loose turns on the conversions that the library makes for a parameter: bool to
	// int, int and bool to float, int to bool, string to a data type and a device. A value
	// that it converts is made for its type: each entry of a Map has to be a field of the struct.
	Loose bool
	// Numbers turns on the one conversion of JSON, which has one kind of number: int to float.
	Numbers bool
	// Strict says that a container with types is looked at as a whole, so that no later read of it fails.
	Strict bool
	// Plain says that an Array or a Map becomes a Go slice or map where any value is wanted.
	Plain bool
}

// ReadOwned gives each object a reference that the caller releases. It is the zero
// Reading.
func ReadOwned() Reading { return Reading{} }

// ReadBorrowed borrows objects from a lender, such as a callback or a step of a loop,
// which ends them.
func ReadBorrowed(from Owner) Reading { return Reading{Inner: from} }

// ReadCollected gives each object a reference that is left to the collector. It is for
// the objects inside a struct that is an argument, which no one releases.
func ReadCollected() Reading { return Reading{Inner: collector{}} }

// Lends reports whether the objects have a Lender.
func (r Reading) Lends() bool {
	_, ok := r.Inner.(Lender)
	return ok
}

// Converting returns r with Loose set.
func (r Reading) Converting() Reading {
	r.Loose = true
	return r
}

// Checking returns r with Strict set.
func (r Reading) Checking() Reading {
	r.Strict = true
	return r
}

// Collected returns r with its objects left to the collector, but not the funcs of a
// callback.
func (r Reading) Collected() Reading {
	switch inner := r.Inner.(type) {
	case collector, lendingCollector:
	case FuncLender:
		r.Inner = lendingCollector{inner}
	default:
		r.Inner = collector{}
	}
	return r
}

// Wrap wraps an object of the value.
func (r Reading) Wrap(handle uintptr) *Object {
	if r.Inner != nil {
		return r.Inner.Borrow(handle)
	}
	IncRef(handle)
	return Own(handle)
}

// WrapOwned is Wrap for an object that was made for the value. It takes over a reference.
func (r Reading) WrapOwned(handle uintptr) *Object {
	switch inner := r.Inner.(type) {
	case nil:
		return Own(handle)
	case taker:
		inner.Take(handle)
		return inner.Borrow(handle)
	}
	o := r.Inner.Borrow(handle) // a collector, which takes a reference of its own
	DecRef(handle)
	return o
}

// taker is an Owner that takes over references.
type taker interface {
	Owner
	Take(handle uintptr)
}

// WrapFunc wraps a Function that becomes a Go func: lent in a callback, and otherwise with a
// reference that is left to the collector.
func (r Reading) WrapFunc(handle uintptr) *Object {
	if l, ok := r.Inner.(FuncLender); ok {
		return l.Lend(handle)
	}
	IncRef(handle)
	return OwnByFunc(handle)
}

// collector is the Owner of ReadCollected, and lendingCollector the Owner of a struct or a
// map in a callback.
type (
	collector        struct{}
	lendingCollector struct{ FuncLender }
)

// Borrow takes a reference that is left to the collector.
func (lendingCollector) Borrow(handle uintptr) *Object { return collector{}.Borrow(handle) }

// Borrow takes a reference that is left to the collector.
func (collector) Borrow(handle uintptr) *Object {
	IncRef(handle)
	o := Own(handle)
	o.LeaveToCollector()
	return o
}

// View returns the value that C sees. A tensor over borrowed memory becomes a DLTensor*,
// which a callee cannot keep. It could keep a Tensor object.
func (o *Object) View() abi.Any {
	if o.BorrowedMemory() {
		return abi.Any{TypeIndex: abi.TypeDLTensorPtr, Bits: uint64(o.handle + abi.ObjectSize)}
	}
	return abi.Any{TypeIndex: o.index, Bits: uint64(o.handle)}
}

// BorrowScope is an Owner whose objects end together.
type BorrowScope struct {
	// Counted says that the scope has a reference to each object until End. It is for a
	// scope in which code of the program runs that may end the owner of the objects.
	Counted bool

	objects []*Object
	// owned are the references that End drops.
	owned []uintptr
	// taken are the references of Take that no wrapper has yet.
	taken []uintptr
}

// Borrow wraps an object. The wrapper ends at End.
func (l *BorrowScope) Borrow(handle uintptr) *Object {
	var o *Object
	if i := slices.Index(l.taken, handle); i >= 0 {
		l.taken, o = slices.Delete(l.taken, i, i+1), refer(handle, stateTaken)
		o.born = ccall.Now()
	} else {
		if l.Counted {
			IncRef(handle)
			l.owned = append(l.owned, handle)
		}
		o = refer(handle, stateBorrowed)
	}
	if o.index == abi.TypeFunction {
		*o.borrower() = ccall.Goroutine()
	}
	l.objects = append(l.objects, o)
	return o
}

// Take takes over a reference to an object and drops it at End. The next wrapper of the
// object has that reference, so Release drops it earlier, and a move gives it away.
func (l *BorrowScope) Take(handle uintptr) { l.taken = append(l.taken, handle) }

// Lend wraps a Function that its owner may drop before End, such as an element of a List.
func (l *BorrowScope) Lend(handle uintptr) *Object {
	IncRef(handle)
	l.owned = append(l.owned, handle)
	return l.Borrow(handle)
}

// Adopt wraps a tensor over memory that its owner keeps alive. It takes over the reference
// of the tensor and drops it at End.
func (l *BorrowScope) Adopt(handle uintptr) *Object {
	o := refer(handle, stateBorrowed|flagBorrowedMemory)
	l.objects = append(l.objects, o)
	l.owned = append(l.owned, handle)
	return o
}

// End ends all objects that were wrapped since the last End.
func (l *BorrowScope) End() {
	for i, o := range l.objects {
		if handle := o.expire(); handle != 0 {
			l.owned = append(l.owned, handle)
		}
		l.objects[i] = nil
	}
	l.objects = l.objects[:0]
	l.owned = append(l.owned, l.taken...)
	l.taken = l.taken[:0]
	for _, handle := range l.owned {
		DecRef(handle)
	}
	l.owned = l.owned[:0]
}

// borrower is the place for the goroutine that borrowed a Function. A borrowed wrapper has
// no cleanup, so its memory is free for that.
func (o *Object) borrower() *uintptr { return (*uintptr)(unsafe.Pointer(&o.cleanup)) }

const _ = unsafe.Sizeof(runtime.Cleanup{}) - unsafe.Sizeof(uintptr(0)) // it has room

// lent reports whether a callback, or a loop, will end the wrapper with that status.
func lent(status uint32) bool {
	status &= stateMask
	return status == stateBorrowed || status == stateTaken
}

// Lent reports whether o belongs to a callback or a loop, also to one that is over.
func (o *Object) Lent() bool {
	s := o.load()
	return lent(s) || s&stateMask == stateExpired
}

// Elsewhere reports whether o is a Function that another goroutine borrowed. Its call may
// return at any time, so a caller needs Hold. On the goroutine that borrowed o, that call
// is below the caller.
func (o *Object) Elsewhere() bool {
	return o != nil && lent(o.load()) && (*o.borrower() == 0 || *o.borrower() != ccall.Goroutine())
}

// Hold returns the handle of a borrowed Function with a reference of its own, which the
// caller drops, or 0 if o has ended. While it takes the reference, o cannot end.
func (o *Object) Hold() uintptr {
	for {
		s := o.load()
		switch {
		case !lent(s):
			return 0
		case s&flagHeld != 0:
			runtime.Gosched()
			continue
		case !atomic.CompareAndSwapUint32(&o.status, s, s|flagHeld):
			continue
		}
		handle := o.handle
		IncRef(handle)
		atomic.AndUint32(&o.status, ^flagHeld)
		return handle
	}
}

// expireFunction is expire for a Function, which another goroutine may want to hold.
func (o *Object) expireFunction() uintptr {
	for {
		s := o.load()
		switch {
		case !lent(s):
			return 0
		case s&flagHeld != 0:
			runtime.Gosched()
		case atomic.CompareAndSwapUint32(&o.status, s, s|flagHeld):
			h := o.handle
			o.handle = 0
			atomic.StoreUint32(&o.status, s&^stateMask|stateExpired)
			if s&stateMask == stateTaken {
				return h
			}
			return 0
		}
	}
}
