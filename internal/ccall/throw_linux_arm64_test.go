//go:build !tvmffi_portable

package ccall

import (
	"slices"
	"testing"
	"unsafe"
)

// TestCallFrame: the unwinder gets the size that the first instruction of callBlock has,
// MOVD.W R30, -size(RSP).
func TestCallFrame(t *testing.T) {
	const at, bits = 12, 9
	first := *(*uint32)(unsafe.Pointer(&_callBlock))
	size := byte(-(int32(first<<(32-at-bits)) >> (32 - bits)))
	if got := trampolines[0].rules; !slices.Equal(got, []byte{defCFA, 21, size, savedAt | linkRegister, size / byte(word)}) {
		t.Errorf("the frame has %d bytes, and the unwinder gets %v", size, got)
	}
}
