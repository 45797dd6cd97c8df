package packed

import (
	"testing"
	"unsafe"
)

// TestEnd: nothing of a launch is left for the next one, which may take its memory. Begin of
// cuda/kernelrt sets the numbers that End leaves.
func TestEnd(t *testing.T) {
	l := New()
	l.Kernel, l.Stream, l.Raw, l.Cluster = t, t, true, [3]uint32{1, 2, 3}
	l.End()
	if l.Kernel != nil || l.Stream != nil || l.Raw || l.Cluster != [3]uint32{} {
		t.Errorf("left: %v, %v, %t, %v", l.Kernel, l.Stream, l.Raw, l.Cluster)
	}
	for i, at := range l.addresses {
		if at != uintptr(unsafe.Pointer(&l.Params[i])) {
			t.Errorf("parameter %d is not at its address", i)
		}
	}
}
