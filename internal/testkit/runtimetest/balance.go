package runtimetest

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/machinetest"
)

// RunCleanups is [machinetest.RunCleanups].
func RunCleanups() { machinetest.RunCleanups() }

// Eventually is [machinetest.Eventually].
func Eventually(done func() bool) bool { return machinetest.Eventually(done) }

// Collect is [machinetest.Collect].
func Collect(t testing.TB, what string, done func() bool) {
	t.Helper()
	machinetest.Collect(t, what, done)
}

// Balanced is [Load] and checks that the test leaves as many boxes and Go values behind
// as it found, without help of the collector.
func Balanced(t testing.TB) {
	t.Helper()
	Load(t)
	DropGarbage(t) // of earlier tests
	boxes, callbacks := LiveBoxes(t), objects.LiveCallbacks()
	t.Cleanup(func() {
		// A thread of C++ that has called Go may drop its function a little later.
		if !Eventually(func() bool { return LiveBoxes(t) == boxes && objects.LiveCallbacks() == callbacks }) {
			t.Errorf("there are %d boxes and %d Go values more than before the test", LiveBoxes(t)-boxes, objects.LiveCallbacks()-callbacks)
		}
	})
}

// LiveBoxes returns how many objects of type calls.Box there are.
func LiveBoxes(t testing.TB) int64 { t.Helper(); return Get[int64](t, "calls.live") }

// DropGarbage waits until the collector has ended the errors and functions that nobody
// uses; nothing else ends them.
func DropGarbage(t testing.TB) {
	t.Helper()
	machinetest.Settle(func() int64 { return LiveBoxes(t) })
}

// SettledGoValues returns how many Go values native code holds, after the collector has
// ended what other tests left.
func SettledGoValues() int64 {
	machinetest.Settle(func() int64 { return 0 })
	return objects.LiveCallbacks()
}

// UseStack uses 512 bytes of stack for each of n levels.
func UseStack(n int) (a [64]int) {
	if n > 0 {
		a = UseStack(n - 1)
	}
	a[n%64] = n
	return a
}
