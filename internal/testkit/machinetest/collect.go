package machinetest

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

// Settle collects until three collections in a row have found nothing. The count live is
// of objects that the collector ends too.
func Settle(live func() int64) {
	for last, same := [3]int64{}, 0; same < 3; same++ {
		RunCleanups()
		if n := [3]int64{objects.LiveCallbacks(), objects.Collected.Load(), live()}; n != last {
			last, same = n, 0
		}
	}
}
