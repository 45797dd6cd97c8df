package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/child"
	"github.com/tvmffi-go/tvmffi/tvm/internal/silence"
)

// A Server serves sessions: it runs the functions of this machine for its clients.
type Server struct {
	config   Config
	listener net.Listener
	keys     *keys
	slots    chan struct{} // holds an element for each session that runs
	ended    context.Context
	end      context.CancelFunc // kills the sessions
	offering context.Context
	withdraw context.CancelFunc // ends the connection to the tracker
	work     tasks
	stats    struct{ sessions, failed, refused, running, received, sent atomic.Int64 }
}

// Listen opens the port of a server; [Server.Serve] then serves it. The error says what is
// missing: the library of TVM, a free port, a call of [Main], the Dir of the Config. The caller closes the server.
func Listen(config Config) (*Server, error) {
	c, err := config.complete()
	if err != nil {
		return nil, err
	}
	if err := c.tryDir(); err != nil {
		return nil, err
	}
	if err := load(); err != nil {
		return nil, err
	}
	if err := child.Needed(); err != nil {
		return nil, fmt.Errorf("rpc: %w", err)
	}
	return listen(c)
}

// listen opens the port of a server with a complete config.
func listen(c Config) (*Server, error) {
	l := c.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", c.Addr); err != nil {
			return nil, err
		}
	}
	addr, tcp := l.Addr().(*net.TCPAddr)
	if !tcp && c.Tracker != "" {
		return nil, fmt.Errorf("rpc: a server that registers at a tracker needs a TCP port, and the Listener has the address %v", l.Addr())
	}
	c.Relay = c.Relay || !tcp || !addr.IP.IsLoopback()
	if c.TLS != nil {
		l = tls.NewListener(l, c.TLS)
	}
	s := &Server{config: c, listener: l, slots: make(chan struct{}, c.MaxSessions), keys: newKeys(c.MaxSessions)}
	s.ended, s.end = context.WithCancel(context.Background())
	s.offering, s.withdraw = context.WithCancel(s.ended)
	return s, nil
}

// Addr returns the address of the server, with its port.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Stats counts what a server has done and does.
type Stats struct {
	// Running is how many sessions run, and MaxSessions how many may.
	Running, MaxSessions int
	// Sessions is how many have begun, and Failed how many of them ended with an error.
	Sessions, Failed int64
	// Refused is how many clients had no session: because of a wrong key, for example, or because they left early.
	Refused int64
	// Received and Sent are the bytes of the messages that clients sent and got through a relay: see [Config.Relay].
	Received, Sent int64
}

// Stats returns what the server has done and does. Any goroutine may call it.
func (s *Server) Stats() Stats {
	c := &s.stats
	return Stats{int(c.running.Load()), s.config.MaxSessions, c.sessions.Load(), c.failed.Load(), c.refused.Load(), c.received.Load(), c.sent.Load()}
}

// Serve serves clients until ctx ends, which closes the server, or until [Server.Shutdown] or
// [Server.Close]. It returns when all sessions have ended: the cause of ctx, or [ErrClosed].
func (s *Server) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { s.Close() })()
	if s.config.Tracker != "" {
		s.work.start(func() { s.register(s.offering) })
	}
	err := acceptAll(s.ended, s.listener, &s.work, s.config.Logger, s.config.MaxSessions+s.config.MaxWaiting, s.client)
	s.work.group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// Shutdown stops accepting clients and waits for running sessions. If ctx ends before they do,
// Shutdown ends them and returns the cause.
func (s *Server) Shutdown(ctx context.Context) error {
	s.work.close()
	s.listener.Close()
	s.withdraw()
	done := make(chan struct{})
	go func() { s.work.group.Wait(); close(done) }()
	select {
	case <-done:
		s.end()
		return nil
	case <-ctx.Done():
		s.end()
		<-done
		return context.Cause(ctx)
	}
}

// Close stops accepting clients, ends all sessions and waits for their end.
func (s *Server) Close() error {
	s.end()
	return s.Shutdown(context.Background())
}

// client serves one connection from its greeting to its end.
func (s *Server) client(conn net.Conn) {
	defer conn.Close()
	log := s.config.Logger.With("client", conn.RemoteAddr().String())
	stop := context.AfterFunc(s.ended, func() { conn.Close() })
	options, err := s.welcome(conn)
	if err == nil {
		defer s.keys.free()
		if err = s.wait(conn); err == nil {
			defer func() { <-s.slots }()
			err = s.begin(conn)
		}
	}
	stop()
	if err != nil {
		s.stats.refused.Add(1)
		log.Warn("rpc: refused a client", "err", err)
		return
	}
	s.stats.running.Add(1)
	defer s.stats.running.Add(-1)
	log = log.With("session", s.stats.sessions.Add(1))
	log.Info("rpc: the session begins")
	start := time.Now()
	err = s.session(conn, s.timeout(options))
	if log = log.With("duration", time.Since(start)); err != nil {
		s.stats.failed.Add(1)
		log.Error("rpc: the session failed", "err", err)
	} else {
		log.Info("rpc: the session ended")
	}
}

// welcome reads the greeting of a client and checks its key. It returns the options of the
// client, which follow the key.
func (s *Server) welcome(conn net.Conn) ([]string, error) {
	if err := silence.Limit(conn, s.config.PeerTimeout); err != nil {
		return nil, err
	}
	conn.SetDeadline(time.Now().Add(s.config.HandshakeTimeout))
	hello, err := readHello(conn)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(hello)
	if len(words) == 0 {
		words = []string{""}
	}
	key, client := strings.CutPrefix(words[0], "client:")
	if !client || !s.admits(key) {
		writeCode(conn, codeMismatch)
		return nil, fmt.Errorf("%w %.50q", ErrKey, words[0])
	}
	return words[1:], conn.SetDeadline(time.Time{})
}

// admits reports whether a client with the key may have a session.
func (s *Server) admits(key string) bool {
	if s.config.Tracker != "" {
		return s.keys.take(key)
	}
	return key == s.config.Key
}

// wait waits for a free slot, as long as the client does.
func (s *Server) wait(conn net.Conn) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	gone := make(chan error, 1)
	go func() { // a client sends nothing before it has the answer
		n, err := conn.Read(make([]byte, 1))
		if n > 0 {
			err = fmt.Errorf("%w: it sent bytes before it had the answer", ErrProtocol)
		}
		gone <- err
	}()
	select {
	case s.slots <- struct{}{}:
		conn.SetReadDeadline(time.Unix(1, 0))
		if early := <-gone; !errors.Is(early, os.ErrDeadlineExceeded) {
			<-s.slots
			return early
		}
		return conn.SetReadDeadline(time.Time{})
	case err := <-gone:
		return fmt.Errorf("the client ended before there was room for it: %w", err)
	case <-s.ended.Done():
		conn.Close()
		<-gone
		return ErrClosed
	}
}

// begin answers the greeting.
func (s *Server) begin(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(s.config.HandshakeTimeout))
	if err := writeHello(conn, magic, "server:"+s.config.Key); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

// timeout returns how long a session may last: the lesser of the client's and the server's limit.
func (s *Server) timeout(options []string) time.Duration {
	d := s.config.SessionTimeout
	for _, o := range options {
		text, found := strings.CutPrefix(o, "-timeout=")
		seconds, err := strconv.ParseFloat(text, 64)
		if !found || err != nil || !(seconds > 0) || seconds > 1e9 {
			continue
		}
		if asked := time.Duration(seconds * 1e9); d == 0 || asked < d {
			d = asked
		}
	}
	return d
}
