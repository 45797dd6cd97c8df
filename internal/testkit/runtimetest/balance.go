package runtimetest

import (
	"runtime"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// RunCleanups runs the collector and waits until the cleanups of what it found have run. A busy machine may run them
// long after the collection.
func RunCleanups() {
	runtime.GC()
	objects.AwaitCleanups(nativetest.Patience(20 * time.Second))
}

// Eventually waits until done reports true, and returns false if that takes too long.
func Eventually(done func() bool) bool {
	for late := time.Now().Add(nativetest.Patience(20 * time.Second)); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}

// Collect runs the collector until done reports true, and fails the test if that takes
// too long. The text what names what is to be collected.
func Collect(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Eventually(func() bool { RunCleanups(); return done() }) {
		t.Errorf("%s: not collected", what)
	}
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
	settled(func() int64 { return LiveBoxes(t) })
}

// SettledGoValues returns how many Go values native code holds, after the collector has
// ended what other tests left.
func SettledGoValues() int64 {
	settled(func() int64 { return 0 })
	return objects.LiveCallbacks()
}

// settled collects until three collections in a row have found nothing.
func settled(boxes func() int64) {
	for last, same := [3]int64{}, 0; same < 3; same++ {
		RunCleanups()
		if n := [3]int64{objects.LiveCallbacks(), objects.Collected.Load(), boxes()}; n != last {
			last, same = n, 0
		}
	}
}

// UseStack uses 512 bytes of stack for each of n levels.
func UseStack(n int) (a [64]int) {
	if n > 0 {
		a = UseStack(n - 1)
	}
	a[n%64] = n
	return a
}
