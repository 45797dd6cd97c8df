package rpc

import (
	"math"
	"testing"
	"time"
)

// TestMilliseconds: a time that is not 0 is at least one millisecond.
func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, 500 * time.Microsecond: 1, time.Millisecond: 1, 1001 * time.Microsecond: 2, time.Second: 1000, math.MaxInt64: 9223372036855} {
		if got := milliseconds(d); got != want {
			t.Errorf("%v are %d ms, want %d", d, got, want)
		}
	}
}
