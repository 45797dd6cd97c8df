package disco

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// A wire carries Disco's messages between this process and another host. Disco could do that on its own, but it waits
// without limit, and a connection that ends would end the process.
type wire struct {
	conn  net.Conn
	once  sync.Once
	done  chan struct{} // closed when the peer has ended
	cause error         // valid when done is closed
	ended chan struct{} // closed when Disco has ended too
	// shutdown is whether the peer has ended the session before its connection.
	shutdown atomic.Bool
}

var errEnded = errors.New("the peer has closed the connection")

func newWire(c net.Conn) *wire {
	return &wire{conn: c, done: make(chan struct{}), ended: make(chan struct{})}
}

// close ends the connection with a cause. The first cause counts.
func (w *wire) close(cause error) {
	w.once.Do(func() {
		if w.cause = cause; cause == nil {
			w.cause = errEnded
		}
		close(w.done)
		_ = w.conn.Close() // both sides know what they have got
	})
}

// carry copies between Disco, at the other end of local, and the peer, until both have ended. Disco sees the end of the
// peer as the end of its connection, but it may still write: an error would end the process, in a destructor.
func (w *wire) carry(local *net.TCPConn) {
	defer close(w.ended)
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 1<<16)
		for {
			acknowledgeAtOnce(local)
			n, err := local.Read(b)
			if _, failed := w.conn.Write(b[:n]); failed != nil {
				w.close(failed)
			}
			if err != nil {
				endWriting(w.conn)
				return
			}
		}
	}()
	_, err := io.Copy(&sink{wire: w, local: local}, w.conn)
	w.close(err)
	endWriting(local)
	<-read
	_ = local.Close()
}

// A sink passes on what Disco takes, and drops what comes after it has closed.
type sink struct {
	*wire
	local net.Conn
	last  []byte // the end of what came
}

// Write does not fail.
func (s *sink) Write(b []byte) (int, error) {
	s.last = append(s.last, b[max(0, len(b)-len(shutdown)):]...)
	s.last = s.last[max(0, len(s.last)-len(shutdown)):]
	s.shutdown.Store(string(s.last) == shutdown) // before Disco ends
	_, _ = s.local.Write(b)
	return len(b), nil
}

// shutdown is the end of the last message of a controller: two integers, 0 and -1. Disco treats the end of the
// connection alike.
const shutdown = "\x02\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"

// endWriting ends one direction of a connection, or all of it if it has no directions.
func endWriting(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}

// node is another host of a socket session, as the controller sees it.
type node struct {
	*wire
	id      int // from 1
	workers int
}

// lost returns an error if the node has ended.
func (n *node) lost() error {
	select {
	case <-n.done:
		status := fmt.Sprintf("node %d at %v is lost: %v", n.id, n.conn.RemoteAddr(), n.cause)
		return &WorkerError{Worker: n.id * n.workers, Err: &ExitError{Status: status}}
	default:
		return nil
	}
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return ""
	}
	return host
}
