package kernelrt

import (
	"math"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestHalf compares with the table of all halves: each stays as it is, and what lies
// between two goes to the nearer one.
func TestHalf(t *testing.T) {
	for bits := range 0x7c00 {
		low, high := tvmffi.F16(bits).Float32(), tvmffi.F16(bits+1).Float32()
		if bits+1 == 0x7c00 {
			high = 65536 // where the next half would be
		}
		middle := (low + high) / 2
		even := uint16(bits + bits&1)
		for x, want := range map[float32]uint16{
			low: uint16(bits), middle: even,
			math.Nextafter32(middle, 0): uint16(bits), math.Nextafter32(middle, 1e6): uint16(bits + 1),
		} {
			if got := half(x); got != want {
				t.Fatalf("half(%v) = %#x, want %#x", x, got, want)
			}
			if got := half(-x); got != want|0x8000 && x != 0 {
				t.Fatalf("half(%v) = %#x, want %#x", -x, got, want|0x8000)
			}
		}
	}
	for x, want := range map[float32]uint16{float32(math.Inf(1)): 0x7c00, float32(math.Inf(-1)): 0xfc00, 1e9: 0x7c00, math.MaxFloat32: 0x7c00} {
		if got := half(x); got != want {
			t.Errorf("half(%v) = %#x, want %#x", x, got, want)
		}
	}
	if got := half(float32(math.NaN())); got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
		t.Errorf("half(NaN) = %#x", got)
	}
}
