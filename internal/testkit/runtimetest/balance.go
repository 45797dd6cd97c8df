package runtimetest

import (
	"runtime"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Collect runs the collector until done reports true, and fails the test if that takes
// too long. The text what names what is to be collected.
func Collect(t testing.TB, what string, done func() bool) {
	t.Helper()
	for range 200 {
		runtime.GC()
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%s: not collected", what)
}

// Balanced is [Load] and checks that the test leaves as many boxes and Go values behind
// as it found, without help of the collector.
func Balanced(t testing.TB) {
	t.Helper()
	Load(t)
	DropGarbage(t) // of earlier tests
	boxes, callbacks := LiveBoxes(t), objects.LiveCallbacks()
	t.Cleanup(func() {
		if n := LiveBoxes(t); n != boxes {
			t.Errorf("there are %d boxes more than before the test", n-boxes)
		}
		if n := objects.LiveCallbacks(); n != callbacks {
			t.Errorf("there are %d Go values more than before the test", n-callbacks)
		}
	})
}

// LiveBoxes returns how many objects of type calls.Box there are.
func LiveBoxes(t testing.TB) int64 { t.Helper(); return Get[int64](t, "calls.live") }

// DropGarbage waits until the collector has ended the errors and functions that nobody
// uses; nothing else ends them.
func DropGarbage(t testing.TB) {
	t.Helper()
	for last, same := garbage(t), 0; same < 3; {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if n := garbage(t); n == last {
			same++
		} else {
			last, same = n, 0
		}
	}
}

func garbage(t testing.TB) int64 { return objects.LiveCallbacks() + LiveBoxes(t) }

// SettledGoValues returns how many Go values native code holds, after the collector has
// ended what other tests left.
func SettledGoValues() int64 {
	for same, last := 0, int64(-1); ; {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
		if n := objects.LiveCallbacks(); n != last {
			same, last = 0, n
		} else if same++; same == 3 {
			return n
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
