package cuda

import "testing"

// TestVisitAfterCaptures notes a guest when the capture has ended on another goroutine: nothing would take the note away, so
// there is none. The driver cannot be slow between the two steps, so the second one is called alone.
func TestVisitAfterCaptures(t *testing.T) {
	var s state
	if s.visit() || s.order.captures.Load() != 0 {
		t.Error("the device counts as captured, and no capture runs")
	}
	capturers.n.Add(1)
	defer capturers.n.Add(-1)
	for range 2 { // two streams of the device
		if !s.visit() || s.order.captures.Load() != 1 {
			t.Errorf("a capture runs, and the device counts as captured %d times", s.order.captures.Load())
		}
	}
	capturers.guests = nil
}
