package disco

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// meetAll connects n workers with a hub, at which strangers call first: one says nothing, one sends garbage.
func meetAll(t testing.TB, n int, limit time.Duration) []*group {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := newHub(l, "the token")
	t.Cleanup(func() { h.fail(errClosed) })
	for _, text := range []string{"", strings.Repeat("\xff", 100), "GET / HTTP/1.1\r\n\r\n"} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	groups := make([]*group, n)
	for i := range n {
		groups[i] = &group{rank: i, size: n, groups: 1, limit: limit}
		if err := groups[i].join("tcp", l.Addr().String(), "the token"); err != nil {
			t.Fatal(err)
		}
	}
	return groups
}

// TestHub_closed: a session that is closed while InitCCL runs leaves no hub.
func TestHub_closed(t *testing.T) {
	s := &Session{workers: 1, options: Options{}.filled(), closed: make(chan struct{})}
	close(s.closed)
	if err := s.InitCCL(t.Context(), "cpu"); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	select {
	case <-s.hub.failed:
	default:
		t.Error("the hub listens")
	}
}

// TestHub_deaf: a worker leaves a hub that does not read its token.
func TestHub_deaf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g := &group{size: 1, groups: 1, limit: 100 * time.Millisecond}
	joined := make(chan error, 1)
	go func() { joined <- g.join("tcp", l.Addr().String(), strings.Repeat("x", 64<<20)) }()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	limit := nativetest.Patience(20 * time.Second)
	select {
	case err = <-joined:
	case <-time.After(limit):
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(limit))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the worker has not left")
	}
	runtime.KeepAlive(g) // the collector would close the connection
}

// TestHub_faults: whatever one worker does, the other one has an error that says it, within the limit.
func TestHub_faults(t *testing.T) {
	const never, soon = 30 * time.Second, 300 * time.Millisecond
	ask := func(g *group, op string) error {
		_, err := g.exchange(part{Op: op, Size: 2, Data: make([]byte, 4), Takes: true})
		return err
	}
	for name, c := range map[string]struct {
		limit time.Duration
		other func(g *group)
		want  string
	}{
		"another operation": {never, func(g *group) { _ = ask(g, "gather") }, "and another one at "},
		"giving up":         {never, func(g *group) { _ = g.close(errors.New("no more")) }, "worker 1 has left; its own error says why"},
		"end":               {never, func(g *group) { g.conn.Close() }, "worker 1 has left"},
		"garbage":           {never, func(g *group) { _, _ = g.conn.Write([]byte(strings.Repeat("G", 200))) }, "worker 1 has left"},
		"nothing":           {soon, func(*group) {}, "i/o timeout"},
	} {
		g := meetAll(t, 2, never)
		g[0].limit = c.limit
		go c.other(g[1])
		if err := ask(g[0], "allreduce"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	g := &group{limit: never}
	h := meetAll(t, 1, never)[0]
	if err := g.join("tcp", h.conn.RemoteAddr().String(), "no  token"); err != nil {
		t.Fatal(err)
	}
	if err := ask(g, "allreduce"); err == nil {
		t.Error("a worker with another token has an answer")
	}
}

// TestHub_lost: a worker that ends while it waits in an operation ends the operation for the others.
func TestHub_lost(t *testing.T) {
	g := meetAll(t, 3, 30*time.Second)
	ask := func(g *group) error {
		_, err := g.exchange(part{Op: "gather", Size: 3, Data: make([]byte, 4)})
		return err
	}
	lost := make(chan error)
	go func() { lost <- ask(g[1]) }()
	time.Sleep(20 * time.Millisecond) // it works without, too, if the worker ends before
	g[1].conn.Close()
	start := time.Now()
	if err := ask(g[0]); err == nil || !strings.Contains(err.Error(), "worker 1 has left") || time.Since(start) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if err := <-lost; err == nil {
		t.Error("the worker that has ended has no error")
	}
}

// TestSweep: a reference that nobody uses is released once, and the session goes on.
func TestSweep(t *testing.T) {
	r := new(generated.DRef)
	s := &Session{refs: map[*generated.DRef]bool{r: true}}
	s.drop(r)
	s.drop(r)
	if len(s.garbage) != 1 {
		t.Errorf("%d references are garbage", len(s.garbage))
	}
	s.sweep()
	if !s.mu.TryLock() || len(s.garbage)+len(s.refs) != 0 {
		t.Errorf("the session is locked, or has %d references", len(s.garbage)+len(s.refs))
	}
}
