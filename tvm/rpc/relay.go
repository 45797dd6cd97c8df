package rpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A relay passes the messages of a session between a connection and C++, which has the other end of a pair of
// sockets. C++ reads and writes without any limit; the relay knows where a message begins and ends, so it can bound what
// the peer does. It also lets a connection be anything that Go can read: TLS, for example.
type relay struct {
	conn, local    net.Conn
	limits         relayLimits
	received, sent *atomic.Int64 // bytes of the peer, and for it
	ended          chan struct{}

	mu     sync.Mutex
	cause  error // the first one; io.EOF if a side has closed its connection between two messages
	inside bool  // a message of the peer has begun
	turn   bool  // the peer is to send the next message; otherwise C++ computes
}

type relayLimits struct {
	part    time.Duration // for a part of a message: the peer must send or take that much in this time
	idle    time.Duration // for the peer's next message while C++ waits for it, 0 for none
	message int64         // bytes of a message of the peer
	// farewell returns the answer to the next message of a peer that was idle, if it is not nil.
	farewell func() []byte
}

// relayPart is how many bytes of a message pass at once.
const relayPart = 64 << 10

// errIdle says that a client had no work for its session.
var errIdle = errors.New("the client has sent no message for too long")

// relayed starts a relay for conn and returns the socket for C++. The relay closes conn.
func relayed(conn net.Conn, l relayLimits, received, sent *atomic.Int64) (*socket, *relay, error) {
	s, local, err := newPair()
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	s.peer = conn
	r := &relay{conn: conn, local: local, limits: l, received: received, sent: sent, ended: make(chan struct{}), turn: true}
	go r.run()
	return s, r, nil
}

// wait waits until C++ has closed its socket and the peer has the rest, and returns why the relay ended: nil if either
// side closed its connection between two messages.
func (r *relay) wait() error {
	<-r.ended
	return r.why()
}

func (r *relay) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.cause, io.EOF) {
		return nil
	}
	return r.cause
}

func (r *relay) end(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		r.cause = cause
	}
}

func (r *relay) run() {
	defer close(r.ended)
	var in sync.WaitGroup
	in.Go(func() {
		err := r.pass(r.local, r.conn, true)
		r.end(err)
		if errors.Is(err, errIdle) && r.limits.farewell != nil { // C++ sends nothing now
			_ = r.conn.SetWriteDeadline(time.Now().Add(r.limits.part))
			_, _ = r.conn.Write(r.limits.farewell())
			_ = r.conn.Close()
		}
		_ = r.local.(*net.UnixConn).CloseWrite() // C++ reads what has come, and then the end
	})
	r.end(r.pass(r.conn, r.local, false))
	_ = r.conn.Close()
	_ = r.local.Close()
	in.Wait()
}

// pass passes messages until one side ends. Each begins with its length in eight bytes.
func (r *relay) pass(to, from net.Conn, in bool) error {
	b := bufio.NewReaderSize(from, relayPart)
	count, most := r.sent, int64(math.MaxInt64-8)
	if in {
		count, most = r.received, min(most, r.limits.message)
	}
	for {
		r.between(in)
		if _, err := b.Peek(1); err != nil { // the end between two messages is not an error
			if in && errors.Is(err, os.ErrDeadlineExceeded) {
				return errIdle
			}
			return err
		}
		r.within(in)
		head, err := b.Peek(8)
		if err != nil {
			return half(err, len(head), 8)
		}
		size := binary.LittleEndian.Uint64(head)
		if size > uint64(most) {
			return fmt.Errorf("%w: a message of %d bytes, where %d is the limit", ErrProtocol, size, most)
		}
		for left := int64(size) + 8; left > 0; {
			part, err := b.Peek(int(min(left, relayPart)))
			if err != nil {
				return half(err, len(part), left)
			}
			if left -= int64(len(part)); left == 0 {
				r.last(in) // before the other side can answer
			}
			if !in {
				_ = to.SetWriteDeadline(time.Now().Add(r.limits.part))
			}
			count.Add(int64(len(part))) // before the other side can ask
			if n, err := to.Write(part); err != nil {
				count.Add(int64(n - len(part)))
				return fmt.Errorf("a message of %d bytes could not be passed on: %w", size, err)
			}
			_, _ = b.Discard(len(part)) // it was peeked
			r.within(in)
		}
	}
}

func half(err error, got int, left int64) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("a message ended early: %d of the next %d bytes came: %w", got, left, err)
}

// between, within and last keep the deadline for what the peer sends: none while C++ computes.
func (r *relay) between(in bool) {
	if in {
		r.await(func() { r.inside = false })
	}
}

func (r *relay) within(in bool) {
	if in {
		r.await(func() { r.inside = true })
	}
}

func (r *relay) last(in bool) { r.await(func() { r.turn = !in }) }

// await sets the deadline after a change.
func (r *relay) await(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	var deadline time.Time
	switch {
	case r.inside:
		deadline = time.Now().Add(r.limits.part)
	case r.turn && r.limits.idle > 0:
		deadline = time.Now().Add(r.limits.idle)
	}
	_ = r.conn.SetReadDeadline(deadline)
}
