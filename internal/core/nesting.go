package core

import (
	"runtime"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// overflow ends a callback that would leave too little of the C stack, which has the given
// size. A stack that overflows would end the process.
func (a *Args) overflow(size uintptr) {
	err := failure.Errorf(failure.KindRuntime, "%s: callbacks are nested %d deep, and the C stack of this thread (%d kB) is almost full: "+
		"end the recursion between Go and native code earlier, or give the thread a larger stack (ulimit -s does that for threads of Go)",
		a.function(), nested(), size>>10)
	a.frame.RC = failure.Raise(failure.Passed(err, a.origin()))
}

// nested returns how many callbacks have not returned on this thread. They share the stack
// of one goroutine, which has all their Go frames.
func nested() (n int) {
	pcs := make([]uintptr, 1<<12)
	got := runtime.Callers(1, pcs)
	for got == len(pcs) {
		pcs = make([]uintptr, 4*len(pcs))
		got = runtime.Callers(1, pcs)
	}
	for _, pc := range pcs[:got] {
		if f := runtime.FuncForPC(pc - 1); f != nil && strings.HasSuffix(f.Name(), "/internal/core.callbackEntry") {
			n++
		}
	}
	return n
}
