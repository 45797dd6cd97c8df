package cuda

import (
	"math"
	"testing"
)

// TestOption: a number that the driver cannot take does not become another one.
func TestOption(t *testing.T) {
	for n, want := range map[int]uintptr{0: 0, 32: 32, math.MaxUint32: math.MaxUint32, 1<<32 + 32: math.MaxUint32, -1: math.MaxUint32} {
		if got := option(n); got != want {
			t.Errorf("%d becomes %d, want %d", n, got, want)
		}
	}
}
