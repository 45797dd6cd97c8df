package rpc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// tasks are goroutines that a server waits for.
type tasks struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

// start runs f on a goroutine, or reports that the tasks are closed.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.group.Go(f)
	}
	return !t.closed
}

// close makes start refuse further tasks.
func (t *tasks) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

func (t *tasks) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// acceptAll serves each connection on its own goroutine until the listener is closed. It closes
// those above most at once.
func acceptAll(ctx context.Context, l net.Listener, tasks *tasks, log *slog.Logger, most int, serve func(net.Conn)) error {
	const retry = 100 * time.Millisecond
	var open atomic.Int64
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			if open.Load() >= int64(most) {
				log.Warn("rpc: too many connections", "peer", conn.RemoteAddr().String(), "most", most)
				conn.Close()
				continue
			}
			open.Add(1)
			if !tasks.start(func() { defer open.Add(-1); serve(conn) }) {
				conn.Close()
				return ErrClosed
			}
		case tasks.isClosed():
			return ErrClosed
		case errors.Is(err, net.ErrClosed):
			return err
		default: // the process has no descriptors left, for example
			log.Error("rpc: accept failed", "addr", l.Addr().String(), "err", err, "retry", retry)
			_ = pause(ctx, retry)
		}
	}
}
