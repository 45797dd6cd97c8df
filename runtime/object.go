package tvmffi

import (
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Object is a reference to a native object of any type. Generated types, containers,
// functions and tensors embed it and add no fields. A pointer to any of them is therefore a
// pointer to an Object, so [Cast] needs no copy.
//
// Each of them begins with an empty array of pointers to itself. So the compiler refuses to
// convert a pointer to one type into a pointer to another.
//
// A nil *Object stands for None. An Object must not be copied.
type Object struct {
	_     objects.NoCopy
	state objects.Object
}

// ObjectRef is a pointer to an object of any type: *[Object], *[Function], a generated
// type, or a struct of the user that embeds one. A nil interface and a nil pointer in it
// both stand for None.
type ObjectRef interface {
	// TVMFFIObject returns the reference to the runtime.
	TVMFFIObject() *objects.Object
}

// ObjectType is satisfied by pointers to object types, such as *[Tensor]. It is not
// satisfied by a struct of the user that embeds one, because a reference to a native
// object is not also a reference to such a struct.
type ObjectType[P any] interface {
	ObjectRef
	// TVMFFIType identifies the type to the runtime.
	TVMFFIType(P) *fields.Type
}

// TVMFFIObject returns the reference to the runtime.
func (o *Object) TVMFFIObject() *objects.Object { return (*objects.Object)(unsafe.Pointer(o)) }

var typeObject = fields.Type{Key: "ffi.Object"}

// TVMFFIType identifies the type to the runtime.
func (*Object) TVMFFIType(*Object) *fields.Type { return &typeObject }

// Release ends the reference now. Without it, the garbage collector ends the reference at
// some later time. The object must not be used after Release. A second Release does
// nothing. On a borrowed argument of a callback, Release ends the Go object only.
//
// A callback, or a loop that runs during a call, may release an object that the call still
// uses, if it does so on its own goroutine. The reference then ends after the call, when the
// garbage collector finds that nothing uses it. This does not concern objects that the callback
// itself made.
//
// Several goroutines may release one object at the same time. Releasing an object while
// another goroutine uses it is a data race, even if the use is a call into the library.
//
// On a nil *Object, Release does nothing. On a nil pointer to a type that embeds Object, Go
// panics before Release runs, as for every promoted method. [Scope] accepts nil pointers of
// all types.
func (o *Object) Release() { o.TVMFFIObject().Release() }

// String returns the text that the library prints for the object. It never fails: for a
// nil object it returns "None", and for a released object it says why the object ended.
func (o *Object) String() string {
	s := o.TVMFFIObject()
	if s.Handle() == 0 {
		if why, ended := s.Ended(); ended {
			return "<object that " + why + ">"
		}
		return "None"
	}
	var str string
	err := codec.Countable(abi.Any{TypeIndex: capi.PointerTo[abi.Object](s.Handle()).TypeIndex, Bits: uint64(s.Handle())})
	if err == nil {
		var c calls.Call8
		c.Begin(&reprPrint, 1)
		c.Object(0, s)
		str, err = c.DoString()
	}
	if err != nil {
		return "<" + TypeKey(o) + ": " + err.Error() + ">"
	}
	return str
}

var reprPrint = calls.Func{Name: "ffi.ReprPrint"}

// TypeKey returns the type key of the native object, such as "garden.Rose". It can be the
// key of a type that derives from the Go type of x. TypeKey returns "None" for nil and for
// an object that has ended.
func TypeKey(x ObjectRef) string {
	s := objects.StateOf(x)
	if s.Handle() == 0 {
		return "None"
	}
	return capi.KeyOf(s.TypeIndex())
}

// Cast returns x as a P if the type of the native object is P or derives from P. The result
// is the same pointer with another type: both share one reference and one Release. Cast
// returns nil and false for another type, for nil, and for an object that has ended.
func Cast[P ObjectType[P]](x ObjectRef) (P, bool) {
	var none P
	s := objects.StateOf(x)
	if s.Handle() == 0 {
		return none, false
	}
	ok, err := none.TVMFFIType(none).Accepts(s.TypeIndex())
	if err != nil || !ok {
		return none, false
	}
	return codec.Wrap[P](s), true
}

// Upcast returns x as a P, from which the type of x derives. The result is the same pointer
// with another type. Upcast returns nil for nil. It panics with an *Error if the object is
// not a P or has ended; use [Cast] where that can happen.
func Upcast[P ObjectType[P]](x ObjectRef) P {
	if p, ok := Cast[P](x); ok {
		return p
	}
	var none P
	if s := objects.StateOf(x); s != nil {
		if why, ended := s.Ended(); ended {
			panic(failure.Errorf(failure.KindRuntime, "upcast to %s: the object %s", none.TVMFFIType(none).Key, why))
		}
		panic(failure.Errorf(failure.KindType, "upcast: %s does not derive from %s: use Cast to test it", TypeKey(x), none.TVMFFIType(none).Key))
	}
	return none
}

// Retain returns another reference to x, which the caller releases. It keeps an object
// beyond a callback, or a step of a loop, to which it was lent. [RetainFunc] keeps a func.
//
// Retain of nil is nil. Retain panics with an *Error if x has ended or is a tensor whose
// memory is borrowed (DLTensor*).
func Retain[P ObjectType[P]](x P) P {
	s := objects.StateOf(x)
	if s == nil {
		return x
	}
	if why, ended := s.Ended(); ended {
		panic(failure.Errorf(failure.KindRuntime, "retain: the object %s", why))
	}
	if s.BorrowedMemory() {
		panic(failure.Errorf(failure.KindRuntime, "retain: the memory of the tensor is borrowed until the callback returns: keep a Clone"))
	}
	return codec.Wrap[P](s.Retain())
}

// Same reports whether x and y refer to the same native object. Two values that are None
// are the same.
func Same(x, y ObjectRef) bool {
	a, b := objects.StateOf(x), objects.StateOf(y)
	same := a.Handle() == b.Handle()
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return same
}
