package rpc

import (
	"errors"
	"fmt"
)

var (
	// ErrKey says that the server has another key, or that the key of a tracker was used before.
	ErrKey = errors.New("the server does not have the key")
	// ErrProtocol says that the peer does not speak the protocol of TVM.
	ErrProtocol = errors.New("the peer does not speak the protocol of TVM")
	// ErrClosed says that this side has closed the session, the server or the tracker.
	ErrClosed = errors.New("closed")
	// ErrLost says that the connection ended, or that the peer did not react in time.
	ErrLost = errors.New("the connection is lost")
	// ErrSessions says that this process has as many sessions as TVM's library can hold.
	ErrSessions = fmt.Errorf("this process has %d sessions, the limit of TVM: close one, or release its functions and tensors", maxClientSessions)
)

// maxClientSessions is the size of the table of sessions in TVM's library.
const maxClientSessions = 32

// A ConnectionError says that a session or a connection to a tracker could not start, or has
// ended. The session cannot be used afterwards: dial another one. The error wraps the cause:
// [ErrLost], [ErrClosed], [ErrKey], [ErrProtocol], [ErrSessions], an error of package net, or the
// error of the context.
type ConnectionError struct {
	// Op is the operation: "dial", "call", "request".
	Op string
	// Addr is the address of the other side.
	Addr string
	// Err is the cause.
	Err error
}

// Error describes the error with the operation and the address.
func (e *ConnectionError) Error() string { return fmt.Sprintf("rpc: %s %s: %v", e.Op, e.Addr, e.Err) }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }
