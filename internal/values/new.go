package values

import (
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// NewString makes an owned string value.
func NewString(s string) (abi.Any, error) { return newString(capi.API.StringFromByteArray, s) }

// NewBytes makes an owned bytes value with a copy of b.
func NewBytes(b []byte) (abi.Any, error) {
	return newString(capi.API.BytesFromByteArray, unsafe.String(unsafe.SliceData(b), len(b)))
}

func newString(fn uintptr, s string) (abi.Any, error) {
	array := capi.ByteArray(s)
	v, err := failure.InvokeResult(fn, capi.Address(array))
	capi.KeepAlive(array, s)
	return v, err
}

// NewBigInt makes an owned integer of two's complement words, the least
// significant byte first.
func NewBigInt(words []byte) (abi.Any, error) {
	if capi.API.BigIntFromByteArray == 0 {
		return abi.Any{}, failure.Errorf("OverflowError", "the loaded libtvm_ffi has no integers beyond those of int64: version 0.1.14 is the first")
	}
	return newString(capi.API.BigIntFromByteArray, string(words))
}

// BigIntContent copies the words of a BigInt object.
func BigIntContent(v abi.Any) []byte {
	p := &v
	content := []byte(capi.GoString(ccall.ByteArray(capi.API.BigIntContent, capi.Address(p))))
	capi.KeepValue(p)
	return content
}

// DataTypeFromString parses the name of a data type.
func DataTypeFromString(name string) (abi.DLDataType, error) {
	array := capi.ByteArray(name)
	out, err := failure.InvokeResult(capi.API.DataTypeFromString, capi.Address(array))
	capi.KeepAlive(array, name)
	return *(*abi.DLDataType)(unsafe.Pointer(&out)), err
}

// DataTypeToString asks the library for the name of a data type.
func DataTypeToString(t abi.DLDataType) (string, error) {
	p := &t
	v, err := failure.InvokeResult(capi.API.DataTypeToString, capi.Address(p))
	runtime.KeepAlive(p)
	if err != nil {
		return "", err
	}
	text, _ := capi.StringOf(v)
	if v.TypeIndex.IsObject() {
		objects.DecRef(uintptr(v.Bits))
	}
	return text, nil
}
