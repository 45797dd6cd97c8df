package disco

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The workers of a session find each other in two steps, which are calls like others. In the first one
// each worker starts to listen, and the controller gets the addresses. In the second one each worker
// gets all addresses and connects to the workers below it. Each connection must begin with the token,
// which the controller makes and only workers get.

// meeting is a worker's state between the two steps.
type meeting struct {
	listener net.Listener
	token    string
}

func (m *meeting) close() { _ = m.listener.Close() }

const (
	tokenSize    = 32 // in hexadecimal digits
	greetingSize = tokenSize + 4
	// greetingLimit is how long a peer may take to send its token.
	greetingLimit = 5 * time.Second
)

func newToken() string {
	b := make([]byte, tokenSize/2)
	_, _ = rand.Read(b) // does not fail
	return hex.EncodeToString(b)
}

// listen is the first step. It gets the token and the host to listen on, which is empty if all
// workers are on one host. It returns the address.
func (w *worker) listen(args []tvmffi.Any) (any, error) {
	token, err := tvmffi.As[string](args[0])
	if err != nil {
		return nil, err
	}
	hosts, err := tvmffi.As[string](args[1])
	if err != nil {
		return nil, err
	}
	perHost, err := tvmffi.As[int](args[2])
	if err != nil {
		return nil, err
	}
	// Nothing of an abstract address remains in the file system.
	network, address := "unix", fmt.Sprintf("@tvmffi-disco-%s-%d", token[:8], w.id.rank)
	if hosts != "" {
		all := strings.Split(hosts, ",")
		network, address = "tcp", net.JoinHostPort(all[int(w.id.rank)/perHost], "0")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	w.close()
	workers.Lock()
	w.listener, w.group = &meeting{l, token}, nil
	workers.Unlock()
	return l.Addr().Network() + " " + l.Addr().String(), nil
}

// connect is the second step. It gets the addresses as JSON, the number of groups and the limit
// for one operation in milliseconds.
func (w *worker) connect(args []tvmffi.Any) (any, error) {
	text, err := tvmffi.As[string](args[0])
	if err != nil {
		return nil, err
	}
	var addresses []string
	if err := json.Unmarshal([]byte(text), &addresses); err != nil {
		return nil, err
	}
	groups, err := tvmffi.As[int](args[1])
	if err != nil {
		return nil, err
	}
	limit, err := tvmffi.As[int64](args[2])
	if err != nil {
		return nil, err
	}
	if w.listener == nil {
		return nil, errors.New("the worker has not begun to listen")
	}
	g := &group{rank: int(w.id.rank), groups: groups, peers: make([]*peer, len(addresses)), limit: time.Duration(limit) * time.Millisecond}
	defer w.listener.close()
	if err := w.listener.meet(g, addresses); err != nil {
		g.close(err)
		return nil, err
	}
	workers.Lock()
	w.listener, w.group = nil, g
	workers.Unlock()
	return nil, nil
}

// meet connects g to all others: it calls those below and waits for those above.
func (m *meeting) meet(g *group, addresses []string) error {
	end := time.Now().Add(g.limit)
	type arrival struct {
		rank int
		conn net.Conn
	}
	arrivals := make(chan arrival)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			c, err := m.listener.Accept()
			if err != nil {
				return // the listener is closed when all have come
			}
			go func() { // so that a peer that says nothing keeps no one waiting
				rank, err := m.greeted(c)
				if err != nil {
					_ = c.Close()
					return
				}
				select {
				case arrivals <- arrival{rank, c}:
				case <-done:
					_ = c.Close()
				}
			}()
		}
	}()
	for rank := range g.rank {
		c, err := dial(addresses[rank], end)
		if err == nil {
			g.peers[rank] = &peer{Conn: c}
			err = greet(c, greeting(m.token, g.rank), end)
		}
		if err != nil {
			return fmt.Errorf("worker %d cannot be reached: %w", rank, err)
		}
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	for missing := len(g.peers) - 1 - g.rank; missing > 0; {
		select {
		case a := <-arrivals:
			if a.rank <= g.rank || a.rank >= len(g.peers) || g.peers[a.rank] != nil {
				_ = a.conn.Close()
				continue
			}
			g.peers[a.rank] = &peer{Conn: a.conn}
			missing--
		case <-timer.C:
			return fmt.Errorf("%d workers have not connected within %v", missing, g.limit)
		}
	}
	return nil
}

// greet sends a greeting, until end at the latest.
func greet(c net.Conn, b []byte, end time.Time) error {
	if err := c.SetWriteDeadline(end); err != nil {
		return err
	}
	if _, err := c.Write(b); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}

func dial(address string, end time.Time) (net.Conn, error) {
	network, place, _ := strings.Cut(address, " ")
	d := net.Dialer{Deadline: end}
	return d.Dial(network, place)
}

func greeting(token string, rank int) []byte {
	return fmt.Appendf(nil, "%s%04d", token, rank)
}

func (m *meeting) greeted(c net.Conn) (rank int, err error) {
	if err := c.SetReadDeadline(time.Now().Add(greetingLimit)); err != nil {
		return 0, err
	}
	b := make([]byte, greetingSize)
	if _, err := io.ReadFull(c, b); err != nil {
		return 0, err
	}
	if subtle.ConstantTimeCompare(b[:tokenSize], []byte(m.token)) != 1 {
		return 0, errors.New("wrong token")
	}
	_, err = fmt.Sscanf(string(b[tokenSize:]), "%d", &rank)
	return rank, err
}
