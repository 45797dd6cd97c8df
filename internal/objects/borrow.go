package objects

import (
	"slices"

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

// Reading says how a value is read into a Go type: who owns the objects in it, and
// what is converted. [ReadOwned], [ReadBorrowed] and [ReadCollected] make one.
type Reading struct {
	// Inner wraps the objects. If it is nil, they get references of their own.
	Inner Owner
	// Depth is the depth of the value inside a value whose type contains itself.
	Depth int
	// Loose turns on the conversions that the library makes for a parameter: bool to
	// int, int and bool to float, int to bool, string to a data type and a device.
	Loose bool
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

// Collected returns r with its objects left to the collector.
func (r Reading) Collected() Reading {
	r.Inner = collector{}
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

// collector is the Owner of ReadCollected.
type collector struct{}

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
	// taken are those of Take that no wrapper has yet.
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
	l.objects = append(l.objects, o)
	return o
}

// Take takes over a reference to an object and drops it at End. The next wrapper of the
// object has that reference, so Release drops it earlier, and a move gives it away.
func (l *BorrowScope) Take(handle uintptr) { l.taken = append(l.taken, handle) }

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
