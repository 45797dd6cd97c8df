package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	tvmrpc "github.com/tvmffi-go/tvmffi/generated/tvm/rpc"
)

// errTimeout is the cause of the end of a session that lasted too long.
var errTimeout = errors.New("the session lasted too long")

// session serves a client whose greeting is answered, and removes its files.
func (s *Server) session(conn net.Conn, timeout time.Duration) (err error) {
	ctx := s.ended
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer cancel()
	}
	// The process of the session makes the folder: if this server is killed before, there is none.
	dir := filepath.Join(s.config.Dir, folderPrefix+rand.Text())
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket, relay, err := s.socketOf(conn)
	if err != nil {
		return err
	}
	defer socket.close()
	err = s.inChild(ctx, socket, dir)
	if relay != nil {
		first := relay.why()
		socket.abort()
		if s.ended.Err() != nil {
			conn.Close() // a client that does not read must not hold Close
		}
		if failed := relay.wait(); failed != nil && (first != nil || err == nil) {
			err = failed // what the end of the session follows from
		}
	}
	if context.Cause(ctx) == errTimeout {
		return fmt.Errorf("%w: %v", errTimeout, timeout)
	}
	return err
}

// socketOf returns the socket for C++: the connection itself, or the end of a relay.
func (s *Server) socketOf(conn net.Conn) (*socket, *relay, error) {
	if tcp, ok := conn.(*net.TCPConn); ok && !s.config.Relay {
		socket, err := takeSocket(tcp)
		return socket, nil, err
	}
	limits := relayLimits{s.config.PeerTimeout, s.config.IdleTimeout, s.config.MaxMessage, s.idle}
	return relayed(conn, limits, &s.stats.received, &s.stats.sent)
}

// idle returns the message that a client gets which was idle.
func (s *Server) idle() []byte {
	socket, local, err := newPair()
	if err != nil {
		return nil
	}
	defer local.Close()
	sendException(socket, fmt.Sprintf("RPCSessionTimeoutError: the client sent nothing for %v: the server needs a longer IdleTimeout", s.config.IdleTimeout))
	socket.close()
	b, _ := io.ReadAll(local) // as much as there is
	return b
}

// expire sends the error of a session that lasted too long as the answer to the next call, or
// to the one that runs.
func expire(socket *socket) {
	sendException(socket, "RPCSessionTimeoutError: the session lasted longer than it may: pass a longer SessionTimeout to Dial and to the server")
}

// sendException sends an error as the answer to the call that runs, or to the next one. No other
// code may write at the same time. The caller then ends the connection: with the error alone, a
// client would assume that the session goes on.
func sendException(socket *socket, message string) {
	fd, err := socket.duplicate()
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "session")
	defer f.Close()
	socket.hold()
	tvmrpc.ReturnException(int64(fd), message)
}
