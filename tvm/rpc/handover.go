package rpc

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"

	tvmrpc "github.com/tvmffi-go/tvmffi/generated/tvm/rpc"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// handOver gives a connection on which the greeting is done to the client of the library. It
// returns the session and a descriptor with which Go can end the connection. A TCP conn is closed.
//
// The library can only dial on its own, waits without limit, and keeps the descriptor. So it
// dials a loopback listener of this function, which passes on the first packet and its answer
// within the limits of ctx. Then nobody uses the library's descriptor, and dup3 makes it one of
// the real connection: calls go to the server directly. A relay carries another conn.
func handOver(ctx context.Context, conn net.Conn, timeout time.Duration) (*tvmffi.Module, *socket, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { listener.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	type result struct {
		fd  int
		err error
	}
	passed := make(chan result, 1)
	go func() {
		defer listener.Close() // ends the Connect below if it was not accepted
		fd, err := introduce(listener, conn)
		passed <- result{fd, err}
	}()
	module, err := tvmrpc.Connect("127.0.0.1", int64(listener.Addr().(*net.TCPAddr).Port), "", false)
	listener.Close()
	r := <-passed
	if r.err != nil || err != nil {
		if module != nil {
			module.Release()
		}
		if err != nil && !errors.Is(err, tvmffi.KindError("RPCError")) && strings.Contains(err.Error(), "maximum number of RPC session") {
			return nil, nil, ErrSessions
		}
		if r.err != nil {
			err = r.err
		}
		return nil, nil, err
	}
	var s *socket
	if tcp, ok := conn.(*net.TCPConn); ok {
		s, err = takeSocket(tcp)
	} else {
		s, _, err = relayed(conn, relayLimits{part: timeout, message: math.MaxInt64}, new(atomic.Int64), new(atomic.Int64))
	}
	if err == nil {
		if err = s.replace(r.fd); err != nil {
			s.close()
		}
	}
	if err != nil {
		module.Release()
		return nil, nil, err
	}
	return module, s, nil
}

// introduce accepts the connection of the library and passes one packet in each direction. It
// returns the descriptor of the library, which sends without delay; conn has the limits of ctx.
func introduce(listener *net.TCPListener, conn net.Conn) (int, error) {
	for {
		c, err := listener.AcceptTCP()
		if err != nil {
			return -1, err
		}
		fd, err := findSocket(c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr))
		if err != nil {
			c.Close() // another process has connected
			continue
		}
		return fd, errors.Join(first(c, conn), c.Close())
	}
}

func first(library, server net.Conn) error {
	if _, err := readHello(library); err != nil {
		return err
	}
	if err := writeHello(library, magic, "server:"); err != nil {
		return err
	}
	if err := relayPacket(server, library); err != nil {
		return err
	}
	return relayPacket(library, server)
}
