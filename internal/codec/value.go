package codec

import (
	"bytes"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// LendAny makes an A, which is the Any of package tvmffi, of a borrowed value. With an error
// the value is an opaque pointer, or one of the unknown type that the error names.
func LendAny[A any](v abi.Any, from objects.Reading) (a A, err error) {
	err = lendValue((*objects.Value)(unsafe.Pointer(&a)), v, from)
	return a, err
}

// ShowAny is LendAny for a value that is not an argument: what cannot be lent is an opaque
// pointer.
func ShowAny[A any](v abi.Any, from objects.Reading) A {
	a, _ := LendAny[A](v, from)
	return a
}

// TakeAnyAs is LendAny for an owned value.
func TakeAnyAs[A any](v abi.Any) (a A) {
	takeValue((*objects.Value)(unsafe.Pointer(&a)), v)
	return a
}

// RecordOfAny returns the record of an Any.
func RecordOfAny[A any](a *A) *objects.Value { return (*objects.Value)(unsafe.Pointer(a)) }

// lendValue sets x, which is zero, to a borrowed value. Values that refer to nothing come
// first: reflection makes an Any of every field that it reads.
func lendValue(x *objects.Value, v abi.Any, from objects.Reading) error {
	x.Index = v.TypeIndex
	if err := values.Known(v); err != nil {
		return err
	}
	if v.TypeIndex <= abi.TypeDevice {
		x.Bits = v.Bits
	} else if text, ok := capi.StringOf(v); ok {
		x.Index, x.Str = abi.TypeBytes, text
		switch v.TypeIndex {
		case abi.TypeSmallStr, abi.TypeRawStr, abi.TypeStr:
			x.Index = abi.TypeStr
		}
	} else if v.TypeIndex.IsObject() {
		x.Object = lend(v, from)
	} else if v.TypeIndex == abi.TypeDLTensorPtr || v.TypeIndex == abi.TypeObjectRValueRef {
		return lendView(x, v, from)
	} else {
		x.Bits = v.Bits
	}
	return nil
}

// lendView sets x to a value that refers to memory of its giver, and that only a callback
// should see. A DLTensor* becomes a Tensor if from says how long its memory is lent. Without
// that, it is the address alone, as an opaque pointer, through which no function reads.
func lendView(x *objects.Value, v abi.Any, from objects.Reading) error {
	if v.TypeIndex == abi.TypeDLTensorPtr {
		if v.Bits == 0 {
			x.Index = abi.TypeNone
			return nil
		}
		if from.Lends() {
			o, err := lendTensor(v, from, "ffi.Tensor")
			if err == nil {
				x.Index, x.Object = abi.TypeTensor, o
				return nil
			}
			x.Index, x.Bits = abi.TypeOpaquePtr, v.Bits
			return err
		}
	}
	x.Index, x.Bits = abi.TypeOpaquePtr, v.Bits
	return nil
}

// takeValue sets x, which is zero, to an owned value.
func takeValue(x *objects.Value, v abi.Any) {
	if v.TypeIndex.IsObject() && v.TypeIndex != abi.TypeStr && v.TypeIndex != abi.TypeBytes {
		if v.Bits != 0 {
			x.Index, x.Object = v.TypeIndex, objects.Own(uintptr(v.Bits))
		}
		return
	}
	if v.TypeIndex.IsObject() && v.Bits == 0 {
		return
	}
	_ = lendValue(x, v, objects.ReadOwned()) // which lends nothing, so it cannot fail
	Release(v)
}

// ViewOf returns the value as the library sees it; it borrows from a.
func ViewOf(a *objects.Value) (values.AnyView, error) {
	switch {
	case a.Object != nil:
		return EncodeObject(a.Object)
	case a.Index == abi.TypeStr:
		return Encode(a.Str)
	case a.Index == abi.TypeBytes:
		return Encode([]byte(a.Str))
	}
	return values.AnyView{Value: abi.Any{TypeIndex: a.Index, Bits: a.Bits}}, nil
}

// StringAny makes an Any of a text.
func StringAny[A any](s string) A {
	x := objects.Value{Index: abi.TypeStr, Str: s}
	return *(*A)(unsafe.Pointer(&x))
}

// BoolValue returns a bool as a value.
func BoolValue(v bool) abi.Any { return abi.Any{TypeIndex: abi.TypeBool, Bits: BoolBits(v)} }

// IntValue returns an int as a value.
func IntValue(v int64) abi.Any { return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)} }

// TakeJSON takes an owned string, which the library wrote as JSON.
func TakeJSON(v abi.Any) ([]byte, error) {
	defer Release(v)
	text, ok := capi.BorrowString(&v)
	if !ok {
		return nil, WrongType("ffi.String", v)
	}
	return ExactNumbers(bytes.Clone(text)), nil
}

// ReleaseTemp releases a packed value that the caller owns.
func ReleaseTemp(t values.AnyView) {
	if t.Owned {
		Release(t.Value)
	}
}

// Release drops the reference of an owned value.
func Release(v abi.Any) {
	if v.TypeIndex.IsObject() {
		objects.DecRef(uintptr(v.Bits))
	}
}
