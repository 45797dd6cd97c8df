package disco

import (
	"errors"
	"fmt"
	"sync"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	tvm "github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// entry is the global function that every worker runs in place of the one that is asked for.
// An error that reaches C++ on a thread of a worker ends the process, so entry makes a value of it.
const entry = commandPrefix + "call"

// worker is what one worker of one session knows. Only the thread of the worker uses it, apart
// from group, whose connections may be closed by any goroutine.
type worker struct {
	id       workerID
	failures []failure // since the controller asked last
	group    *group    // nil until the workers have been connected
	listener *meeting  // until they are
}

type workerID struct{ session, rank int64 }

// workers has the workers of this process. running has the one that runs on a thread, so that a
// module may call the collective operations, which get no session.
var workers struct {
	sync.Mutex
	known   map[workerID]*worker
	running map[int]*worker
}

func workerOf(session int64) (*worker, error) {
	rank, err := generated.WorkerRank()
	if err != nil {
		return nil, err
	}
	workers.Lock()
	defer workers.Unlock()
	id := workerID{session, rank}
	w := workers.known[id]
	if w == nil {
		if workers.known == nil {
			workers.known, workers.running = map[workerID]*worker{}, map[int]*worker{}
		}
		w = &worker{id: id}
		workers.known[id] = w
	}
	return w, nil
}

// enter notes that w runs on this thread until the func that it returns is called.
func (w *worker) enter() (leave func()) {
	thread := threadID()
	workers.Lock()
	before := workers.running[thread]
	workers.running[thread] = w
	workers.Unlock()
	return func() {
		workers.Lock()
		defer workers.Unlock()
		if before == nil {
			delete(workers.running, thread)
		} else {
			workers.running[thread] = before
		}
	}
}

// current returns the worker that runs on this thread.
func current() (*worker, error) {
	workers.Lock()
	defer workers.Unlock()
	if w := workers.running[threadID()]; w != nil {
		return w, nil
	}
	return nil, errors.New("this is not the thread of a worker, or Session.Call did not make the call")
}

// disconnect ends the collective operations of the workers of a session in this process, which
// then fail, and forget forgets these workers.
func disconnect(session int64) {
	for _, w := range workersOf(session) {
		w.close()
	}
}

func forget(session int64) {
	disconnect(session)
	forgetHosted(session)
	workers.Lock()
	defer workers.Unlock()
	for id := range workers.known {
		if id.session == session {
			delete(workers.known, id)
		}
	}
}

func workersOf(session int64) []*worker {
	workers.Lock()
	defer workers.Unlock()
	var all []*worker
	for id, w := range workers.known {
		if id.session == session {
			all = append(all, w)
		}
	}
	return all
}

func (w *worker) close() {
	workers.Lock()
	g, l := w.group, w.listener
	workers.Unlock()
	if l != nil {
		l.close()
	}
	if g != nil {
		g.close(errClosed)
	}
}

// serve is the function behind entry. Its arguments are the number of the session, the function
// (its name, or itself) and the arguments of that. Its result is what the function returns, or
// the failure.
func serve(args []tvmffi.Any) (result any, err error) {
	if len(args) < 2 {
		return failed("", fmt.Errorf("%s got %d arguments, at least 2 were expected", entry, len(args))).value(), nil
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
	if name, err := tvmffi.As[string](function); err == nil {
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

// maxFailures bounds what a worker keeps of failures for a controller that never asks.
const maxFailures = 16

func (w *worker) run(name string, function tvmffi.Any, args []tvmffi.Any) (any, error) {
	if command := commands[name]; command != nil {
		return command(w, args)
	}
	// What depends on a failed call has failed with it, and counts once.
	if f, ok := failureIn(function); ok {
		return f.value(), nil
	}
	for _, a := range args {
		if f, ok := failureIn(a); ok {
			return f.value(), nil
		}
	}
	f, err := tvmffi.As[*tvmffi.Function](function)
	if err != nil {
		if f, err = tvmffi.Lookup(name); err != nil {
			return nil, err
		}
		defer f.Release()
	}
	defer w.enter()()
	arguments := make([]any, len(args))
	for i, a := range args {
		arguments[i] = a
	}
	v, err := f.Call(arguments...)
	if err != nil {
		return nil, err
	}
	return given(v), nil
}

// given returns the result of a callback that gives the reference of v away.
func given(v tvmffi.Any) any {
	if o, err := tvmffi.As[*tvmffi.Object](v); err == nil && o != nil {
		return tvmffi.Move(o)
	}
	return v
}

// commands are what the methods of Session run on the workers. They have no place in the
// registry, because they need the worker.
var commands map[string]func(*worker, []tvmffi.Any) (any, error)

const commandPrefix = "tvmffi.disco."

func init() {
	commands = map[string]func(*worker, []tvmffi.Any) (any, error){
		commandPrefix + "count":     (*worker).count,
		commandPrefix + "large":     (*worker).large,
		commandPrefix + "report":    (*worker).report,
		commandPrefix + "fetch":     (*worker).fetch,
		commandPrefix + "load":      (*worker).load,
		commandPrefix + "method":    (*worker).method,
		commandPrefix + "put":       (*worker).put,
		commandPrefix + "take":      (*worker).take,
		commandPrefix + "listen":    (*worker).listen,
		commandPrefix + "connect":   (*worker).connect,
		commandPrefix + "broadcast": collective((*group).broadcast),
		commandPrefix + "scatter":   collective((*group).scatter),
		commandPrefix + "gather":    collective((*group).gather),
		commandPrefix + "allgather": collective((*group).allgather),
		commandPrefix + "allreduce": (*worker).allreduce,
	}
}

// count returns how many failures there were since the last report, and report returns them. A
// number is what Disco sends back fastest.
func (w *worker) count([]tvmffi.Any) (any, error) { return len(w.failures), nil }

func (w *worker) report([]tvmffi.Any) (any, error) {
	f := w.failures
	w.failures = nil
	return encodeFailures(f), nil
}

// large makes a call with arguments that came as tensors of bytes. Its arguments are the function,
// a kind for each argument, and the arguments.
func (w *worker) large(args []tvmffi.Any) (any, error) {
	kinds, err := tvmffi.As[string](args[1])
	if err != nil {
		return nil, err
	}
	function, args := args[0], args[2:]
	for i, kind := range []byte(kinds) {
		if kind == inPlace {
			continue
		}
		if _, ok := failureIn(args[i]); ok {
			continue // run returns it
		}
		t, err := tvmffi.As[*tvmffi.Tensor](args[i])
		if err != nil {
			return nil, err
		}
		content, err := t.Bytes()
		if err != nil {
			return nil, err
		}
		var x any = content
		if kind == inString {
			x = string(content)
		}
		if args[i], err = tvmffi.AnyOf(x); err != nil {
			return nil, err
		}
	}
	return w.run(nameOf(function), function, args)
}

// fetch returns the value that the controller asked one worker for, in a form that can be sent.
func (w *worker) fetch(args []tvmffi.Any) (any, error) {
	rank, err := tvmffi.As[int64](args[0])
	if err != nil || rank != w.id.rank {
		return nil, err
	}
	if here, err := tvmffi.As[bool](args[1]); err != nil || here {
		return args[2], err
	}
	return encode(args[2]), nil
}

// load loads a module. LoadModule refuses a file that is not whole, which would end the process.
func (w *worker) load(args []tvmffi.Any) (any, error) {
	path, err := tvmffi.As[string](args[0])
	if err != nil {
		return nil, err
	}
	whole, err := tvmffi.LoadModule(path)
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	var device *tvmffi.Device
	if !args[1].IsNone() {
		d, err := tvmffi.As[tvmffi.Device](args[1])
		if err != nil {
			return nil, err
		}
		device = &d
	}
	m, err := generated.LoadVMModule(path, device)
	if err != nil {
		return nil, err
	}
	return tvmffi.Move(m), nil
}

// method returns a function of a module.
func (w *worker) method(args []tvmffi.Any) (any, error) {
	if f, ok := failureIn(args[0]); ok {
		return f.value(), nil
	}
	m, err := tvmffi.As[*tvmffi.Module](args[0])
	if err != nil {
		return nil, err
	}
	name, err := tvmffi.As[string](args[1])
	if err != nil {
		return nil, err
	}
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	return tvmffi.Move(f), nil
}

// hosted has the tensors of the controller that worker 0, a thread of it, copies to or from. The
// call that names one takes it out.
var hosted struct {
	sync.Mutex
	last    int64
	tensors map[hostedID]*tvmffi.Tensor
}

type hostedID struct{ session, number int64 }

func host0(session int64, t *tvmffi.Tensor) (number int64) {
	hosted.Lock()
	defer hosted.Unlock()
	if hosted.tensors == nil {
		hosted.tensors = map[hostedID]*tvmffi.Tensor{}
	}
	hosted.last++
	hosted.tensors[hostedID{session, hosted.last}] = tvmffi.Retain(t)
	return hosted.last
}

func forgetHosted(session int64) {
	hosted.Lock()
	defer hosted.Unlock()
	for id, t := range hosted.tensors {
		if id.session == session {
			t.Release()
			delete(hosted.tensors, id)
		}
	}
}

// put and take copy between a tensor of the controller and the one of worker 0.
func (w *worker) put(args []tvmffi.Any) (any, error) {
	return w.copyHosted(args, func(host, own *tvmffi.Tensor) error { return tvm.TVMTensorCopyFromTo(host, own) })
}

func (w *worker) take(args []tvmffi.Any) (any, error) {
	return w.copyHosted(args, func(host, own *tvmffi.Tensor) error { return tvm.TVMTensorCopyFromTo(own, host) })
}

func (w *worker) copyHosted(args []tvmffi.Any, move func(host, own *tvmffi.Tensor) error) (any, error) {
	if w.id.rank != 0 {
		return nil, nil
	}
	number, err := tvmffi.As[int64](args[0])
	if err != nil {
		return nil, err
	}
	id := hostedID{w.id.session, number}
	hosted.Lock()
	host := hosted.tensors[id]
	delete(hosted.tensors, id)
	hosted.Unlock()
	if host == nil {
		return nil, fmt.Errorf("the controller has no tensor %d", number)
	}
	defer host.Release()
	if f, ok := failureIn(args[1]); ok {
		return f.value(), nil
	}
	own, err := tvmffi.As[*tvmffi.Tensor](args[1])
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, errors.New("worker 0 has no tensor there")
	}
	return nil, move(host, own)
}
