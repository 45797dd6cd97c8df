package memstat_test

import (
	"runtime"
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
	runtimetest.Collect(t, "handles of other tests", func() bool { runtime.GC(); n := memstat.Collected(); runtime.GC(); return n == memstat.Collected() })
	collected = memstat.Collected()
	for i := range 100 {
		runtimetest.MakeBox(t, int64(i)).Release()
	}
	runtime.GC()
	runtime.GC()
	if n := memstat.Collected() - collected; n != 0 {
		t.Errorf("%d handles were collected although all were released", n)
	}
}
