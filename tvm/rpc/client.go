package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// DialOptions are the options of [Dial]. The zero value is ready for use.
type DialOptions struct {
	// Key is the key of the server, "" for none.
	Key string
	// PeerTimeout is how long the machine of the server may be silent, or the server may take
	// no bytes, until the session is lost. A call that computes for longer is not affected.
	// 0 is 30 seconds. The loss may take three times as long, because the system looks at it in
	// steps.
	PeerTimeout time.Duration
	// SessionTimeout is after how long the server shall end the session, 0 for never.
	SessionTimeout time.Duration
}

// A Session is a connection to a server, whose functions it calls. Any goroutine may use it; the
// server handles one call at a time, and the others wait. A process can hold 32 sessions.
//
// What a session returns (functions, modules, tensors) are objects of this process that stand
// for objects of the server. Each Release sends a message to the server. So does the garbage
// collector for what was not released: it then waits as long as another call runs. A program
// therefore releases remote objects.
type Session struct {
	addr   string
	module *tvmffi.Module
	index  int64
	socket *socket
	turn   chan struct{} // holds an element while a call runs
	closed chan struct{}
	once   atomic.Bool
	cause  atomic.Pointer[error] // why the session cannot be used
}

// Dial connects to the server at addr, which is "host:port", and begins a session. It waits until
// the server has room for one, so pass a ctx with a deadline. The ctx matters for Dial only.
// The error is a [*ConnectionError]. The caller closes the session.
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
	if err := load(); err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn := c.(*net.TCPConn)
	defer conn.Close()
	timeout := options.PeerTimeout
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	if err := limit(conn, timeout); err != nil {
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
	s := &Session{addr: addr, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	if s.module, s.socket, err = handOver(ctx, conn); err != nil {
		return nil, err
	}
	if s.index, err = sessionIndex(s.module); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Addr returns the address that was dialed.
func (s *Session) Addr() string { return s.addr }

// Close ends the session. A call that is running returns a [*ConnectionError]. The descriptor
// of the connection stays until the functions and tensors of the session are released too, but
// nothing is sent any more. A second Close does nothing. The result is always nil.
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

// Do runs f, which makes calls that go to the server: of functions of tvmffi with tensors of
// the session, for example, or of a function that a call has returned. While f runs, no other
// call of the session runs, so f must not use methods of the session that take a context.
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
	err := f()
	if err == nil || !s.socket.lost() && !stuck(err) {
		return short(err)
	}
	s.fail(fmt.Errorf("%w: %w", ErrLost, err))
	return s.broken()
}

// short returns err without the words that TVM puts before the text of the server, which begin
// with the kind for a second time.
func short(err error) error {
	e, ok := err.(*tvmffi.Error)
	if !ok {
		return err
	}
	before, message, found := strings.Cut(e.Message, caught)
	if e.Kind != "RPCError" || !found || before != "RPCError: " {
		return err
	}
	return &tvmffi.Error{Kind: e.Kind, Message: message, Backtrace: e.Backtrace}
}

// Module returns the module of the session, which serves functions that take a session. It
// belongs to the session.
func (s *Session) Module() *tvmffi.Module { return s.module }

// stuck reports whether err says that the server took no bytes for the time it has. The rest
// of the request is then still to be sent, so the next answer would belong to another call.
func stuck(err error) bool {
	return errors.Is(err, tvmffi.KindError("InternalError")) && strings.Contains(err.Error(), "SockChannel::")
}
