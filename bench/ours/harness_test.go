package main

import (
	"testing"
	"time"
)

// TestPieceTime has pieces that take a millisecond at least, so their median does, too.
func TestPieceTime(t *testing.T) {
	for pieces := 1; pieces <= 3; pieces++ {
		ran := 0
		ns, quiet := pieceTime(func(n int) { ran += n; time.Sleep(time.Millisecond) }, 10, pieces)
		if ran != 10*pieces || ns < 1e5 || quiet < 0 || quiet > pieces {
			t.Errorf("%d pieces: %d operations of %v ns, %d pieces undisturbed", pieces, ran, ns, quiet)
		}
	}
}
