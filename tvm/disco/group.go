package disco

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// group connects a worker with all others, for collective operations on the CPU. All workers of a
// session, or of a group of it, make the same operations in the same order, each on its own thread. If
// an operation fails, the connections may hold parts of messages. So group ends them all, which the
// others notice, and every later operation fails with the first error.
type group struct {
	rank, groups int
	peers        []*peer // by rank; nil at rank
	limit        time.Duration

	mu  sync.Mutex
	err error
}

// peer is the connection to another worker. While partial is set, a message is being written, or
// only a part of one was: nothing else may follow it.
type peer struct {
	net.Conn
	partial atomic.Bool
}

// operation is the kind of a message. An unexpected one means that the two workers made different
// operations.
type operation uint32

const (
	opAbort operation = iota + 0x7466_6931 // the message is the reason
	opBroadcast
	opScatter
	opGather
	opAllgather
	opReduce
	opPoint
)

var operationNames = map[operation]string{
	opAbort: "abort", opBroadcast: "broadcast", opScatter: "scatter", opGather: "gather",
	opAllgather: "allgather", opReduce: "allreduce", opPoint: "send",
}

// String returns the name of the operation.
func (o operation) String() string {
	if name := operationNames[o]; name != "" {
		return name
	}
	return fmt.Sprintf("%#x", uint32(o))
}

// messageHeader is the operation and the length.
const messageHeader = 4 + 8

// team returns the ranks that take part, in order, and the place of this worker among them.
func (g *group) team(inGroup bool) (first, size int) {
	if !inGroup {
		return 0, len(g.peers)
	}
	size = len(g.peers) / g.groups
	return g.rank / size * size, size
}

// failure returns the error that has ended the group, or nil.
func (g *group) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// close ends the group with the reason err and returns the reason that came first.
func (g *group) close(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	g.err = err
	for _, c := range g.peers {
		if c == nil {
			continue
		}
		if !c.partial.Load() { // otherwise the end of the connection must say enough
			_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			_, _ = c.Write(message(opAbort, []byte(err.Error())))
		}
		_ = c.Close()
	}
	return err
}

func message(op operation, content []byte) []byte {
	b := make([]byte, messageHeader, messageHeader+len(content))
	binary.LittleEndian.PutUint32(b, uint32(op))
	binary.LittleEndian.PutUint64(b[4:], uint64(len(content)))
	return append(b, content...)
}

func (g *group) send(op operation, to int, content []byte, end time.Time) error {
	c := g.peers[to]
	if err := c.SetWriteDeadline(end); err != nil {
		return err
	}
	header := message(op, nil)
	binary.LittleEndian.PutUint64(header[4:], uint64(len(content)))
	buffers := net.Buffers{header, content}
	c.partial.Store(true)
	if _, err := buffers.WriteTo(c.Conn); err != nil {
		return fmt.Errorf("%v: worker %d does not take its part: %w", op, to, err)
	}
	c.partial.Store(false)
	return nil
}

func (g *group) receive(op operation, from int, content []byte, end time.Time) error {
	c := g.peers[from]
	if err := c.SetReadDeadline(end); err != nil {
		return err
	}
	var header [messageHeader]byte
	if _, err := io.ReadFull(c, header[:]); err != nil {
		return fmt.Errorf("%v: worker %d sends nothing: %w", op, from, err)
	}
	got, n := operation(binary.LittleEndian.Uint32(header[:])), binary.LittleEndian.Uint64(header[4:])
	switch {
	case got == opAbort:
		reason := make([]byte, min(n, 1<<12))
		_, _ = io.ReadFull(c, reason) // what has come of it
		return fmt.Errorf("%v: worker %d has given up: %s", op, from, reason)
	case got != op:
		return fmt.Errorf("worker %d is at the operation %v, and this worker at %v", from, got, op)
	case n != uint64(len(content)):
		return fmt.Errorf("%v: worker %d sends %d bytes, and this worker expects %d", op, from, n, len(content))
	}
	if _, err := io.ReadFull(c, content); err != nil {
		return fmt.Errorf("%v: worker %d has sent a part only: %w", op, from, err)
	}
	return nil
}

// sending sends in the background. wait returns the first error.
type sending struct{ errs []chan error }

func (s *sending) add(f func() error) {
	c := make(chan error, 1)
	s.errs = append(s.errs, c)
	go func() { c <- f() }()
}

func (s *sending) wait() error {
	var all []error
	for _, c := range s.errs {
		all = append(all, <-c)
	}
	return errors.Join(all...)
}

// exchange sends part(i) to each member i of a team, from first on, and lets receive read from each
// in order, at the same time. part may be nil. If anything fails, exchange ends the group.
// It returns when nothing is written or read any more.
func (g *group) exchange(op operation, first, size int, part func(i int) []byte, receive func(i int, end time.Time) error) error {
	end := time.Now().Add(g.limit)
	var s sending
	for i := range size {
		if part != nil && first+i != g.rank {
			s.add(func() error { return g.send(op, first+i, part(i), end) })
		}
	}
	for i := range size {
		if err := receive(i, end); err != nil {
			err = g.close(err)
			_ = s.wait() // the writers have lost their connections
			return err
		}
	}
	if err := s.wait(); err != nil {
		return g.close(err)
	}
	return nil
}

// memory returns the bytes of a tensor that an operation works on.
func memory(t *tvmffi.Tensor, what string) ([]byte, error) {
	if t == nil {
		return nil, fmt.Errorf("the worker has no tensor for the %s", what)
	}
	b, err := t.Bytes()
	if err != nil {
		return nil, fmt.Errorf("the tensor for the %s: %w", what, err)
	}
	return b, nil
}
