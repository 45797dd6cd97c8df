//go:build !((linux || darwin) && (amd64 || arm64)) || tvmffi_portable

package ccall

import (
	"sync"
	"sync/atomic"
)

// Here no code sees the C stack. But C usually passes a callback arguments that lie on it, below
// the enclosing callback. If they lie elsewhere, a callback counts as callbackSize of the stack.
// So that few callbacks pay for this, it begins when more than shallow of them run in the process.
const (
	shallow      = 8
	callbackSize = 4 << 10
)

// running counts the callbacks that have not returned.
var running atomic.Int32

// cStack is the C stack of a thread that is deep in callbacks.
type cStack struct {
	low, high uintptr
	// at is how far it is filled.
	at    uintptr
	depth int
}

var deepStacks struct {
	sync.Mutex
	all map[uintptr]*cStack // by thread
}

// nest runs the callback f and fills in f.Stack.
func nest(f *CallbackFrame) {
	if running.Add(1) > shallow {
		nestDeep(f)
	} else {
		callbackEntry(f)
	}
	running.Add(-1)
}

func nestDeep(f *CallbackFrame) {
	thread, low, high := threadStack()
	if high == 0 {
		callbackEntry(f)
		return
	}
	deepStacks.Lock()
	s := deepStacks.all[thread]
	if s == nil {
		s = &cStack{low: low, high: high, at: high}
		if deepStacks.all == nil {
			deepStacks.all = map[uintptr]*cStack{}
		}
		deepStacks.all[thread] = s
	}
	deepStacks.Unlock() // no other thread uses s
	before := s.at
	s.depth++
	s.at = before - min(callbackSize, before-low)
	for _, at := range [2]uintptr{f.Args, f.Res} {
		if at > low && at < before {
			s.at = min(s.at, at)
		}
	}
	if size := high - low; s.at-low < min(size/8, mostReserve) {
		f.Stack = size
	}
	callbackEntry(f)
	s.at = before
	if s.depth--; s.depth == 0 {
		deepStacks.Lock()
		delete(deepStacks.all, thread)
		deepStacks.Unlock()
	}
}

// FullStack returns the size of the C stack of the calling thread if the rest of it is too
// small for one more callback: below an eighth, or a quarter of a megabyte. Otherwise it
// returns 0.
func (f *CallbackFrame) FullStack() uintptr { return f.Stack }
