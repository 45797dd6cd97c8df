package rpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/internal/silence"
)

// DialOptions are the options of [Dial]. The zero value is ready for use.
type DialOptions struct {
	// Key is the key of the server, "" for none.
	Key string
	// PeerTimeout is how long the server's machine may be silent, or the server may read nothing,
	// until the session is lost. Longer computations are not affected. 0 is 30 seconds. The loss
	// may take three times as long, because the system checks at intervals.
	PeerTimeout time.Duration
	// HandshakeTimeout is how long the server may take to begin the session, which includes the time until it has
	// room for one. 0 means that only the context limits it, and 10 seconds in [TrackerClient.Request], which asks only
	// servers that have room. So a server that hangs costs this time, not the whole time of the context.
	HandshakeTimeout time.Duration
	// TLS, if it is set, is how the client speaks to the server. The ServerName is by default the host of the address.
	TLS *tls.Config
	// Dial makes the connection, by default by TCP: through a tunnel, for example, or over a Unix socket. Connections
	// other than a *net.TCPConn cost some microseconds for each message.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// SessionTimeout is the time after which the server ends the session, 0 for never.
	SessionTimeout time.Duration
}

// A Session is a connection to a server, whose functions it calls. Any goroutine may use it; the
// server handles one call at a time, and the others wait. A process can hold 32 sessions.
//
// A session returns functions, modules and tensors that stand for objects of the server. Each
// Release sends a message to the server. The garbage collector does the same for unreleased
// objects, and waits while another call runs, so a program should release remote objects.
type Session struct {
	addr   string
	module *tvmffi.Module
	index  int64
	socket *socket
	turn   chan struct{} // holds an element while a call runs
	closed chan struct{}
	once   atomic.Bool
	cause  atomic.Pointer[error] // why the session cannot be used

	foreign atomic.Bool // the server is not one of this package: see Upload
}

// Dial connects to the server at addr, which is "host:port", and begins a session. It waits until
// the server has room for one, so pass a ctx with a deadline. The ctx bounds Dial only. The error
// is a [*ConnectionError]. The caller closes the session.
func Dial(ctx context.Context, addr string, options DialOptions) (*Session, error) {
	s, err := dial(ctx, addr, options)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, &ConnectionError{Op: "dial", Addr: addr, Err: err}
	}
	return s, nil
}

func dial(ctx context.Context, addr string, options DialOptions) (*Session, error) {
	if err := checkKey(options.Key, maxKey); err != nil {
		return nil, err
	}
	if err := load(); err != nil {
		return nil, err
	}
	if options.HandshakeTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, options.HandshakeTimeout, errHandshake)
		defer cancel()
	}
	if options.Dial == nil {
		options.Dial = new(net.Dialer).DialContext
	}
	s, err := greeted(ctx, addr, options)
	if err != nil && context.Cause(ctx) == errHandshake {
		err = fmt.Errorf("%w within the HandshakeTimeout of %v: it hangs, has no room, or is not a server of TVM", errHandshake, options.HandshakeTimeout)
	}
	return s, err
}

// errHandshake says that a server did not begin a session in time.
var errHandshake = fmt.Errorf("%w: the server did not begin the session", ErrLost)

func greeted(ctx context.Context, addr string, options DialOptions) (*Session, error) {
	conn, err := options.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if options.TLS != nil {
		config := options.TLS.Clone()
		if host, _, err := net.SplitHostPort(addr); err == nil {
			config.ServerName = cmp.Or(config.ServerName, host)
		}
		conn = tls.Client(conn, config)
	}
	s := &Session{addr: addr, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	defer func() {
		if s.socket == nil {
			conn.Close()
		}
	}()
	timeout := positive(options.PeerTimeout, 30*time.Second)
	if err := silence.Limit(conn, timeout); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	key := options.Key
	if options.SessionTimeout > 0 {
		key += fmt.Sprintf(" -timeout=%g", options.SessionTimeout.Seconds())
	}
	if err := greet(conn, key); err != nil {
		return nil, err
	}
	if s.module, s.socket, err = handOver(ctx, conn, timeout); err != nil {
		return nil, short(err)
	}
	if s.index, err = sessionIndex(s.module); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Addr returns the address that was dialed.
func (s *Session) Addr() string { return s.addr }

// Close ends the session. A call that is running returns a [*ConnectionError]. The connection's
// descriptor stays until the session's functions and tensors are released too, but nothing more
// is sent. A second Close does nothing. The result is always nil.
func (s *Session) Close() error {
	if s.once.Swap(true) {
		return nil
	}
	s.fail(ErrClosed)
	close(s.closed)
	s.socket.abort()
	s.turn <- struct{}{} // wait for the call that is running; the turn is never given back
	s.module.Release()
	s.socket.close()
	return nil
}

// fail sets why the session cannot be used, unless that is set.
func (s *Session) fail(cause error) { s.cause.CompareAndSwap(nil, &cause) }

// broken returns the error of a session that cannot be used, nil for one that can.
func (s *Session) broken() error {
	if cause := s.cause.Load(); cause != nil {
		return &ConnectionError{Op: "call", Addr: s.addr, Err: *cause}
	}
	return nil
}

// Do runs f, which calls the server: through functions of tvmffi with tensors of the session, for
// example, or a function that a call has returned. While f runs, no other call of the session
// runs, so f must not use methods of the session that take a context.
//
// If ctx ends, Do ends the connection, because the protocol cannot cancel a call, and f returns
// at once. If the connection has ended, the error is a [*ConnectionError] and the session
// cannot be used any more; otherwise Do returns the error of f. If ctx ends before f begins,
// the session stays usable.
func (s *Session) Do(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closed:
		return s.broken()
	}
	defer func() { <-s.turn }()
	if err := s.broken(); err != nil {
		return err
	}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() {
			s.fail(context.Cause(ctx))
			s.socket.abort()
		})()
	}
	err := short(f())
	if err == nil || !s.socket.lost() && !stuck(err) {
		return err
	}
	s.fail(fmt.Errorf("%w: %w", ErrLost, err))
	return s.broken()
}

// short returns err without TVM's prefix to the server's text, which repeats the kind.
func short(err error) error {
	e, ok := err.(*tvmffi.Error)
	if !ok || e.Kind != "RPCError" {
		return err
	}
	return &tvmffi.Error{Kind: e.Kind, Message: strings.TrimPrefix(e.Message, "RPCError: Error caught from RPC call:\n"), Backtrace: e.Backtrace}
}

// Module returns the module of the session, which serves functions that take a session. It
// belongs to the session.
func (s *Session) Module() *tvmffi.Module { return s.module }

// stuck reports whether err says that the server did not read in time. The rest of the request is
// then unsent, so the next answer would belong to another call.
func stuck(err error) bool {
	return errors.Is(err, tvmffi.KindError("InternalError")) && strings.Contains(err.Error(), "SockChannel::")
}
