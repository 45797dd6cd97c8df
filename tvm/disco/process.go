package disco

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/child"
)

// process is a worker in its own process: this program, started again.
type process struct {
	rank int
	cmd  *exec.Cmd
	// Disco writes to orders and reads from replies. It does not close them.
	orders, replies *os.File
	// ordersEnd is the other end of orders. While it is open here, writing to a process that has
	// ended does not fail; in a destructor of Disco a failure would end this process.
	ordersEnd *os.File
	exited    chan struct{} // closed when the process has ended and its output was read
	gone      chan struct{} // closed when release has been called after that
	exit      *ExitError    // valid when exited is closed
	stdout    *lines
	stderr    *lines
}

// The files of a worker's process, after its standard streams.
const (
	ordersFile  = 3
	repliesFile = 4
)

// start starts the worker with the given rank among size workers of this host.
func start(rank, size, groups int, out func(line string)) (*process, error) {
	ordersEnd, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	replies, repliesEnd, err := os.Pipe()
	if err != nil {
		closeAll(ordersEnd, orders)
		return nil, err
	}
	defer closeAll(repliesEnd)
	p := &process{rank: rank, orders: orders, replies: replies, ordersEnd: ordersEnd, exited: make(chan struct{}), gone: make(chan struct{})}
	p.stdout, p.stderr = &lines{line: out}, &lines{line: out}
	widen(orders.Fd())
	p.cmd, err = child.Command(context.Background(), role, fmt.Sprintf("%d,%d,%d", rank, size, groups), ordersEnd, repliesEnd)
	if err == nil {
		p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
		err = p.cmd.Start()
	}
	if err != nil {
		closeAll(ordersEnd, orders, replies)
		return nil, fmt.Errorf("the process of worker %d cannot be started: %w", rank, err)
	}
	go p.wait()
	return p, nil
}

// wait waits for the end of the process. From then on, what Disco sends to it is read here.
func (p *process) wait() {
	err := p.cmd.Wait()
	p.stdout.end()
	p.stderr.end()
	status := "exit status 0"
	if err != nil {
		status = err.Error()
	}
	p.exit = &ExitError{Status: status, Output: p.stderr.tail()}
	close(p.exited)
	_, _ = io.Copy(io.Discard, p.ordersEnd)
	closeAll(p.ordersEnd)
	close(p.gone)
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // the process may have ended already
}

// release closes the ends that Disco used, which no longer exists.
func (p *process) release() { closeAll(p.orders, p.replies) }

func closeAll(all ...io.Closer) {
	for _, c := range all {
		if c != nil {
			_ = c.Close() // nothing was written that could be lost
		}
	}
}

// lines passes on its input line by line, and keeps the end.
type lines struct {
	line func(string)
	mu   sync.Mutex
	rest []byte
	last []byte
}

const (
	maxLine = 1 << 16
	maxTail = 1 << 12
)

// Write takes text with any number of lines.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, b...)
	if n := len(l.last) - maxTail; n > 0 {
		l.last = append([]byte(nil), l.last[n:]...)
	}
	for _, c := range b {
		if c != '\n' {
			l.rest = append(l.rest, c)
		}
		if c == '\n' || len(l.rest) == maxLine {
			l.line(string(l.rest))
			l.rest = l.rest[:0]
		}
	}
	return len(b), nil
}

// end passes on a last line without a line break.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.line(string(l.rest))
		l.rest = nil
	}
}

func (l *lines) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last)
}
