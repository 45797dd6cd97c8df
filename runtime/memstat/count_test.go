package memstat_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestCollectorReleases(t *testing.T) {
	runtimetest.Load(t)
	before, collected := runtimetest.LiveBoxes(t), memstat.Collected()
	func() {
		for i := range 100 {
			runtimetest.MakeBox(t, int64(i))
		}
	}()
	runtimetest.Collect(t, "boxes", func() bool { return runtimetest.LiveBoxes(t) <= before })
	if n := memstat.Collected() - collected; n < 100 {
		t.Errorf("Collected grew by %d, want at least 100", n)
	}
	runtimetest.DropGarbage(t)
	collected = memstat.Collected()
	for i := range 100 {
		runtimetest.MakeBox(t, int64(i)).Release()
	}
	runtimetest.RunCleanups()
	runtimetest.RunCleanups()
	if n := memstat.Collected() - collected; n != 0 {
		t.Errorf("%d handles were collected although all were released", n)
	}
}

// TestCollected_last: Collected makes a handle that was made last known to the next collection.
func TestCollected_last(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.DropGarbage(t) // of earlier tests
	func() { runtimetest.MakeBox(t, 1) }()
	before := memstat.Collected()
	runtimetest.RunCleanups()
	if n := memstat.Collected() - before; n != 1 {
		t.Errorf("the collection found %d handles, want 1", n)
	}
}
