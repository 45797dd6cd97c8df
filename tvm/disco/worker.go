package disco

import (
	"errors"
	"fmt"
	"os"
	"sync"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// entry is the global function that every worker runs in place of the requested one. An error that
// reaches C++ on a worker's thread ends the process, so entry turns it into a value.
const entry = commandPrefix + "call"

// worker is the state of one worker of one session. Only the thread of the worker uses it, apart from
// group, whose connections may be closed by any goroutine.
type worker struct {
	id       workerID
	failures []failure // since the controller asked last
	group    *group    // nil until the workers have been connected
}

type workerID struct{ session, rank int64 }

// workers has the workers of this process by their threads. So a module finds its worker when it calls the collective
// operations, which get no session.
var workers = struct {
	sync.Mutex
	known map[int]*worker
}{known: map[int]*worker{}}

func workerOf(session int64) (*worker, error) {
	rank, err := generated.WorkerRank()
	if err != nil {
		return nil, err
	}
	workers.Lock()
	defer workers.Unlock()
	id, thread := workerID{session, rank}, threadID()
	w := workers.known[thread]
	if w == nil || w.id != id {
		if w != nil {
			w.setGroup(nil) // its thread has ended, and this one has its number
		}
		w = &worker{id: id}
		workers.known[thread] = w
	}
	return w, nil
}

// current returns the worker that runs on this thread.
func current() (*worker, error) {
	workers.Lock()
	defer workers.Unlock()
	if w := workers.known[threadID()]; w != nil {
		return w, nil
	}
	return nil, errors.New("this is not the thread of a worker, or Session.Call did not make the call")
}

// forget forgets the workers of a session in this process.
func forget(session int64) {
	forgetHosted(session)
	workers.Lock()
	defer workers.Unlock()
	for thread, w := range workers.known {
		if w.id.session == session {
			w.setGroup(nil)
			delete(workers.known, thread)
		}
	}
}

// setGroup closes the group of the worker and sets another one. The caller holds workers.
func (w *worker) setGroup(g *group) {
	if w.group != nil {
		_ = w.group.close(errClosed)
	}
	w.group = g
}

// forgetEnded forgets the workers whose threads have ended, after a session that another process controls.
func forgetEnded() {
	workers.Lock()
	ended := map[int64]bool{}
	for thread, w := range workers.known {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); err != nil {
			ended[w.id.session] = true
		}
	}
	workers.Unlock()
	for session := range ended {
		forget(session)
	}
}

// serve is the function behind entry. Its arguments are the number of the session, the function
// (its name, or itself) and the arguments of that. Its result is what the function returns, or
// the failure.
func serve(args []tvmffi.Any) (result any, err error) {
	if len(args) < 2 {
		return failed("", fmt.Errorf("the number of arguments of %s is %d, expected at least 2", entry, len(args))).value(), nil
	}
	name := nameOf(args[1])
	session, err := tvmffi.As[int64](args[0])
	if err != nil {
		return failed(name, err).value(), nil
	}
	w, err := workerOf(session)
	if err != nil {
		return failed(name, err).value(), nil
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = w.fail(failed(name, fmt.Errorf("panic: %v", p))), nil
		}
	}()
	result, err = w.run(name, args[1], args[2:])
	if err != nil {
		if name == commandPrefix+"large" {
			name = nameOf(args[2])
		}
		return w.fail(failed(name, err)), nil
	}
	return result, nil
}

func nameOf(function tvmffi.Any) string {
	if name, ok := function.Value().(string); ok {
		return name
	}
	return "a function of the worker"
}

// fail notes a failure for the next Sync and returns the value that stands for it.
func (w *worker) fail(f failure) any {
	if len(w.failures) < maxFailures {
		w.failures = append(w.failures, f)
	}
	return f.value()
}

// maxFailures bounds the failures that a worker keeps for a controller that never asks.
const maxFailures = 4

func (w *worker) run(name string, function tvmffi.Any, args []tvmffi.Any) (any, error) {
	if command := commands[name]; command != nil {
		return command(w, args)
	}
	// A call that depends on a failed call has failed with it, and counts once.
	if f, ok := failureIn(function); ok {
		return f.value(), nil
	}
	arguments := make([]any, len(args))
	for i, a := range args {
		if f, ok := failureIn(a); ok {
			return f.value(), nil
		}
		arguments[i] = a
	}
	return call(name, function, arguments)
}

// call calls a function that is named, or is one.
func call(name string, function tvmffi.Any, arguments []any) (any, error) {
	var f *tvmffi.Function
	var err error
	if function.TypeKey() == "ffi.String" {
		if f, err = tvmffi.Lookup(name); err != nil {
			return nil, err
		}
		defer f.Release()
	} else if f, err = tvmffi.As[*tvmffi.Function](function); err != nil {
		return nil, err
	}
	v, err := f.Call(arguments...)
	if err != nil {
		return nil, err
	}
	return given(v), nil
}

// given returns the result of a callback that gives the reference of v away.
func given(v tvmffi.Any) any {
	switch v.TypeKey() {
	case "None", "int", "bool", "float", "ffi.String", "ffi.Bytes":
		return v
	}
	if o, err := tvmffi.As[*tvmffi.Object](v); err == nil && o != nil {
		return tvmffi.Move(o)
	}
	return v
}
