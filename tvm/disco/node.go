package disco

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// node is another host of a socket session, as the controller sees it.
type node struct {
	id      int // from 1
	workers int
	link    *link
	print   func(rank int, line string, fromStdout bool)
	ended   chan struct{} // closed when the connection has ended on both sides
	mu      sync.Mutex
	exits   []error // of processes of workers there
}

// lost returns an error if the node, or the process of a worker there, has ended. The caller only
// reads the result.
func (n *node) lost() []error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.link.done:
		status := fmt.Sprintf("node %d at %v is lost: %v", n.id, n.link.conn.RemoteAddr(), n.link.cause)
		return append(slices.Clip(n.exits), &WorkerError{Worker: n.id * n.workers, Err: &ExitError{Status: status}})
	default:
		return n.exits
	}
}

// carry connects the node with Disco, and returns when both have ended.
func (n *node) carry(local *net.TCPConn) {
	defer close(n.ended)
	n.link.carry(local, func(kind byte, content []byte) error {
		switch kind {
		case frameOutput:
			var f outputFrame
			if err := json.Unmarshal(content, &f); err != nil {
				return err
			}
			n.print(f.Rank, f.Line, f.FromStdout)
			return nil
		case frameLost:
			var f lostFrame
			if err := json.Unmarshal(content, &f); err != nil {
				return err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			n.exits = append(n.exits, &WorkerError{Worker: f.Rank, Err: &f.Exit})
			return nil
		}
		return fmt.Errorf("a frame of the unknown kind %d", kind)
	})
}

// hosts returns the addresses of the hosts of a socket session, as the hosts know each other.
func (s *Session) hosts() []string {
	all := []string{hostOf(s.nodes[0].link.conn.LocalAddr())}
	for _, n := range s.nodes {
		all = append(all, hostOf(n.link.conn.RemoteAddr()))
	}
	return all
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return ""
	}
	return host
}

// sendJSON sends a frame of JSON. A link that has ended needs none.
func (l *link) sendJSON(kind byte, x any) {
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // strings and numbers always have a form
	}
	_ = l.send(kind, text)
}

var errNoLoopback = errors.New("set Options.Secret: other hosts can reach the listener, and participants of a session can call any function of this program")

// needSecret returns an error for a listener that other hosts can reach without a secret.
func needSecret(a net.Addr, secret string) error {
	if tcp, ok := a.(*net.TCPAddr); ok && secret == "" && !tcp.IP.IsLoopback() {
		return fmt.Errorf("listener on %v: %w", a, errNoLoopback)
	}
	return nil
}
