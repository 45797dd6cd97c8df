package disco

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/internal/arguments"
)

// Callable is what [Session.Call] can call: a *Function, or a *DRef whose value on each worker is
// a function.
type Callable interface{ callee() (any, string) }

// Function is a global function of the workers.
type Function struct{ name string }

// Function returns the global function with the given name. The workers look it up at each call, so a
// missing name fails only that call.
func (s *Session) Function(name string) *Function { return &Function{name} }

func (f *Function) callee() (any, string) { return f.name, f.name }

// DRef stands for one value on each worker, usually the result of a call. The workers keep the values
// until the DRef is released, by Release or the garbage collector, or the session is closed.
type DRef struct {
	session *Session
	handle  *generated.DRef
	what    string // the call that made it, for messages
}

func newDRef(s *Session, r *generated.DRef, what string) *DRef {
	d := &DRef{s, r, what}
	runtime.AddCleanup(d, s.drop, r)
	return d
}

func (d *DRef) callee() (any, string) { return d.handle, d.what }

// Release ends the values at the next use of the session. A second Release does nothing, and neither
// does Release of a nil *DRef.
func (d *DRef) Release() {
	if d != nil {
		d.session.drop(d.handle)
	}
}

// Call calls f on all workers and returns a DRef for the results. It does not wait for them. [DRef.Get]
// of the result and the next [Session.Sync] return a failure; calls with that result as an argument do
// not run, and fail in the same way.
//
// An argument is nil, a number whose integer fits int64, a bool, a string, a []byte, a DataType, a Device, a
// *tvmffi.Shape, or a *DRef, for which each worker takes its own value. To pass a tensor, use [Session.CopyToWorker0],
// [Session.Broadcast] or [Session.Scatter]. A string or []byte of more than 32 kB goes from worker to
// worker, as in a Broadcast.
//
// Call waits while a megabyte of calls is queued for a worker. It returns a *[WorkerError] if a worker
// has ended, [ErrClosed] after Close, and an error for an argument of another type.
func (s *Session) Call(f Callable, args ...any) (*DRef, error) {
	callee, name := f.callee()
	defer runtime.KeepAlive(f) // callee is only its number
	args, err := arguments.All(args)
	if err != nil {
		return nil, fmt.Errorf("call of %s: %w", name, err)
	}
	if s.options.Plain {
		return s.invoke(name, callee, args...)
	}
	for _, a := range args {
		if content, _ := large(a); content != nil {
			return s.callLarge(name, callee, args)
		}
	}
	return s.invoke(name, callee, args...)
}

// maxInPlace is the longest string that goes through Disco's pipes and sockets. These are slow for
// longer ones, and a signal may cut short a write that has to wait.
const maxInPlace = 1 << 15

// large returns the content of an argument that is long, and its kind.
func large(a any) (content []byte, kind byte) {
	switch x := a.(type) {
	case []byte:
		if len(x) > maxInPlace {
			return x, inBytes
		}
	case string:
		if len(x) > maxInPlace {
			return []byte(x), inString
		}
	}
	return nil, inPlace
}

// callLarge sends each long argument as a tensor of bytes before the call.
func (s *Session) callLarge(name string, callee any, args []any) (*DRef, error) {
	kinds, all := make([]byte, len(args)), []any{callee, ""}
	for i, a := range args {
		content, kind := large(a)
		if kinds[i] = kind; content != nil {
			host, err := tvmffi.NewTensor(tvmffi.Uint8, int64(len(content)))
			if err != nil {
				return nil, err
			}
			defer host.Release() // the session keeps it until it is sent
			if err := tvmffi.CopyFrom(host, content); err != nil {
				return nil, err
			}
			d, err := s.Broadcast(host)
			if err != nil {
				return nil, err
			}
			defer d.Release()
			a = d
		}
		all = append(all, a)
	}
	all[1] = string(kinds)
	return s.invoke(name, commandPrefix+"large", all...)
}

func (s *Session) invoke(name string, callee any, args ...any) (*DRef, error) {
	return s.send(context.Background(), name, callee, args)
}

// send calls a function on all workers. If ctx ends before an earlier operation does, send returns an error.
func (s *Session) send(ctx context.Context, name string, callee any, args []any) (*DRef, error) {
	all := make([]any, 0, len(args)+6)
	if s.options.Plain {
		f, err := s.plain(ctx, callee)
		if err != nil {
			return nil, err
		}
		all = append(all, s.handle, 0, 0, f)
	} else {
		all = append(all, s.handle, 0, 0, s.call, s.id, callee)
	}
	for i, a := range args {
		if d, ok := a.(*DRef); ok && d == nil {
			a = nil
		} else if ok {
			if d.session != s {
				return nil, fmt.Errorf("call of %s: argument %d is a DRef of another session", name, i)
			}
			a = d.handle
		}
		if err := sendable(a); err != nil {
			return nil, fmt.Errorf("call of %s: argument %d: %w", name, i, err)
		}
		all = append(all, a)
	}
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := generated.SessionCallPacked(all...)
	runtime.KeepAlive(args) // no DRef among them may be dropped before
	if err != nil {
		return nil, fmt.Errorf("call of %s: %w", name, err)
	}
	return s.reference(v, name)
}

// plain returns the function that the workers of a plain session call. One that is missing would end their processes, so
// this process must have it too.
func (s *Session) plain(ctx context.Context, callee any) (*generated.DRef, error) {
	name, ok := callee.(string)
	if !ok {
		return callee.(*generated.DRef), nil
	}
	if strings.HasPrefix(name, commandPrefix) {
		return nil, fmt.Errorf("%s: %w in a session with Options.Plain", strings.TrimPrefix(name, commandPrefix), errors.ErrUnsupported)
	}
	f, err := tvmffi.Lookup(name)
	if err != nil {
		return nil, err
	}
	f.Release()
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	d := s.named[name]
	if d == nil {
		r, err := generated.SessionGetGlobalFunc(s.handle, name)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.refs[r] = true
		s.mu.Unlock()
		d = newDRef(s, r, name)
		s.named[name] = d
	}
	return d.handle, nil
}

// sendable returns an error for an argument that Disco cannot send. Disco would find out after it
// has sent the call to some workers.
func sendable(x any) error {
	switch x.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint8, uint16, uint32, float32, float64,
		string, []byte, tvmffi.DataType, tvmffi.Device, *tvmffi.Device, *tvmffi.Shape, *generated.DRef:
		return nil
	}
	return fmt.Errorf("a %T cannot be sent to the workers", x)
}

// Get waits for the value on one worker and returns it. The caller owns it.
//
// A worker process returns numbers, strings, bytes, data types, devices, tensors in CPU memory, and
// objects with fields or items of these types. A worker that is a thread of this process returns any
// value, without a copy. A failure of the call is a *[WorkerError].
//
// If ctx ends first, Get returns an error that wraps its cause. The session continues when the worker
// has answered; until then, other calls wait.
func (d *DRef) Get(ctx context.Context, worker int) (tvmffi.Any, error) {
	s := d.session
	if worker < 0 || worker >= s.workers {
		return tvmffi.Any{}, fmt.Errorf("worker %d of a session of %d workers", worker, s.workers)
	}
	if s.options.Plain {
		var result tvmffi.Any
		err := s.use(ctx, func() (err error) {
			result, err = generated.DRefDebugGetFromRemote(d.handle, int64(worker))
			return s.because(err)
		})
		return result, err
	}
	here := s.isThread(worker)
	var result tvmffi.Any
	err := s.ask(ctx, commandPrefix+"fetch", []any{worker, here, d}, func(r *generated.DRef) error {
		v, err := generated.DRefDebugGetFromRemote(r, int64(worker))
		result = v
		return err
	})
	if err != nil {
		return tvmffi.Any{}, err
	}
	if f, ok := failureIn(result); ok {
		return tvmffi.Any{}, f.of(worker)
	}
	if here {
		return result, nil
	}
	return decode(result, worker)
}

// isThread reports whether a worker is a thread of this process.
func (s *Session) isThread(worker int) bool {
	return worker == 0 || s.host == nil
}

// ask runs a command on the workers and then read, which reads the results.
func (s *Session) ask(ctx context.Context, command string, args []any, read func(*generated.DRef) error) error {
	d, err := s.send(ctx, command, command, args)
	if err != nil {
		return err
	}
	defer d.Release()
	return s.use(ctx, func() error { return s.because(read(d.handle)) })
}

// Sync waits until the workers have done all calls so far. It returns the failures since the last Sync,
// joined, each a *[WorkerError]: errors.As finds the first one. The first four of each worker are kept.
//
// If ctx ends first, Sync returns an error that wraps its cause.
func (s *Session) Sync(ctx context.Context) error {
	if s.options.Plain {
		return s.use(ctx, func() error {
			for i := range s.workers {
				if err := generated.SessionSyncWorker(s.handle, int64(i)); err != nil {
					return s.because(err)
				}
			}
			return nil
		})
	}
	counts, err := askAll(ctx, s, "count", func(v tvmffi.Any, _ int) (int64, error) { return tvmffi.As[int64](v) })
	if err != nil || !slices.ContainsFunc(counts, func(n int64) bool { return n != 0 }) {
		return err
	}
	reports, err := askAll(ctx, s, "report", decodeFailures)
	return errors.Join(append(slices.Concat(reports...), err)...)
}

// askAll runs a command on the workers and lets read read the result of each. If a worker has
// ended, only the workers before it have results.
func askAll[T any](ctx context.Context, s *Session, command string, read func(v tvmffi.Any, worker int) (T, error)) ([]T, error) {
	results := make(chan T, s.workers) // read may still run after ask, if ctx has ended
	err := s.ask(ctx, commandPrefix+command, nil, func(r *generated.DRef) error {
		for i := range s.workers {
			v, err := generated.DRefDebugGetFromRemote(r, int64(i))
			if err != nil {
				return err
			}
			x, err := read(v, i)
			if err != nil {
				return err
			}
			results <- x
		}
		return nil
	})
	var all []T
	for len(results) > 0 {
		all = append(all, <-results)
	}
	return all, err
}

// Module is a module on each worker.
type Module struct{ *DRef }

// LoadVMModule loads a module that TVM has compiled, such as a Relax model, on all workers, each from
// the file with this path on its own host. A Relax model is initialised for device, or for the CPU if
// that is nil. [DRef.Get] and [Session.Sync] return a failure.
func (s *Session) LoadVMModule(path string, device *tvmffi.Device) (*Module, error) {
	if err := arguments.Name(path); err != nil {
		return nil, err
	}
	args := []any{path, nil}
	if device != nil {
		args[1] = *device
	}
	d, err := s.commandOr("load", "runtime.disco.load_vm_module", args...)
	if err != nil {
		return nil, err
	}
	return &Module{d}, nil
}

// Function returns a function of the module, to be called by [Session.Call].
func (m *Module) Function(name string) (*DRef, error) {
	if m.session.options.Plain {
		return m.session.invoke(name, "ffi.ModuleGetFunction", m.DRef, name, false)
	}
	return m.session.invoke(name, commandPrefix+"method", m.DRef, name)
}
