package objects

import "github.com/tvmffi-go/tvmffi/internal/abi"

// Lender lends objects: it wraps them without a reference of their own.
type Lender interface {
	// Borrow wraps an object that somebody else keeps alive.
	Borrow(handle uintptr) *Object
}

// Reading is the Lender of a value that is read into a Go type with more to say.
type Reading struct {
	// Inner lends the objects; nil: they get references of their own.
	Inner Lender
	// Depth is how deep the value is in one of a type that contains itself.
	Depth int
	// Loose says that what the library converts for a parameter is converted: bool to
	// int, int and bool to float, int to bool, text to a data type and a device.
	Loose bool
}

// Borrow lends as Inner does.
func (r *Reading) Borrow(handle uintptr) *Object {
	if r.Inner == nil {
		IncRef(handle)
		return Own(handle)
	}
	return r.Inner.Borrow(handle)
}

// View is the value that C sees. A tensor over memory that is lent goes as a
// DLTensor*: a callee cannot keep that, as it could keep a Tensor object.
func (o *Object) View() abi.Any {
	if o.Lent() {
		return abi.Any{TypeIndex: abi.TypeDLTensorPtr, Bits: uint64(o.handle + abi.ObjectSize)}
	}
	return abi.Any{TypeIndex: o.index, Bits: uint64(o.handle)}
}

// Loan is a Lender whose objects end together.
type Loan struct {
	objects []*Object
	adopted []uintptr
}

// Borrow wraps an object until End.
func (l *Loan) Borrow(handle uintptr) *Object {
	o := refer(handle, stateBorrowed)
	l.objects = append(l.objects, o)
	return o
}

// Adopt wraps a tensor over memory that somebody else keeps alive, takes over its
// reference, and drops it at End.
func (l *Loan) Adopt(handle uintptr) *Object {
	o := refer(handle, stateBorrowed|flagLent)
	l.objects = append(l.objects, o)
	l.adopted = append(l.adopted, handle)
	return o
}

// End ends all objects lent since the last End.
func (l *Loan) End() {
	for i, o := range l.objects {
		o.expire()
		l.objects[i] = nil
	}
	l.objects = l.objects[:0]
	for _, handle := range l.adopted {
		DecRef(handle)
	}
	l.adopted = l.adopted[:0]
}
