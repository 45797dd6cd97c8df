package vm

import (
	"context"
	"runtime"
	"sync/atomic"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// thread is the OS thread on which a machine runs: TVM keeps a pool of workers for each thread that
// calls it. A goroutine that has the turn hands a task to the thread and waits for its end.
//
// A thread knows no machine, so the collector finds a machine that nobody uses, and ends its thread.
type thread struct {
	turn       chan struct{} // is full while a goroutine has the turn
	work, done chan struct{}
	id         int         // of the OS thread
	busy       atomic.Bool // a task runs, which may come back to the machine

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
	t := &thread{turn: make(chan struct{}, 1), work: make(chan struct{}), done: make(chan struct{})}
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
func (t *thread) stop() { close(t.work) }

// serve runs on the thread.
func (t *thread) serve() {
	for range t.work {
		t.run()
		t.done <- struct{}{}
	}
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
			t.done <- struct{}{}
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
	t.work <- struct{}{}
	<-t.done
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
