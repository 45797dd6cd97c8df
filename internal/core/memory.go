package core

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// At views C memory as a T. The address must be valid C memory for the use of
// the result; the collector does not see it.
func At[T any](address uintptr) *T {
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
}

// Text copies the bytes of b.
func Text(b abi.ByteArray) string {
	if b.Size == 0 {
		return ""
	}
	return string(unsafe.Slice(At[byte](b.Data), b.Size))
}

// cString copies a NUL-terminated text.
func cString(address uintptr) string {
	if address == 0 {
		return ""
	}
	n := uintptr(0)
	for *At[byte](address + n) != 0 {
		n++
	}
	return string(unsafe.Slice(At[byte](address), n))
}

// byteArray describes s for a call of C. The result and s must be kept alive
// until it returns; s must not be on the goroutine stack, so it is forced to the
// heap.
func byteArray(s string) *abi.ByteArray {
	escape(unsafe.Pointer(unsafe.StringData(s)))
	return &abi.ByteArray{Data: uintptr(unsafe.Pointer(unsafe.StringData(s))), Size: uintptr(len(s))}
}

var (
	never bool
	//lint:ignore U1000 written where never is set, which makes what it gets escape
	sink unsafe.Pointer
)

// escape makes the compiler put what p points to on the heap, which does not
// move. It costs nothing: the store never runs.
func escape(p unsafe.Pointer) {
	if never {
		sink = p
	}
}

// Escape makes the compiler put what p points to on the heap, for other packages.
func Escape(p unsafe.Pointer) { escape(p) }

// TextOf copies the text of a borrowed string or bytes value of any form.
func TextOf(v abi.Any) (string, bool) {
	switch v.TypeIndex {
	case abi.TypeSmallStr, abi.TypeSmallBytes:
		return string((*[8]byte)(unsafe.Pointer(&v.Bits))[:min(v.Small, abi.MaxSmall)]), true
	case abi.TypeStr, abi.TypeBytes:
		return Text(*At[abi.ByteArray](uintptr(v.Bits) + abi.ObjectSize)), true
	case abi.TypeRawStr:
		return cString(uintptr(v.Bits)), true
	case abi.TypeByteArrayPtr:
		return Text(*At[abi.ByteArray](uintptr(v.Bits))), true
	}
	return "", false
}
