//go:build tvmffi_liveness

package ccall

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// Liveness reports whether the program was built with the tag tvmffi_liveness, which is for
// tests. With the tag, everything unreachable ends where native memory is reached: at every
// crossing, and where the handle of an object is read. An object that its user does not keep
// alive is gone then.
const Liveness = true

// Collect ends everything unreachable, once for each way that leads to it. The ways differ in
// the functions that are nearest to the call of Collect.
func Collect() {
	var way [8]uintptr
	runtime.Callers(2, way[:])
	collections.Lock()
	if collections.of == nil {
		collections.of = map[[8]uintptr]bool{}
	}
	skip := collections.of[way] || collections.runs
	if !skip {
		collections.of[way], collections.runs = true, true
	}
	collections.Unlock()
	if skip {
		return
	}
	for n := 0; n < 3 && end(); n++ {
		// The Go values of what has ended are garbage now.
	}
	collections.Lock()
	collections.runs = false
	collections.Unlock()
}

// end runs a collection and reports whether it started cleanups, for which it waits.
func end() bool {
	runtime.GC()
	samples := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(samples)
	if samples[0].Value.Uint64() == collections.ended {
		return false
	}
	collections.ended = samples[0].Value.Uint64()
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; time.Sleep(10 * time.Microsecond) {
		metrics.Read(samples)
		if samples[1].Value.Uint64() >= samples[0].Value.Uint64() {
			break
		}
	}
	return true
}

// Again makes Collect forget the ways, so that it works once more on each.
func Again() {
	collections.Lock()
	defer collections.Unlock()
	clear(collections.of)
}

var collections struct {
	sync.Mutex
	of   map[[8]uintptr]bool
	runs bool // a cleanup must not wait for itself
	// ended is how many cleanups had been started.
	ended uint64
}
