package tvmffi

import (
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Object is a reference to a native object of any type. Generated types, and
// containers, functions and tensors, embed it and add nothing: a pointer to any
// of them is a pointer to an Object, which is how [Cast] works without a copy.
//
// A nil *Object stands for None.
type Object struct {
	_     objects.NoCopy
	state objects.Object
}

// ObjectRef is a pointer to an object of any type: *Object, *Function, a
// generated type, or a struct of the user's that embeds one. A nil interface and
// a nil pointer in it both stand for None.
type ObjectRef interface{ TVMFFIObject() *objects.Object }

// ObjectType is satisfied by a pointer to an object type P, and not by a struct
// of the user's around one: only for the former is a reference to any object
// also a P.
type ObjectType[P any] interface {
	ObjectRef
	// TVMFFIType identifies the type to the runtime.
	TVMFFIType(P) *core.Type
}

func (o *Object) TVMFFIObject() *objects.Object { return (*objects.Object)(unsafe.Pointer(o)) }

var typeObject = core.Type{Key: "ffi.Object"}

// TVMFFIType identifies the type to the runtime.
func (*Object) TVMFFIType(*Object) *core.Type { return &typeObject }

// Release gives up the reference now instead of at some later collection. It
// must come after all uses. A second call, and a call on a nil *Object, do
// nothing; on a nil pointer to a type that embeds Object it panics, as each
// promoted method does. On a borrowed argument of a callback it only ends the
// wrapper.
//
// On a nil *Object it does nothing. A nil pointer to a type that embeds Object has
// no promoted methods: Go itself panics there, as for any nil struct. [Scope] takes
// nil pointers of all types.
func (o *Object) Release() { o.TVMFFIObject().Release() }

// String returns the text that the library prints for the object.
func (o *Object) String() string {
	s := o.TVMFFIObject()
	if s.Handle() == 0 {
		if why, ended := s.Ended(); ended {
			return "<object that " + why + ">"
		}
		return "None"
	}
	var c core.Call8
	c.Begin(&reprPrint, 1)
	c.Object(0, s)
	text, err := c.DoString()
	if err != nil {
		return "<" + TypeKey(o) + ": " + err.Error() + ">"
	}
	return text
}

var reprPrint = core.Func{Name: "ffi.ReprPrint"}

// TypeKey returns the key of the type that x really has, such as garden.Rose;
// "None" for nil and for an object that has ended.
func TypeKey(x ObjectRef) string {
	s := objects.StateOf(x)
	if s.Handle() == 0 {
		return "None"
	}
	return capi.KeyOf(s.TypeIndex())
}

// Cast returns x as a P if the object that x refers to is a P or derives from
// one. It is the same pointer with another type: there is one reference and one
// Release for both. The result is nil and false for nil and for an object that
// has ended.
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

// Upcast returns x as a P, a type that it derives from. It is the same pointer
// with another type; nil stays nil. It panics with an *Error if the object is no
// P: where that can happen, use [Cast].
func Upcast[P ObjectType[P]](x ObjectRef) P {
	if p, ok := Cast[P](x); ok {
		return p
	}
	var none P
	if s := objects.StateOf(x); s != nil {
		if why, ended := s.Ended(); ended {
			panic(failure.Errorf(failure.KindRuntime, "upcast to %s: the object %s", none.TVMFFIType(none).Key, why))
		}
		panic(failure.Errorf(failure.KindType, "upcast: %s is no %s", TypeKey(x), none.TVMFFIType(none).Key))
	}
	return none
}

// Retain returns a new reference to the object of x, with a Release of its own.
// It is how a callback keeps an argument. nil stays nil; it panics with an *Error
// if x has ended, and for a tensor whose memory is only lent (DLTensor*).
func Retain[P ObjectType[P]](x P) P {
	s := objects.StateOf(x)
	if s == nil {
		return x
	}
	if why, ended := s.Ended(); ended {
		panic(failure.Errorf(failure.KindRuntime, "retain: the object %s", why))
	}
	if s.BorrowedMemory() {
		panic(failure.Errorf(failure.KindRuntime, "retain: the memory of the tensor is lent for a callback: keep a Clone"))
	}
	return codec.Wrap[P](s.Retain())
}

// Same reports whether x and y refer to the same native object. Two Nones are
// the same.
func Same(x, y ObjectRef) bool {
	a, b := objects.StateOf(x), objects.StateOf(y)
	same := a.Handle() == b.Handle()
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return same
}
