package disco

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
)

// Sockets begins a session on several hosts: this process and nodes-1 others, which call [Join], with
// perNode workers each. It waits at the listener until the nodes have come, as long as ctx allows; the
// caller closes the listener. The workers of this process have the lowest numbers, then those of the nodes
// in the order of their arrival. On each host the first worker is a thread, and the others are processes.
//
// A peer that does not know Options.Secret, or sends something else, is refused, and Options.Output gets a
// line about it. The secret may be empty only if the listener is on a loopback address. Workers connect to
// the addresses that the controller sees, so address translation is not supported.
//
// A node is lost if its process or its connection ends, or if nothing comes from it for
// Options.Silence. Then the session can only be closed.
func Sockets(ctx context.Context, l net.Listener, nodes, perNode int, o Options) (*Session, error) {
	if nodes < 2 || perNode < 1 {
		return nil, fmt.Errorf("a session of %d nodes with %d workers each: expected at least 2 nodes and 1 worker", nodes, perNode)
	}
	s, err := newSession(nodes*perNode, o)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(needMain(), needSecret(l.Addr(), s.options.Secret)); err != nil {
		return nil, err
	}
	if err := s.gather(ctx, l, nodes, perNode); err != nil {
		s.cutOff(err)
		return nil, err
	}
	if s.host, err = startHost(perNode, 1, 0, s.options, s.print); err != nil {
		s.cutOff(err)
		return nil, err
	}
	if err := s.assemble(ctx, nodes, perNode); err != nil {
		s.cutOff(err)
		s.host.kill()
		s.host.release()
		return nil, err
	}
	return s.begin(ctx)
}

// cutOff ends the connections to nodes that no session of Disco uses.
func (s *Session) cutOff(cause error) {
	for _, n := range s.nodes {
		n.link.close(cause)
	}
}

// gather waits for the nodes.
func (s *Session) gather(ctx context.Context, l net.Listener, nodes, perNode int) error {
	free := make(chan uint32, nodes-1) // the numbers that no node has
	for id := range cap(free) {
		free <- uint32(id + 1)
	}
	number := func(workers uint32) (settings, error) {
		if int64(workers) < int64(perNode) {
			return settings{}, fmt.Errorf("%w: it has %d workers, and the session needs %d", ErrRefused, workers, perNode)
		}
		select {
		case id := <-free:
			return settings{s.id, id, uint32(nodes), uint32(perNode), uint32(s.options.Silence.Milliseconds())}, nil
		default:
			return settings{}, fmt.Errorf("%w: all %d nodes are there", ErrRefused, nodes)
		}
	}
	come := make(chan *node, nodes)
	failed, stop, err := accept(l, func(c net.Conn) {
		given, err := admit(c, s.options.Secret, number)
		if err != nil {
			s.print(-1, fmt.Sprintf("%v: %v", c.RemoteAddr(), err), false)
			_ = c.Close()
			if given.Node != 0 { // the node has not received its number, so the next one gets it
				free <- given.Node
			}
			return
		}
		come <- &node{id: int(given.Node), workers: perNode, link: newLink(c, s.options.Silence), print: s.print, ended: make(chan struct{})}
	})
	if err != nil {
		return err
	}
	defer func() {
		stop()
		for len(come) > 0 { // nodes that came when nobody waited any more
			(<-come).link.close(errEnded)
		}
	}()
	s.nodes = make([]*node, 0, nodes-1)
	for range nodes - 1 {
		select {
		case n := <-come:
			s.nodes = append(s.nodes, n)
		case err := <-failed:
			return fmt.Errorf("%d of %d nodes have come to %v: %w", len(s.nodes), nodes-1, l.Addr(), err)
		case <-ctx.Done():
			return fmt.Errorf("%d of %d nodes have come to %v: %w", len(s.nodes), nodes-1, l.Addr(), context.Cause(ctx))
		}
	}
	for i, n := range s.nodes { // by number
		for n.id != i+1 {
			s.nodes[i], s.nodes[n.id-1] = s.nodes[n.id-1], n
			n = s.nodes[i]
		}
	}
	return nil
}

// accept calls handle for each connection, on a goroutine of its own, until stop, or until the
// listener fails. The listener can be used again after stop.
func accept(l net.Listener, handle func(net.Conn)) (failed <-chan error, stop func(), err error) {
	limited, ok := l.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return nil, nil, fmt.Errorf("a %T cannot be interrupted: use one of net.Listen", l)
	}
	failure := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				failure <- err
				return
			}
			running.Go(func() { handle(c) })
		}
	})
	return failure, func() {
		_ = limited.SetDeadline(time.Now()) // Accept returns at once
		running.Wait()
		_ = limited.SetDeadline(time.Time{})
	}, nil
}

// assemble makes the session of Disco and connects it with the nodes. Disco listens on a loopback
// address, at which only this process calls.
func (s *Session) assemble(ctx context.Context, nodes, perNode int) error {
	place, port, err := freePort()
	if err != nil {
		return err
	}
	made := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer s.host.expected()()
		var err error
		s.handle, err = generated.NewSocketSession(int64(nodes), int64(perNode), int64(s.options.Groups), place, int64(port))
		made <- err
		close(made) // s.handle is set, for callers that did not get err
	}()
	address := net.JoinHostPort(place, fmt.Sprint(port))
	for i, n := range s.nodes {
		// Disco numbers nodes in connection order; its first message confirms the connection.
		local, early, err := callDisco(ctx, address, made)
		if err != nil {
			for range s.nodes[i:] { // or Disco would wait forever
				if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
					defer closeAll(c)
				}
			}
			select {
			case <-made:
				if s.handle != nil {
					s.handle.Release()
				}
			case <-time.After(s.options.CloseLimit): // its thread remains
			}
			return err
		}
		if err := n.link.send(frameData, early); err != nil {
			s.print(-1, fmt.Sprintf("node %d: %v", n.id, err), false) // begin fails
		}
		go n.carry(local)
	}
	return <-made
}

// callDisco connects to the socket of Disco, and waits for its first bytes.
func callDisco(ctx context.Context, address string, made chan error) (*net.TCPConn, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			select {
			case err := <-made:
				return nil, nil, fmt.Errorf("the session of Disco does not listen: %w", err)
			case <-ctx.Done():
				return nil, nil, fmt.Errorf("the session of Disco does not listen: %w", err)
			case <-time.After(5 * time.Millisecond):
				continue
			}
		}
		b := make([]byte, 1<<10)
		end, _ := ctx.Deadline()
		_ = c.SetReadDeadline(end)
		n, err := c.Read(b)
		if err != nil {
			_ = c.Close()
			return nil, nil, fmt.Errorf("the session of Disco sends nothing: %w", err)
		}
		_ = c.SetReadDeadline(time.Time{})
		return c.(*net.TCPConn), b[:n], nil
	}
}

// freePort returns a port of a loopback address that nobody else is likely to call.
func freePort() (place string, port int, err error) {
	place = fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(256), 1+rand.N(254))
	l, err := net.Listen("tcp", place+":0")
	if err != nil {
		return "", 0, err
	}
	defer closeAll(l)
	return place, l.Addr().(*net.TCPAddr).Port, nil
}
