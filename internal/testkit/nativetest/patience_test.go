package nativetest

import (
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	for load, want := range map[string]time.Duration{
		"0.50 0.40 0.30 1/300 12345\n": time.Minute,
		"8.00 0.40 0.30 1/300 12345\n": 4 * time.Minute,
		"0.50 9.00 9.00 6/300 12345\n": 3 * time.Minute,
		"":                             time.Minute,
	} {
		if got := patience(time.Minute, load, 2); got != want {
			t.Errorf("%q: %v, want %v", load, got, want)
		}
	}
	if got := Patience(time.Minute); got < time.Minute {
		t.Errorf("this machine: %v", got)
	}
}
