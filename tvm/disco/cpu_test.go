package disco

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
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
		if err := joinGroup(groups[i], "tcp", l.Addr().String(), "the token"); err != nil {
			t.Fatal(err)
		}
	}
	return groups
}

// TestHub_faults: whatever one worker does, the other one has an error that says it, within the limit.
func TestHub_faults(t *testing.T) {
	const never, soon = 30 * time.Second, 300 * time.Millisecond
	ask := func(g *group, op string, from, to []byte) error {
		return g.ask(op, false, from, to, Sum, tvmffi.Int32)
	}
	for name, c := range map[string]struct {
		limit time.Duration
		other func(g *group)
		want  string
	}{
		"another operation": {never, func(g *group) { _ = ask(g, "gather", nil, nil) }, "worker 1 is at the operation gather, and worker 0 at allreduce"},
		"another size":      {never, func(g *group) { _ = ask(g, "allreduce", make([]byte, 8), nil) }, "do not fit"},
		"giving up":         {never, func(g *group) { g.close(errors.New("no more")) }, "worker 1 has given up: no more"},
		"end":               {never, func(g *group) { g.conn.Close() }, "worker 1 has given up: EOF"},
		"garbage":           {never, func(g *group) { _, _ = g.conn.Write([]byte(strings.Repeat("G", 200))) }, "worker 1 has given up: "},
		"nothing":           {soon, func(*group) {}, "i/o timeout"},
	} {
		g := meetAll(t, 2, c.limit)
		go c.other(g[1])
		if err := ask(g[0], "allreduce", make([]byte, 4), make([]byte, 4)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	g := &group{limit: never}
	h := meetAll(t, 1, never)[0]
	if err := joinGroup(g, "tcp", h.conn.RemoteAddr().String(), "another token"); err != nil {
		t.Fatal(err)
	}
	if err := ask(g, "allreduce", nil, nil); err == nil {
		t.Error("a worker with another token has an answer")
	}
}
