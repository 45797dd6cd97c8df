package capi

import (
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// PointerTo views C memory as a T. The address must be valid C memory for the use of
// the result; the collector does not see it.
func PointerTo[T any](address uintptr) *T {
	return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
}

// GoString copies the bytes of b.
func GoString(b abi.ByteArray) string {
	if b.Size == 0 {
		return ""
	}
	return string(unsafe.Slice(PointerTo[byte](b.Data), b.Size))
}

// cString copies a NUL-terminated text.
func CString(address uintptr) string {
	if address == 0 {
		return ""
	}
	n := uintptr(0)
	for *PointerTo[byte](address + n) != 0 {
		n++
	}
	return string(unsafe.Slice(PointerTo[byte](address), n))
}

// byteArray describes s for a call of C. The result and s must be kept alive
// until it returns; s must not be on the goroutine stack, so it is forced to the
// heap.
func ByteArray(s string) *abi.ByteArray {
	Escape(unsafe.Pointer(unsafe.StringData(s)))
	return &abi.ByteArray{Data: uintptr(unsafe.Pointer(unsafe.StringData(s))), Size: uintptr(len(s))}
}

var (
	never bool
	//lint:ignore U1000 written where never is set, which makes what it gets escape
	sink unsafe.Pointer
)

// Escape makes the compiler put what p points to on the heap, which does not
// move. It costs nothing: the store never runs.
func Escape(p unsafe.Pointer) {
	if never {
		sink = p
	}
}

// StringOf copies the text of a borrowed string or bytes value of any form.
func StringOf(v abi.Any) (string, bool) {
	switch v.TypeIndex {
	case abi.TypeSmallStr, abi.TypeSmallBytes:
		return string((*[8]byte)(unsafe.Pointer(&v.Bits))[:min(v.Small, abi.MaxSmall)]), true
	case abi.TypeStr, abi.TypeBytes:
		return GoString(*PointerTo[abi.ByteArray](uintptr(v.Bits) + abi.ObjectSize)), true
	case abi.TypeRawStr:
		return CString(uintptr(v.Bits)), true
	case abi.TypeByteArrayPtr:
		return GoString(*PointerTo[abi.ByteArray](uintptr(v.Bits))), true
	}
	return "", false
}

// allocate returns zeroed C memory.
func Allocate(size uintptr) uintptr {
	base, _, _ := purego.SyscallN(Malloc, size)
	if base == 0 {
		panic("tvmffi: out of memory")
	}
	clear(unsafe.Slice(PointerTo[byte](base), size))
	return base
}

// HasRoom reports whether malloc has so many bytes.
func HasRoom(size uintptr) bool {
	base, _, _ := purego.SyscallN(Malloc, size)
	purego.SyscallN(CFunction("free"), base)
	return base != 0
}

// Elements views the elements of an Array or List that the caller keeps alive and
// unchanged while it looks.
func Elements(handle uintptr) []abi.Any {
	cell := PointerTo[abi.SeqCell](handle + abi.ObjectSize)
	if cell.Size <= 0 {
		return nil
	}
	return unsafe.Slice(PointerTo[abi.Any](cell.Data), cell.Size)
}

// SmallString returns the value of a string of up to MaxSmall bytes.
func SmallString(s string) abi.Any {
	var bytes [8]byte
	copy(bytes[:], s)
	return abi.Any{TypeIndex: abi.TypeSmallStr, Small: uint32(len(s)), Bits: *(*uint64)(unsafe.Pointer(&bytes))}
}

// BorrowString views the text of a string value of any form, or of bytes, without a
// copy; ok is false for other values. v must stay where it is and what it refers
// to must live while the result is used.
func BorrowString(v *abi.Any) (text []byte, ok bool) {
	switch v.TypeIndex {
	case abi.TypeStr:
		b := PointerTo[abi.ByteArray](uintptr(v.Bits) + abi.ObjectSize)
		return unsafe.Slice(PointerTo[byte](b.Data), b.Size), true
	case abi.TypeSmallStr:
		return (*[8]byte)(unsafe.Pointer(&v.Bits))[:min(v.Small, abi.MaxSmall)], true
	}
	return nil, false
}
