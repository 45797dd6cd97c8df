package disco

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/internal/child"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Options are the properties of a session. The zero Options are good for most.
type Options struct {
	// Groups is the number of groups that the workers form, 1 if it is 0. It divides their number.
	Groups int
	// Output gets the output of worker processes, line by line, each with its worker before it. It is
	// os.Stderr if it is nil. One line is written at a time.
	Output io.Writer
	// Limit bounds each collective operation, from the time a worker begins it. It is 30 seconds
	// if it is 0.
	Limit time.Duration
	// CloseLimit bounds Close: a process that has not ended by then is killed. It is 5 seconds if
	// it is 0.
	CloseLimit time.Duration
	// Silence is how long the machine of a node of a socket session may be silent, 10 seconds if it is 0. The system
	// checks at intervals, in whole seconds, so the end may come later.
	Silence time.Duration
	// Plain makes calls as TVM's own sessions do, so that nodes of a socket session may be other programs, such as
	// Python's. Then a function that fails ends its process, DRef.Get returns only what Disco can send, such as
	// numbers, there are no collective operations on CPUs, and Sync only waits.
	Plain bool
}

func (o Options) filled() *Options {
	o.Groups = cmp.Or(o.Groups, 1)
	o.Output = cmp.Or[io.Writer](o.Output, os.Stderr)
	o.Limit = cmp.Or(o.Limit, 30*time.Second)
	o.CloseLimit = cmp.Or(o.CloseLimit, 5*time.Second)
	o.Silence = cmp.Or(o.Silence, 10*time.Second)
	return &o
}

// Session is a controller with its workers. Worker 0 is always a thread of this process.
//
// Calls run on all workers, on each in the order in which they were made. Any goroutine may use a Session.
type Session struct {
	id      int64
	workers int
	options *Options
	handle  *generated.Session
	call    *generated.DRef // the function entry on all workers
	host    *host           // nil if all workers are threads
	nodes   []*node         // the other hosts of a socket session
	print   func(rank int, line string)
	named   map[string]*DRef // functions of a plain session
	ccl     string           // of InitCCL, "" for this package's own

	turn   chan struct{} // holds the token that the user of handle takes
	closed chan struct{}
	once   sync.Once
	err    error // of Close

	mu      sync.Mutex
	hub     *hub // of this package's collective operations, nil in a plain session
	refs    map[*generated.DRef]bool
	garbage []*generated.DRef // references that nobody uses, released before the next use of handle
}

// Threads begins a session whose n workers are threads of this process. ctx bounds the start.
func Threads(ctx context.Context, n int, o Options) (*Session, error) {
	s, err := newSession(n, o)
	if err != nil {
		return nil, err
	}
	if s.handle, err = generated.SessionThreaded(int64(n), int64(s.options.Groups)); err != nil {
		return nil, err
	}
	return s.begin(ctx)
}

// Processes begins a session of n workers. Worker 0 is a thread of this process. Each other one is a
// process: this program, started again with its environment, which must call [Main]. ctx bounds the start.
func Processes(ctx context.Context, n int, o Options) (*Session, error) {
	s, err := newSession(n, o)
	if err != nil {
		return nil, err
	}
	if err := child.Needed(); err != nil {
		return nil, err
	}
	if s.host, err = startHost(n, s.options.Groups, s.print); err != nil {
		return nil, err
	}
	if s.handle, err = s.host.session(s.options.Groups); err != nil {
		s.host.kill()
		s.host.release()
		return nil, err
	}
	return s.begin(ctx)
}

func newSession(n int, o Options) (*Session, error) {
	s := &Session{
		id: rand.Int64(), workers: n, options: o.filled(),
		turn: make(chan struct{}, 1), closed: make(chan struct{}), refs: map[*generated.DRef]bool{},
	}
	s.print, s.named = printer(s.options.Output), map[string]*DRef{}
	s.turn <- struct{}{}
	if groups := s.options.Groups; n < 1 || groups < 1 || n%groups != 0 {
		return nil, fmt.Errorf("a session of %d workers in %d groups: both are positive, and the groups divide the workers", n, groups)
	}
	return s, prepare()
}

// begin connects the workers, which also shows that all of them work.
func (s *Session) begin(ctx context.Context) (*Session, error) {
	var err error
	if s.options.Plain {
		err = s.Sync(ctx)
	} else if s.call, err = generated.SessionGetGlobalFunc(s.handle, entry); err == nil {
		err = s.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// printer returns a func that writes a line which a worker has printed.
func printer(to io.Writer) func(rank int, line string) {
	var mu sync.Mutex
	return func(rank int, line string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(to, "[worker %d] %s\n", rank, line) // an error could not be printed either
	}
}

// Workers returns the number of workers.
func (s *Session) Workers() int { return s.workers }

// acquire waits until this goroutine may use the handle, and returns an error if a worker has ended.
func (s *Session) acquire(ctx context.Context) error {
	select {
	case <-s.closed:
		return ErrClosed
	default:
	}
	if err := s.lost(); err != nil {
		return err
	}
	select {
	case <-s.turn:
		s.sweep()
		return nil
	case <-s.closed:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("an earlier operation of the session has not ended: %w", context.Cause(ctx))
	}
}

func (s *Session) leave() { s.turn <- struct{}{} }

// use runs f, which may wait for a worker, when no other does. If ctx ends first, use returns its
// error, and f keeps the session until the worker has answered or ended.
func (s *Session) use(ctx context.Context, f func() error) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	if ctx.Done() == nil {
		defer s.leave()
		return f()
	}
	done := make(chan error, 1)
	go func() {
		defer s.leave()
		done <- f()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("a worker has not answered: %w", context.Cause(ctx))
	}
}

// sweep releases the references that nobody uses. Releasing one sends to the workers, so it needs the turn.
func (s *Session) sweep() {
	s.mu.Lock()
	garbage := s.garbage
	s.garbage = nil
	for _, r := range garbage {
		delete(s.refs, r)
	}
	s.mu.Unlock()
	for _, r := range garbage {
		r.Release()
	}
}

// drop says that nobody uses a reference any more. It may be called on any goroutine, twice too.
func (s *Session) drop(r *generated.DRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs[r] {
		s.refs[r] = false
		s.garbage = append(s.garbage, r)
	}
}

// lost returns an error if a worker has ended.
func (s *Session) lost() error {
	var all []error
	if s.host != nil {
		for _, p := range s.host.processes {
			select {
			case <-p.exited:
				all = append(all, &WorkerError{Worker: p.rank, Err: p.exit})
			default:
			}
		}
	}
	for _, n := range s.nodes {
		all = append(all, n.lost())
	}
	return errors.Join(all...)
}

// because returns the reason for an error of Disco: usually that a worker has ended, which shows a moment
// later.
func (s *Session) because(err error) error {
	if err == nil {
		return nil
	}
	for range 100 {
		if lost := s.lost(); lost != nil {
			return lost
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// Close ends the session: its workers and their processes end after the calls made so far. Close waits for
// Options.CloseLimit, then kills processes that still run, and returns an error that names them. The
// workers' values are gone, and every other method returns [ErrClosed]. A second Close returns the same
// error.
//
// A thread cannot be killed. If worker 0 is in a call that does not end, Close returns an error
// in time, and the thread remains until the call ends.
func (s *Session) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.err = s.end()
	})
	return s.err
}

func (s *Session) end() error {
	var killed []error
	limit := time.NewTimer(s.options.CloseLimit)
	defer limit.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-s.turn
		s.settle()
		s.releaseAll()
	}()
	all := make(chan struct{})
	go func() {
		<-ended
		s.waitForProcesses()
		close(all)
	}()
	select {
	case <-all:
	case <-limit.C:
		killed = s.killAll()
		s.setHub(nil) // worker 0 may wait for one that is gone
		select {
		case <-all:
		case <-time.After(s.options.CloseLimit):
			return errors.Join(append(killed, errors.New("a worker that is a thread of this process is still in a call: a thread cannot be killed, and remains until the call ends"))...)
		}
	}
	if s.host != nil {
		s.host.release()
	}
	s.setHub(nil)
	forget(s.id)
	return errors.Join(killed...)
}

// setHub ends the collective operations on CPUs that use another hub.
func (s *Session) setHub(h *hub) {
	s.mu.Lock()
	old := s.hub
	s.hub = h
	s.mu.Unlock()
	if old != nil {
		old.fail(errClosed)
	}
}

// settle waits for the workers that are threads of this process, if they still work: an object released
// while a callback runs may end later.
func (s *Session) settle() {
	threads := 1
	if s.host == nil {
		threads = s.workers
	}
	for i := range threads {
		_ = generated.SessionSyncWorker(s.handle, int64(i)) // Close does not need it
	}
}

// releaseAll ends the session of Disco, which waits for its threads.
func (s *Session) releaseAll() {
	s.mu.Lock()
	refs := s.refs
	s.refs, s.garbage = map[*generated.DRef]bool{}, nil
	s.mu.Unlock()
	for r := range refs {
		r.Release()
	}
	if s.call != nil {
		s.call.Release()
	}
	s.handle.Release()
}

func (s *Session) waitForProcesses() {
	if s.host != nil {
		s.host.waitForEnd()
		for _, p := range s.host.processes {
			<-p.exited
		}
	}
	for _, n := range s.nodes {
		<-n.ended
	}
}

// killAll kills the processes that have not ended and returns an error for each.
func (s *Session) killAll() (killed []error) {
	limit := s.options.CloseLimit
	if s.host != nil {
		for _, p := range s.host.processes {
			select {
			case <-p.exited:
			default:
				p.kill()
				killed = append(killed, &WorkerError{Worker: p.rank, Err: fmt.Errorf("its process did not end in %v and was killed", limit)})
			}
		}
	}
	for _, n := range s.nodes {
		select {
		case <-n.ended:
		default:
			n.close(errors.New("the session was closed"))
			killed = append(killed, fmt.Errorf("node %d did not end in %v and was cut off", n.id, limit))
		}
	}
	return killed
}

// reference returns what a call of Disco has returned as a DRef of the session.
func (s *Session) reference(v tvmffi.Any, what string) (*DRef, error) {
	r, err := tvmffi.As[*generated.DRef](v)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.refs[r] = true
	s.mu.Unlock()
	return newDRef(s, r, what), nil
}
