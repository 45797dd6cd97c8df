package disco

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// link is the connection between the controller of a socket session and a node. It carries Disco's
// messages, and also output, ended processes and heartbeats, which Disco lacks.
type link struct {
	conn    net.Conn
	silence time.Duration // how long the peer may be silent

	write sync.Mutex
	once  sync.Once
	done  chan struct{}
	cause error // valid when done is closed

	ended   chan struct{} // closed when Disco has closed its side in the peer
	endOnce sync.Once
}

// The kinds of frames.
const (
	frameData = iota + 1
	frameBeat
	frameOutput // JSON of outputFrame
	frameLost   // JSON of lostFrame
	frameEnd    // Disco has closed its side
)

type outputFrame struct {
	Rank       int
	Line       string
	FromStdout bool
}

type lostFrame struct {
	Rank int
	Exit ExitError
}

const (
	frameHeader = 1 + 4
	maxFrame    = 1 << 20
)

var errEnded = errors.New("the peer has closed the connection")

func newLink(conn net.Conn, silence time.Duration) *link {
	l := &link{conn: conn, silence: silence, done: make(chan struct{}), ended: make(chan struct{})}
	go l.beat()
	return l
}

// close ends the link with a cause. The first cause counts.
func (l *link) close(cause error) {
	l.once.Do(func() {
		if l.cause = cause; cause == nil {
			l.cause = errEnded
		}
		close(l.done)
		_ = l.conn.Close() // both sides know what they have got
	})
}

// finish ends a link whose last frame was sent. It reports whether the peer has ended the session
// too, and waits a moment for that, and until the peer has read everything.
func (l *link) finish() (both bool) {
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case <-l.ended:
	case <-l.done:
	case <-limit.C:
	}
	select { // both may have happened
	case <-l.ended:
		both = true
	default:
	}
	if c, ok := l.conn.(*net.TCPConn); ok {
		l.write.Lock()
		_ = c.CloseWrite()
		l.write.Unlock()
		select {
		case <-l.done:
		case <-limit.C:
		}
	}
	l.close(nil)
	return both
}

// send sends one frame. It waits while the peer does not read, until the link is closed.
func (l *link) send(kind byte, content []byte) error {
	header := make([]byte, frameHeader)
	header[0] = kind
	binary.LittleEndian.PutUint32(header[1:], uint32(len(content)))
	buffers := net.Buffers{header, content}
	l.write.Lock()
	defer l.write.Unlock()
	if _, err := buffers.WriteTo(l.conn); err != nil {
		l.close(err)
		return err
	}
	return nil
}

// beat sends heartbeats to the peer.
func (l *link) beat() {
	ticker := time.NewTicker(l.silence / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if l.send(frameBeat, nil) != nil {
				return
			}
		case <-l.done:
			return
		}
	}
}

// receive reads frames until the link ends. handle must not keep content.
func (l *link) receive(handle func(kind byte, content []byte) error) {
	var header [frameHeader]byte
	content := make([]byte, 1<<16)
	for {
		err := l.conn.SetReadDeadline(time.Now().Add(l.silence))
		if err == nil {
			_, err = io.ReadFull(l.conn, header[:])
		}
		n := binary.LittleEndian.Uint32(header[1:])
		if err == nil && n > maxFrame {
			err = fmt.Errorf("a frame of %d bytes, expected at most %d", n, maxFrame)
		}
		if err == nil {
			if int(n) > len(content) {
				content = make([]byte, n)
			}
			_, err = io.ReadFull(l.conn, content[:n])
		}
		if err == nil {
			err = handle(header[0], content[:n])
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errEnded
			}
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				err = fmt.Errorf("the peer was silent for %v: %w", l.silence, err)
			}
			l.close(err)
			return
		}
	}
}

// carry copies between Disco, at the other end of local, and the link, until both have ended. Disco
// sees the end of the link as the end of its connection, but it may still write: an error would end the
// process, in a destructor.
func (l *link) carry(local *net.TCPConn, handle func(kind byte, content []byte) error) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 1<<16)
		for {
			acknowledgeAtOnce(local)
			n, err := local.Read(b)
			if n > 0 {
				_ = l.send(frameData, b[:n]) // an error has closed the link
			}
			if err != nil {
				_ = l.send(frameEnd, nil)
				return
			}
		}
	}()
	l.receive(func(kind byte, content []byte) error {
		switch kind {
		case frameData:
			_, _ = local.Write(content) // Disco has closed it, if it fails
			return nil
		case frameBeat:
			return nil
		case frameEnd:
			l.endOnce.Do(func() { close(l.ended) })
			return local.CloseWrite()
		}
		return handle(kind, content)
	})
	_ = local.CloseWrite()
	<-read
	_ = local.Close()
}
