package disco

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// meetAll makes n groups that are connected, over network.
func meetAll(t testing.TB, n int, network, address string, limit time.Duration) []*group {
	t.Helper()
	if !supported && network == "unix" {
		network, address = "tcp", "127.0.0.1:0%.0d"
	}
	meetings, addresses := make([]*meeting, n), make([]string, n)
	for i := range n {
		l, err := net.Listen(network, fmt.Sprintf(address, i))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		meetings[i], addresses[i] = &meeting{l, strings.Repeat("t", tokenSize)}, l.Addr().Network()+" "+l.Addr().String()
	}
	// Strangers come first: one says nothing, one sends garbage, one pretends to be a worker.
	for _, text := range []string{"", strings.Repeat("\xff", 100), strings.Repeat("f", tokenSize) + "0001", "GET / HTTP/1.1\r\n\r\n"} {
		c, err := dial(addresses[0], time.Now().Add(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	groups, done := make([]*group, n), make(chan error)
	for i := range n {
		groups[i] = &group{rank: i, groups: 1, peers: make([]*peer, n), limit: limit}
		go func() { done <- meetings[i].meet(groups[i], addresses) }()
		t.Cleanup(func() { groups[i].close(errClosed) })
	}
	for range n {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return groups
}

// TestMeeting connects workers while strangers call at them.
func TestMeeting(t *testing.T) {
	for network, address := range map[string]string{"unix": "@tvmffi-disco-test-" + fmt.Sprint(os.Getpid()) + "-%d", "tcp": "127.0.0.1:0%.0d"} {
		t.Run(network, func(t *testing.T) {
			g := meetAll(t, 3, network, address, 5*time.Second)
			end := time.Now().Add(5 * time.Second)
			sent := bytes.Repeat([]byte("0123456789"), 1<<16)
			go func() {
				if err := g[2].send(opPoint, 0, sent, end); err != nil {
					t.Error(err)
				}
			}()
			got := make([]byte, len(sent))
			if err := g[0].receive(opPoint, 2, got, end); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("a message did not arrive: %v", err)
			}
		})
	}
}

// TestMeeting_missing waits for a worker that does not come.
func TestMeeting_missing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	g := &group{groups: 1, peers: make([]*peer, 2), limit: 50 * time.Millisecond}
	err = (&meeting{l, strings.Repeat("t", tokenSize)}).meet(g, []string{"", ""})
	if err == nil || err.Error() != "1 workers have not connected within 50ms" {
		t.Errorf("%v", err)
	}
	closed := "tcp " + l.Addr().String()
	l.Close()
	g = &group{rank: 1, groups: 1, peers: make([]*peer, 2), limit: time.Second}
	if err := (&meeting{l, ""}).meet(g, []string{closed, ""}); err == nil || !strings.HasPrefix(err.Error(), "worker 0 cannot be reached: ") {
		t.Errorf("%v", err)
	}
}

// TestGroup_mismatch lets workers make different operations, and one give up.
func TestGroup_mismatch(t *testing.T) {
	end := time.Now().Add(5 * time.Second)
	for name, c := range map[string]struct {
		give func(g *group)
		want string
	}{
		"operation": {func(g *group) { _ = g.send(opGather, 0, []byte("four"), end) }, "worker 1 is at the operation gather, and this worker at broadcast"},
		"size":      {func(g *group) { _ = g.send(opBroadcast, 0, []byte("fives"), end) }, "broadcast: worker 1 sends 5 bytes, and this worker expects 4"},
		"giving up": {func(g *group) { g.close(errors.New("no more")) }, "broadcast: worker 1 has given up: no more"},
		"part": {func(g *group) {
			g.peers[0].partial.Store(true)
			_, _ = g.peers[0].Write(append(message(opBroadcast, nil)[:4], 4, 0, 0, 0, 0, 0, 0, 0, 'x'))
			g.close(errors.New("this text must not become a part of the message"))
		}, "broadcast: worker 1 has sent a part only: unexpected EOF"},
		"end":     {func(g *group) { g.peers[0].Close() }, "broadcast: worker 1 sends nothing: EOF"},
		"nothing": {func(*group) {}, "i/o timeout"},
		"garbage": {func(g *group) { _, _ = g.peers[0].Write(bytes.Repeat([]byte{0xff}, 50)) }, "worker 1 is at the operation 0xffffffff"},
	} {
		t.Run(name, func(t *testing.T) {
			g := meetAll(t, 2, "tcp", "127.0.0.1:0%.0d", 5*time.Second)
			go c.give(g[1])
			limit := end
			if name == "nothing" {
				limit = time.Now().Add(50 * time.Millisecond)
			}
			err := g[0].receive(opBroadcast, 1, make([]byte, 4), limit)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestGroup_stuck sends to a worker that takes nothing.
func TestGroup_stuck(t *testing.T) {
	g := meetAll(t, 2, "tcp", "127.0.0.1:0%.0d", 200*time.Millisecond)
	start := time.Now()
	large := make([]byte, 64<<20)
	err := g[0].exchange(opBroadcast, 0, 2, func(int) []byte { return large }, func(int, time.Time) error { return nil })
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "worker 1 does not take its part") || took > nativetest.Patience(2*time.Second) {
		t.Errorf("after %v: %v", took, err)
	}
	if err := g[0].failure(); err == nil {
		t.Error("the group goes on")
	}
}
