package environment

import (
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/callbacks"
)

// Callee is a call of a Go func: *callbacks.Args or *callbacks.Task.
type Callee interface {
	// Recovered is the error of a panic of the func.
	Recovered(any) error
	// Exited is the error of runtime.Goexit in the func.
	Exited() error
}

// Elsewhere runs f, which belongs to call, on a goroutine of its own, with the streams and the
// allocator of the calling thread. Then it calls end there with the error of f. A panic and
// runtime.Goexit are errors.
func Elsewhere(call Callee, f func() error, end func(error)) {
	here := SettingsHere()
	go func() {
		var err error
		returned := false
		defer func() {
			if p := recover(); p != nil {
				err = call.Recovered(p)
			} else if !returned {
				err = call.Exited()
			}
			end(err)
		}()
		err = here.Apply(f)
		returned = true
	}()
}

// maxWaiting is the number of calls that may wait for another goroutine at the same time. A
// call from there into native code needs a thread, so an endless recursion between Go
// and native code would need endless threads: the stack of none of them gets full. Go ends
// the process at 10,000 threads.
const maxWaiting = 4000

var waiting atomic.Int64

// Wait is Elsewhere for a caller that waits: wait gets the channel of the error of f.
func Wait(a *callbacks.Args, f func() error, wait func(done <-chan error) error) error {
	defer waiting.Add(-1)
	if n := waiting.Add(1); n > maxWaiting {
		return a.Waits(n - 1)
	}
	done := make(chan error, 1)
	Elsewhere(a, f, func(err error) { done <- err })
	return wait(done)
}

// Contained calls f, which belongs to the call with the arguments a, so that runtime.Goexit in f
// is an error. A goroutine with frames of C below it cannot end, so f runs on another one.
// Contained waits for f: the arguments stay valid until f returns.
func Contained(a *callbacks.Args, f func() error) error {
	return Wait(a, f, func(done <-chan error) error { return <-done })
}

// contain is set by ContainCallbacks.
var contain atomic.Bool

// ContainCallbacks makes NewCallback contain the callbacks that it makes from then on.
func ContainCallbacks() { contain.Store(true) }

// NewCallback is callbacks.NewOf for a call that runs a func of the user. It is contained after
// ContainCallbacks. The origin is 0 if the code of the func is not known.
func NewCallback(call func(*callbacks.Args) error, origin uintptr) uintptr {
	if !contain.Load() {
		return callbacks.NewOf(call, origin)
	}
	return callbacks.NewOf(func(a *callbacks.Args) error {
		return Contained(a, func() error { return call(a) })
	}, origin)
}
