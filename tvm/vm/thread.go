package vm

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// thread is the OS thread on which a machine runs: TVM keeps a pool of workers for each thread that
// calls it. A goroutine that has the turn hands a task to the thread and waits for its end.
//
// A thread knows no machine, so the collector finds a machine that nobody uses, and ends its thread.
type thread struct {
	turn chan struct{} // is full while a goroutine has the turn
	id   int           // of the OS thread
	busy atomic.Bool   // a task runs, which may come back to the machine

	handed, finished signal
	brief            bool         // the last task was short; the thread sets it before finished
	rest             atomic.Int32 // how many tasks it takes until a side looks again before it sleeps
	ended            bool         // no task follows; set before handed

	task task // of the goroutine that has the turn
}

// task is what the thread has to do: f, or else a call of function.
type task struct {
	f        func() error
	function *tvmffi.Function
	args     []any

	result   tvmffi.Any
	err      error
	panicked any
	exited   bool // by runtime.Goexit
}

// newThread starts a thread, which ends after stop.
func newThread() *thread {
	t := &thread{turn: make(chan struct{}, 1)}
	t.handed.wake, t.finished.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	begun := make(chan struct{})
	go t.begin(begun)
	<-begun
	return t
}

// begin binds this goroutine to a thread and serves. It leaves the main thread of the process, which never
// ends, to others.
func (t *thread) begin(begun chan struct{}) {
	runtime.LockOSThread() // and does not unlock it: the OS thread ends with the goroutine, and TVM's workers with it
	if isMain(threadID()) {
		go t.begin(begun)
		<-begun // until then the main thread is taken
		runtime.UnlockOSThread()
		return
	}
	t.id = threadID()
	close(begun)
	t.serve()
}

// stop ends the thread. The caller has the turn, or nobody has the machine any more.
func (t *thread) stop() {
	t.ended = true
	t.handed.give()
}

const (
	short    = 50 * time.Microsecond  // how long a short task takes at most
	patience = 200 * time.Microsecond // how long a side looks; to wake a goroutine takes less, unless the processors are busy
	pause    = 250                    // the tasks in which no side looks, after it has looked in vain
)

// serve runs on the thread.
func (t *thread) serve() {
	for {
		t.await(&t.handed, t.brief)
		if t.ended {
			return
		}
		began := time.Now()
		t.run()
		t.brief = time.Since(began) < short
		if n := t.rest.Load(); n > 0 {
			t.rest.CompareAndSwap(n, n-1)
		}
		t.finished.give()
	}
}

// await waits for the other side. To sleep and to wake takes some microseconds, and more in a virtual machine, so a
// side looks for a while before it sleeps, but not after a long task, such as a step of a model: there a change of the
// thread is cheap beside the task, and the processors are free for TVM's workers. If it looked in vain, because
// the processors are busy or no task follows, neither side looks in the next tasks.
func (t *thread) await(s *signal, brief bool) {
	if brief && t.rest.Load() == 0 {
		if s.look() {
			return
		}
		t.rest.Store(pause)
	}
	s.wait()
}

// run runs a task. If the task ends its goroutine, which is that of the thread, run serves the next
// tasks itself: the goroutine ends when run returns.
func (t *thread) run() {
	returned := false
	t.busy.Store(true)
	defer func() {
		t.busy.Store(false)
		if returned {
			return
		}
		if t.task.panicked = recover(); t.task.panicked == nil {
			t.task.exited = true
			t.brief = false
			t.finished.give()
			t.serve()
		}
	}()
	if c := &t.task; c.f != nil {
		c.err = c.f()
	} else {
		c.result, c.err = c.function.Call(c.args...)
	}
	returned = true
}

// inside reports whether this goroutine runs on the thread, in a task.
func (t *thread) inside() bool { return t.busy.Load() && threadID() == t.id }

// wait waits for the turn.
func (t *thread) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hand runs the task on the thread, for a goroutine that has the turn, and returns it with its outcome.
func (t *thread) hand() task {
	brief := t.brief // of the task before
	t.handed.give()
	t.await(&t.finished, brief)
	c := t.task
	clear(c.args)
	t.task = task{args: c.args[:0]}
	return c
}

// settle returns the outcome of a task. A panic of the task, and a runtime.Goexit, go on in this goroutine.
func (c *task) settle() (tvmffi.Any, error) {
	switch {
	case c.panicked != nil:
		panic(c.panicked)
	case c.exited:
		runtime.Goexit()
	}
	return c.result, c.err
}

// signal tells one goroutine that waits that the other one has given it something. Who sleeps is woken by
// the operating system, which takes some microseconds; who looks sees it at once.
type signal struct {
	given, asleep atomic.Bool
	wake          chan struct{} // of one element
}

// give gives the signal.
func (s *signal) give() {
	s.given.Store(true)
	if s.asleep.CompareAndSwap(true, false) {
		s.wake <- struct{}{}
	}
}

// look takes the signal if it is given soon.
func (s *signal) look() bool {
	for began := time.Now(); time.Since(began) < patience; {
		for range 100 {
			if s.given.Load() {
				s.given.Store(false)
				return true
			}
		}
	}
	return false
}

// wait waits for the signal and takes it.
func (s *signal) wait() {
	for {
		s.asleep.Store(true)
		// Either this side sees what was given before it slept, or the giver sees that it sleeps. The giver of an
		// earlier signal, which this side took before it slept, may see it too: then nothing is given.
		if !s.given.Load() || !s.asleep.CompareAndSwap(true, false) {
			<-s.wake
		}
		if s.given.Load() {
			s.given.Store(false)
			return
		}
	}
}
