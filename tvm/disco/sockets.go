package disco

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/internal/child"
	"github.com/tvmffi-go/tvmffi/tvm/internal/silence"
)

// Sockets begins a session on several hosts: this process and nodes-1 others, with perNode workers each. The others call
// [Join], or are other programs that join a SocketSession of TVM, if Options.Plain is set. Sockets waits at the listener
// until they have come, as long as ctx allows; the caller closes the listener. The workers of this process have the
// lowest numbers, then those of the nodes in the order of their arrival. On each host of Go the first worker is a thread,
// and the others are processes.
//
// Any peer that can connect becomes a node, and can run any function here: Disco has neither a secret nor encryption. Use a
// listener on a loopback address with a tunnel, a private network, or for nodes in Go a listener of crypto/tls that
// demands certificates; a listener without SetDeadline is closed. Collective operations on CPUs use a port of their own,
// without encryption. A peer that leaves or sends something before all have come is not counted. Workers of Go connect to
// the address of the controller that its first node sees.
//
// A node is lost if its process or its connection ends, or if its machine is silent for Options.Silence. Then the
// session can only be closed. Disco sends no heartbeats: only a probe from outside, such as Kubernetes', finds a node
// that hangs.
func Sockets(ctx context.Context, l net.Listener, nodes, perNode int, o Options) (*Session, error) {
	if nodes < 2 || perNode < 1 {
		return nil, fmt.Errorf("a session of %d nodes with %d workers each: expected at least 2 nodes and 1 worker", nodes, perNode)
	}
	s, err := newSession(nodes*perNode, o)
	if err != nil {
		return nil, err
	}
	if err := child.Needed(); err != nil {
		return nil, err
	}
	if err := s.gather(ctx, l, nodes, perNode); err != nil {
		s.cutOff(err)
		return nil, err
	}
	if s.host, err = startHost(perNode, 1, s.print); err != nil {
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
		n.close(cause)
	}
}

// caller is a peer that may become a node. It is silent until the controller has spoken.
type caller struct {
	net.Conn
	read chan error // why it is not silent any more
}

func newCaller(c net.Conn) *caller {
	p := &caller{c, make(chan error, 1)}
	go func() {
		n, err := c.Read(make([]byte, 1))
		if n > 0 {
			err = errors.New("it spoke first")
		}
		p.read <- err
	}()
	return p
}

// listenTime is for how long a controller listens to peers that should be silent.
const listenTime = 50 * time.Millisecond

// handshakeTime is how long a handshake of crypto/tls may take.
const handshakeTime = 10 * time.Second

// silent waits for the end of the reading, and returns an error if the peer was not silent.
func (p *caller) silent() error {
	err := <-p.read
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		return err
	}
	return p.SetReadDeadline(time.Time{})
}

// gather waits for the nodes.
func (s *Session) gather(ctx context.Context, l net.Listener, nodes, perNode int) error {
	come := make(chan *caller)
	failed, stop := accept(ctx, l, come)
	defer stop()
	var waiting []*caller
	for len(waiting) < nodes-1 {
		var err error
		select {
		case c := <-come:
			waiting = append(waiting, c)
		case err = <-failed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			for _, c := range waiting {
				closeAll(c)
			}
			return fmt.Errorf("%d of %d nodes have come to %v: %w", len(waiting), nodes-1, l.Addr(), err)
		}
		if len(waiting) < nodes-1 {
			continue
		}
		for _, c := range waiting {
			_ = c.SetReadDeadline(time.Now().Add(listenTime))
		}
		waiting = slices.DeleteFunc(waiting, func(c *caller) bool {
			err := c.silent()
			if err != nil {
				closeAll(c)
				_, _ = fmt.Fprintf(s.options.Output, "[controller] the peer %v is not a node: %v\n", c.RemoteAddr(), err)
			}
			return err != nil
		})
		for i, c := range waiting {
			if len(waiting) < nodes-1 { // go on waiting
				waiting[i] = newCaller(c.Conn)
			}
		}
	}
	for i, c := range waiting {
		_ = silence.Limit(c.Conn, s.options.Silence) // then only the end of the connection shows
		s.nodes = append(s.nodes, &node{wire: newWire(c.Conn), id: i + 1, workers: perNode})
	}
	return nil
}

// accept passes on the connections until stop, or until the listener fails. After stop the listener
// can be used again, if it has SetDeadline. A handshake of crypto/tls is done before.
func accept(ctx context.Context, l net.Listener, come chan<- *caller) (failed <-chan error, stop func()) {
	limited, ok := l.(interface{ SetDeadline(time.Time) error })
	if !ok {
		limited = noDeadline{l}
	}
	ctx, cancel := context.WithCancel(ctx)
	failure, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		var peers sync.WaitGroup
		defer peers.Wait()
		for {
			c, err := l.Accept()
			if err != nil {
				failure <- err
				return
			}
			peers.Go(func() {
				if secure, ok := c.(interface{ HandshakeContext(context.Context) error }); ok {
					limited, end := context.WithTimeout(ctx, handshakeTime)
					defer end()
					if secure.HandshakeContext(limited) != nil {
						closeAll(c)
						return
					}
				}
				select {
				case come <- newCaller(c):
				case <-ctx.Done():
					closeAll(c)
				}
			})
		}
	}()
	return failure, func() {
		cancel()
		_ = limited.SetDeadline(time.Now()) // Accept returns at once
		<-done
		_ = limited.SetDeadline(time.Time{})
	}
}

// noDeadline stands for a listener that can only be interrupted by its end, such as one of crypto/tls.
type noDeadline struct{ net.Listener }

// SetDeadline closes the listener.
func (l noDeadline) SetDeadline(time.Time) error { return l.Close() }

// assemble makes the session of Disco and connects it with the nodes. Disco listens on a loopback
// address, at which only this process calls.
func (s *Session) assemble(ctx context.Context, nodes, perNode int) error {
	place := [4]byte{127, byte(1 + rand.N(254)), byte(rand.N(256)), byte(1 + rand.N(254))} // where nobody else is likely to call
	made := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer expect(func(int) (*host, error) { return s.host, nil })()
		var err error
		s.handle, err = generated.NewSocketSession(int64(nodes), int64(perNode), int64(s.options.Groups), netip.AddrFrom4(place).String(), 0)
		made <- err
		close(made) // s.handle is set, for callers that did not get err
	}()
	for i, n := range s.nodes {
		// Disco numbers nodes in connection order; its first message confirms the connection.
		local, early, err := callDisco(ctx, place, made)
		if err != nil {
			for range s.nodes[i:] { // or Disco would wait forever
				if c, err := net.DialTimeout("tcp", listensAt(place).String(), time.Second); err == nil {
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
		if _, err := n.conn.Write(early); err != nil {
			n.close(err) // begin fails
		}
		go n.carry(local)
	}
	return <-made
}

// callDisco connects to the socket of Disco, when it listens, and waits for its first bytes. The system has chosen the port.
func callDisco(ctx context.Context, place [4]byte, made chan error) (*net.TCPConn, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for !listensAt(place).IsValid() {
		var err error
		select {
		case err = <-made:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
			continue
		}
		return nil, nil, fmt.Errorf("the session of Disco does not listen: %w", err)
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", listensAt(place).String())
	if err != nil {
		return nil, nil, err
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
