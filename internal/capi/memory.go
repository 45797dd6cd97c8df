package capi

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// GoString copies the bytes of b.
func GoString(b abi.ByteArray) string {
	if b.Size == 0 {
		return ""
	}
	return string(unsafe.Slice(PointerTo[byte](b.Data), b.Size))
}

// CString copies a NUL-terminated string.
func CString(address uintptr) string {
	if address == 0 {
		return ""
	}
	n := uintptr(0)
	for *PointerTo[byte](address + n) != 0 {
		if n++; n == 32 { // for less, a call costs more than it saves
			n += length(address + n)
			break
		}
	}
	return string(unsafe.Slice(PointerTo[byte](address), n))
}

// length is strlen. The bytes behind the NUL may belong to others, or to nobody, but can be read up
// to the end of the page.
//
//go:nocheckptr
func length(address uintptr) (n uintptr) {
	const page = 4096 // or more
	for {
		rest := unsafe.Slice(PointerTo[byte](address+n), page-(address+n)%page)
		if i := bytes.IndexByte(rest, 0); i >= 0 {
			return n + uintptr(i)
		}
		n += uintptr(len(rest))
	}
}

// ByteArray describes s for a call of C. The caller keeps the result and s alive until the
// call returns. s must not be on the goroutine stack, so byteArray moves it to the heap.
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

// StringOf copies a borrowed string or bytes value of any form.
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

// Allocate returns zeroed C memory. Large memory takes no page before its use.
func Allocate(size uintptr) uintptr {
	base, _, _ := purego.SyscallN(calloc, 1, size)
	if base == 0 {
		panic("tvmffi: out of memory")
	}
	return base
}

// HasRoom reports whether malloc can allocate n bytes.
func HasRoom(size uintptr) bool {
	base, _, _ := purego.SyscallN(Malloc, size)
	purego.SyscallN(CFunction("free"), base)
	return base != 0
}

// Elements returns the elements of an Array or List in place. The caller keeps the object
// alive and unchanged while it uses them.
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

// BorrowString returns a string or bytes value of any form without a copy. It reports false
// for other values. While the result is used, v must not move, and the memory to which it
// refers must stay valid.
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

// SafeCall returns the C function behind a Function object. To call it directly is what
// TVMFFIFunctionCall does.
func SafeCall(handle uintptr) uintptr {
	return PointerTo[abi.FunctionCell](handle + abi.ObjectSize).SafeCall
}

// KeepValue keeps a value that C looks at alive until here.
func KeepValue(v *abi.Any) { runtime.KeepAlive(v) }

// KeepAlive keeps a text and its description alive until here.
func KeepAlive(array *abi.ByteArray, s string) {
	runtime.KeepAlive(array)
	runtime.KeepAlive(s)
}

// Flush writes what the C library holds of the output of all its streams. It reports false if the
// C library could not write all.
func Flush() bool {
	const everyStream = 0
	failed, _, _ := purego.SyscallN(CFunction("fflush"), everyStream)
	return int32(failed) == 0
}
