package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// narrowed is there in the environment of a process whose stack was made smaller.
const narrowed = "TVMFFI_CHILD_NARROW"

// requests is the descriptor of the requests to a process of a pool.
const requests = 3

// Answers makes processes with the role answer the requests of a [Pool], one at a time. begin prepares a process. Its error
// ends the process, and an error of answer says that memory was refused to it.
func Answers(role string, begin func(setup string) (answer func(request string) (reply string, err error), err error)) {
	Role(role, func(maxMemory string) error {
		if os.Getenv(narrowed) == "" {
			if err := narrow(role, maxMemory); err != nil {
				return err
			}
		}
		go func() { // the parent is gone: so is this process, even while it works
			Ended()
			os.Exit(3)
		}()
		var limit int64
		if _, err := fmt.Sscan(maxMemory, &limit); err != nil {
			return err
		}
		base := memory() // much with the race detector
		if err := LimitMemory(base + limit); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		in, out := os.NewFile(requests, "requests"), os.Stdout
		os.Stdout = os.Stderr // what is printed is not an answer
		setup, err := receive(in)
		if err != nil {
			return err
		}
		answer, err := begin(setup)
		if err != nil {
			return err
		}
		r := message{memory: memory() - base}
		for {
			if err := r.send(out); err != nil {
				return err
			}
			request, err := receive(in)
			if err != nil {
				return err
			}
			r.reply, err = answer(request)
			r.exhausted, r.memory = err != nil, memory()-base
		}
	})
}

// Limits are the limits of a pool.
type Limits struct {
	Processes int           // that work at the same time; the default is 1
	MaxMemory int64         // bytes of a process beyond its start, under Linux only; the default is 1 GiB
	MaxTime   time.Duration // of one request; the default is 30 s
}

// startTime is how long a process may take to start, unless MaxTime is longer.
var startTime = 30 * time.Second

// LimitError is the error of a request that has reached a limit, or has crashed its process.
type LimitError struct {
	MaxTime   time.Duration // what was reached; 0 if it was not the time
	MaxMemory int64
	Crash     string // how the process ended; "" if it was refused memory and noticed it
}

// Error says which limit it was.
func (e *LimitError) Error() string {
	switch {
	case e.MaxTime > 0:
		return fmt.Sprintf("it takes more time than %v (MaxTime)", e.MaxTime)
	case e.Crash == "":
		return fmt.Sprintf("it takes more memory than %d MiB (MaxMemory)", e.MaxMemory>>20)
	}
	return fmt.Sprintf("it takes more memory than %d MiB (MaxMemory), or is too deep: its process crashed: %s", e.MaxMemory>>20, e.Crash)
}

// Pool has processes of one role. A process that has reached a limit ends, and another one takes its place.
type Pool struct {
	start  func() (*worker, error)
	limits Limits
	free   chan *worker // nil for a process that is started when it is needed
	ended  context.Context
	close  func()
}

// NewPool starts the first process, so that a mistake shows at once. The stack of a process has three quarters of the space
// that it would have here, so what it survives crashes no thread here. The caller closes the pool.
func NewPool(role, setup string, l Limits) (*Pool, error) {
	if err := Needed(); err != nil {
		return nil, err
	}
	l.Processes = max(l.Processes, 1)
	if l.MaxMemory <= 0 {
		l.MaxMemory = 1 << 30
	}
	if l.MaxTime <= 0 {
		l.MaxTime = 30 * time.Second
	}
	p := &Pool{limits: l, free: make(chan *worker, l.Processes)}
	p.ended, p.close = context.WithCancel(context.Background())
	p.start = func() (*worker, error) {
		w, err := start(p.ended, role, l.MaxMemory)
		if err != nil {
			return nil, err
		}
		limit := max(startTime, l.MaxTime)
		late := time.AfterFunc(limit, w.kill)
		var ready message
		if err = send(w.out, setup); err == nil {
			ready, err = receiveMessage(w.in)
		}
		if !late.Stop() {
			w.end(false)
			return nil, fmt.Errorf("the process did not start in %v", limit)
		}
		if err != nil {
			return nil, fmt.Errorf("the process did not start: %s", w.end(true))
		}
		w.memory = ready.memory
		return w, nil
	}
	w, err := p.start()
	if err != nil {
		p.close()
		return nil, err
	}
	p.free <- w
	for range l.Processes - 1 {
		p.free <- nil
	}
	context.AfterFunc(p.ended, func() {
		for range l.Processes {
			if w := <-p.free; w != nil {
				w.end(false)
			}
		}
	})
	return p, nil
}

// Close ends the processes, also those that start or answer a request.
func (p *Pool) Close() { p.close() }

// over returns why nobody waits for a reply any more, or nil.
func (p *Pool) over(ctx context.Context) error {
	if p.ended.Err() != nil {
		return errors.New("it was released")
	}
	return context.Cause(ctx)
}

// worker waits for a process that is free, and starts one if there is a place for it. If ctx ends first, the start goes on,
// for the next request.
func (p *Pool) worker(ctx context.Context) (*worker, error) {
	var w *worker
	select {
	case w = <-p.free:
	case <-ctx.Done():
		return nil, p.over(ctx)
	case <-p.ended.Done():
		return nil, p.over(ctx)
	}
	if err := p.over(ctx); err != nil {
		p.free <- w
		return nil, err
	}
	if w != nil {
		return w, nil
	}
	type result struct {
		w   *worker
		err error
	}
	done := make(chan result, 1)
	go func() {
		w, err := p.start()
		done <- result{w, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			p.free <- nil
			return nil, cmp.Or(p.over(ctx), r.err)
		}
		return r.w, nil
	case <-ctx.Done():
	case <-p.ended.Done():
	}
	go func() { p.free <- (<-done).w }()
	return nil, p.over(ctx)
}

// Call sends a request to a process that is free, and waits for the reply. If ctx ends during the request, the process is
// killed.
func (p *Pool) Call(ctx context.Context, request string) (reply string, err error) {
	w, err := p.worker(ctx)
	if err != nil {
		return reply, err
	}
	defer func() { p.free <- w }()
	w.log.forget()
	type result struct {
		m   message
		err error
	}
	done := make(chan result, 1)
	go func(w *worker) {
		var r result
		if r.err = send(w.out, request); r.err == nil {
			r.m, r.err = receiveMessage(w.in)
		}
		done <- r
	}(w)
	late := time.NewTimer(p.limits.MaxTime)
	defer late.Stop()
	var r result
	select {
	case r = <-done:
		if r.err != nil {
			err = p.over(ctx) // Close has killed the process
		}
	case <-late.C:
		err = &LimitError{MaxTime: p.limits.MaxTime}
	case <-ctx.Done():
		err = p.over(ctx)
	case <-p.ended.Done():
		err = p.over(ctx)
	}
	full := r.m.memory-w.memory > (p.limits.MaxMemory-w.memory)/4 // the next request needs room too
	if err == nil && r.err == nil && !r.m.exhausted && !full {
		return r.m.reply, nil
	}
	how := w.end(r.err != nil)
	w = nil
	switch {
	case err != nil:
		return reply, err
	case r.err != nil:
		return reply, &LimitError{MaxMemory: p.limits.MaxMemory, Crash: how}
	case r.m.exhausted:
		return reply, &LimitError{MaxMemory: p.limits.MaxMemory}
	}
	return r.m.reply, nil
}

// worker is a process.
type worker struct {
	cmd    *exec.Cmd
	out    *os.File
	in     io.Reader
	log    log
	memory int64 // after the setup
}

// start starts a process, which the end of ctx kills.
func start(ctx context.Context, role string, maxMemory int64) (*worker, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	w := &worker{out: out}
	w.cmd, err = Command(ctx, role, fmt.Sprint(maxMemory), in)
	if err == nil {
		w.cmd.Stderr = &w.log
		w.in, err = w.cmd.StdoutPipe()
	}
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		out.Close()
	}
	return w, err
}

func (w *worker) kill() { _ = w.cmd.Process.Kill() } // it may have ended

// end ends the process and returns how it has ended, with the line that says why. A process that crashed has a second
// to say that.
func (w *worker) end(crashed bool) string {
	if !crashed {
		w.kill()
	}
	late := time.AfterFunc(time.Second, w.kill)
	defer late.Stop()
	err := w.cmd.Wait()
	w.out.Close()
	for line := range strings.Lines(w.log.first()) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "Warning: ") {
			return fmt.Sprintf("%v: %.200s", err, line)
		}
	}
	return fmt.Sprint(err)
}

// log keeps the first bytes that are written to it: the reason of a crash comes before the stacks.
type log struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps what there is room for.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b[:min(len(b), 4<<10-len(l.text))]...)
	return len(b), nil
}

func (l *log) first() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

func (l *log) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = l.text[:0]
}
