// Package leaktest makes a test fail if it does not release the handles of native objects
// that it makes.
package leaktest

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// Check fails the test, when it ends, if the garbage collector had to release a handle that
// the test made. With the build tag tvmffi_debug the failure lists the handles that were
// not released, with the stacks that made them. A test that uses Check must not run in
// parallel with other tests that make handles.
func Check(t testing.TB) {
	t.Helper()
	collect()
	before, live := memstat.Collected(), len(memstat.LiveHandles())
	t.Cleanup(func() {
		t.Helper()
		if handles := memstat.LiveHandles(); len(handles) > live {
			t.Errorf("%d handles were not released:\n%s", len(handles)-live, describe(handles))
		}
		collect()
		if n := memstat.Collected() - before; n > 0 {
			t.Errorf("the collector had to release %d handles; run \"go test -tags tvmffi_debug\" to see where they were made", n)
		}
	})
}

func describe(handles []memstat.Handle) string {
	var b strings.Builder
	for _, h := range handles {
		b.WriteString(h.String() + "\n")
	}
	return b.String()
}

// collect runs the cleanups of all values that are unreachable now. The cleanups run on
// goroutines of the Go runtime, in any order.
func collect() {
	memstat.Collected() // this makes the newest handles known to the collector
	for range 2 {
		runtime.GC()
		objects.AwaitCleanups(10 * time.Second)
	}
}
