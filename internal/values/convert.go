package values

import (
	"math"
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Convert converts a value to a type in the same way as a parameter of a C++ function:
// a bool to an int, an int and a bool to a float, and an int to a bool. A value that has
// the type stays as it is. ok is false for all other pairs. (Strings become data types
// and devices in the codecs of these types, which parse them.)
func Convert(v abi.Any, want abi.TypeIndex) (_ abi.Any, ok bool) {
	if v.TypeIndex == want {
		return v, true
	}
	if v.TypeIndex != abi.TypeInt && v.TypeIndex != abi.TypeBool {
		return v, false
	}
	switch want {
	case abi.TypeInt:
		return abi.Any{TypeIndex: want, Bits: v.Bits}, true
	case abi.TypeBool:
		return abi.Any{TypeIndex: want, Bits: min(v.Bits, 1)}, true
	case abi.TypeFloat:
		return abi.Any{TypeIndex: want, Bits: math.Float64bits(float64(int64(v.Bits)))}, true
	}
	return v, false
}

// Owned makes an owned value of a borrowed one: raw strings and bytes are
// copied, references counted.
func Owned(v abi.Any) (abi.Any, error) {
	switch v.TypeIndex {
	case abi.TypeRawStr, abi.TypeByteArrayPtr, abi.TypeDLTensorPtr, abi.TypeObjectRValueRef:
		view := v
		r, err := failure.InvokeResult(capi.API.AnyViewToOwnedAny, capi.Address(&view))
		runtime.KeepAlive(&view)
		return r, err
	}
	if v.TypeIndex.IsObject() {
		objects.IncRef(uintptr(v.Bits))
	}
	return v, nil
}

// AnyView is a packed value for a call, and what it needs until the call has returned.
type AnyView struct {
	Value abi.Any
	// Keep is kept alive.
	Keep any
	// Owned says that Value is an object whose reference the call releases.
	Owned bool
	// Scalars says that Value is a new Array that was built in place and holds no
	// objects.
	Scalars bool
	// Moved says that the callee may take the reference of Value, which is Owned.
	Moved bool
}

// OwnArray wraps a new Array; t is the only reference to it.
func OwnArray(t AnyView) *objects.Object {
	o := objects.Own(uintptr(t.Value.Bits))
	if t.Scalars {
		o.SetScalars()
	}
	return o
}

// CheckEscape returns an error if the value is a tensor over memory that is borrowed until a
// callback returns. A value that may outlive the callback must not hold such a tensor.
func (t AnyView) CheckEscape() error {
	if o, ok := t.Keep.(*objects.Object); ok && o.BorrowedMemory() {
		return failure.Errorf(failure.KindRuntime, "the memory of the tensor is borrowed until the callback returns: keep a Clone")
	}
	return nil
}

// Own returns the value with a reference of its own, for one who may keep it. So a tensor
// over memory that is borrowed is an error.
func (t AnyView) Own() (abi.Any, error) {
	if err := t.CheckEscape(); err != nil {
		return abi.Any{}, err
	}
	if t.Owned {
		return t.Value, nil
	}
	v, err := Owned(t.Value)
	runtime.KeepAlive(t.Keep)
	return v, err
}

// Known returns an error if v is of a type that does not exist, as a broken function of C may
// return. The null pointer of an object type that exists is None.
func Known(v abi.Any) error {
	if uint32(v.TypeIndex) <= uint32(abi.TypeUnchanged) || v.TypeIndex.IsObject() && v.Bits != 0 {
		return nil
	}
	return unknown(v)
}

func unknown(v abi.Any) error {
	if v.TypeIndex.IsObject() && capi.InfoOf(v.TypeIndex) != nil {
		return nil
	}
	return failure.Errorf(failure.KindType, "the value has the type index %d, which no type has: the native code that made it is broken", v.TypeIndex)
}
