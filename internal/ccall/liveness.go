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

// Collect ends everything unreachable, the first times that it is reached by one way. The
// ways differ in the functions that are nearest to the call of Collect.
func Collect() {
	var way [8]uintptr
	runtime.Callers(2, way[:])
	collections.Lock()
	if collections.of == nil {
		collections.of = map[[8]uintptr]int{}
	}
	collections.of[way]++
	done := collections.of[way] > 2
	collections.Unlock()
	if done {
		return
	}
	runtime.GC()
	samples := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; time.Sleep(10 * time.Microsecond) {
		metrics.Read(samples)
		if samples[1].Value.Uint64() >= samples[0].Value.Uint64() {
			return
		}
	}
}

var collections struct {
	sync.Mutex
	of map[[8]uintptr]int
}
