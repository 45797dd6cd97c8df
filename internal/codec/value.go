package codec

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// lendAny makes an A, which is the Any of package tvmffi, of a borrowed value.
func LendAny[A any](v abi.Any, from core.Lender) A {
	x := lendValue(v, from)
	return *(*A)(unsafe.Pointer(&x))
}

// takeAnyAs is lendAny for an owned value.
func TakeAnyAs[A any](v abi.Any) A {
	x := takeValue(v)
	return *(*A)(unsafe.Pointer(&x))
}

// recordOfAny returns the record of an Any.
func RecordOfAny[A any](a *A) *core.Value { return (*core.Value)(unsafe.Pointer(a)) }

// lendValue makes a Value of a borrowed value.
func lendValue(v abi.Any, from core.Lender) core.Value {
	if text, ok := core.TextOf(v); ok {
		switch v.TypeIndex {
		case abi.TypeSmallStr, abi.TypeRawStr, abi.TypeStr:
			return core.Value{Index: abi.TypeStr, Text: text}
		}
		return core.Value{Index: abi.TypeBytes, Text: text}
	}
	if v.TypeIndex.IsObject() {
		return core.Value{Index: v.TypeIndex, Object: lend(v, from)}
	}
	return core.Value{Index: v.TypeIndex, Bits: v.Bits}
}

// takeValue makes a Value of an owned value.
func takeValue(v abi.Any) core.Value {
	if v.TypeIndex.IsObject() && v.Bits == 0 {
		return core.Value{}
	}
	if v.TypeIndex.IsObject() && v.TypeIndex != abi.TypeStr && v.TypeIndex != abi.TypeBytes {
		return core.Value{Index: v.TypeIndex, Object: core.Own(uintptr(v.Bits))}
	}
	a := lendValue(v, nil)
	Release(v)
	return a
}

// viewOf returns the value as the library sees it; it borrows from a.
func ViewOf(a *core.Value) (core.Temp, error) {
	switch {
	case a.Object != nil:
		return EncodeObject(a.Object)
	case a.Index == abi.TypeStr:
		return Encode(a.Text)
	case a.Index == abi.TypeBytes:
		return Encode([]byte(a.Text))
	}
	return core.Temp{Value: abi.Any{TypeIndex: a.Index, Bits: a.Bits}}, nil
}

// textAny makes an Any of a text.
func TextAny[A any](s string) A {
	x := core.Value{Index: abi.TypeStr, Text: s}
	return *(*A)(unsafe.Pointer(&x))
}
