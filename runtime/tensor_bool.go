package tvmffi

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// A bool of Go is the byte 0 or 1, and the compiler relies on it. Memory of other languages may hold any byte in a bool
// tensor, and there each byte but 0 is true. So no such byte is ever read as a bool: copies are made of bytes, and then
// true is 1, and a slice of the memory itself exists only if each byte is 0 or 1.

// isBool reports whether T is a bool.
func isBool[T Element]() bool { return elementType[T]() == Bool }

// boolsOf makes 1 of each byte of b that is not 0. The caller has no []bool of them yet, or has given it away for the call.
func boolsOf(b []byte) {
	for i, x := range b {
		if x > 1 {
			b[i] = 1
		}
	}
}

// onlyBools returns an error unless each byte is a bool of Go.
func onlyBools(t *Tensor, b []byte) error {
	for i, x := range b {
		if x > 1 {
			return failure.Errorf(failure.KindValue, "tensor %s: element %d is the byte %d, expected 0 or 1 in a slice of bools: use CopyTo or ElementsOf, for which each byte but 0 is true", t, i, x)
		}
	}
	return nil
}

// load returns the element at p, which may be any byte if T is a bool.
func load[T Element](p *T, isBool bool) T {
	if !isBool {
		return *p
	}
	b := *(*byte)(unsafe.Pointer(p)) != 0
	return *(*T)(unsafe.Pointer(&b))
}
