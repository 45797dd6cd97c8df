package vm

import "testing"

// TestSignal: two goroutines in turn see all that the other has given, whether they look, sleep, or do both.
func TestSignal(t *testing.T) {
	newSignal := func() *signal { return &signal{wake: make(chan struct{}, 1)} }
	there, back := newSignal(), newSignal()
	take := func(s *signal, i int) {
		if i%3 == 0 && s.look() {
			return
		}
		s.wait()
	}
	const rounds = 600
	at := 0 // belongs to the side that was given the signal last
	go func() {
		for i := range rounds {
			take(there, i)
			at++
			back.give()
		}
	}()
	for i := range rounds {
		at++
		there.give()
		take(back, i/2)
		if at != 2*(i+1) {
			t.Fatalf("%d steps after round %d, want %d", at, i, 2*(i+1))
		}
	}
	if len(there.wake) != 0 || len(back.wake) != 0 {
		t.Error("a side was woken that did not sleep")
	}
}
