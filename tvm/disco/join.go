package disco

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/internal/child"
	"github.com/tvmffi-go/tvmffi/tvm/internal/silence"
)

// NodeOptions are the properties of a node.
type NodeOptions struct {
	// Workers is how many workers the node can have, 1 if it is 0. The controller says how many
	// it needs.
	Workers int
	// Dial makes the connection to the controller, by default by TCP: from another address of this host, by TLS or
	// through a tunnel, for example.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Output, CloseLimit and Silence are as in [Options]. The numbers of the workers in the output begin at 0 on
	// each node.
	Output     io.Writer
	CloseLimit time.Duration
	Silence    time.Duration
}

// Join makes this process a node of the socket session whose controller listens on address: [Sockets], or SocketSession
// of TVM's Python package. It dials once, so the controller must be listening, and waits for the controller to begin.
// It returns nil when the controller has closed the session, and an error if the controller or a worker of this node is
// lost, or ctx ends. Its workers have ended by then.
func Join(ctx context.Context, address string, o NodeOptions) error {
	o.Workers = max(o.Workers, 1)
	options := Options{Output: o.Output, CloseLimit: o.CloseLimit, Silence: o.Silence}.filled()
	if err := errors.Join(child.Needed(), prepare()); err != nil {
		return err
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 30 * time.Second}).DialContext
	}
	c, err := o.Dial(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("the controller cannot be reached: %w", err)
	}
	_ = silence.Limit(c, options.Silence)
	w := newWire(c)
	defer context.AfterFunc(ctx, func() { w.close(context.Cause(ctx)) })()
	err = work(w, o.Workers, options)
	w.close(nil)
	var worker *WorkerError
	switch {
	case w.shutdown.Load():
		return err
	case errors.As(w.cause, &worker):
		return w.cause
	}
	return fmt.Errorf("the controller is lost: %w", errors.Join(w.cause, err))
}

// work runs the workers of a node until the session ends.
func work(w *wire, workers int, o *Options) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var begun atomic.Pointer[host] // when the controller has said how many workers it needs
	begin := func(n int) (*host, error) {
		h, err := startHost(n, 1, printer(o.Output))
		if err != nil {
			return nil, err
		}
		begun.Store(h)
		for _, p := range h.processes {
			go func() { // so that the controller learns of it, even while others compute
				<-p.exited
				w.close(&WorkerError{Worker: p.rank, Err: p.exit})
			}()
		}
		return h, nil
	}
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer expect(begin)()
		err := generated.RemoteSocketSession("127.0.0.1", int64(listener.Addr().(*net.TCPAddr).Port), int64(workers))
		closeAll(listener) // Disco may have failed before it called
		ended <- err
	}()
	local, err := listener.Accept() // Disco calls at once
	closeAll(listener)              // so that a second caller has an error, Disco too
	if err == nil {
		go w.carry(local.(*net.TCPConn))
	}
	err = finish(w, ended, &begun, o.CloseLimit)
	forgetEnded()
	return err
}

// finish waits for the end of Disco's session and its processes. If the controller is lost, they get some time
// before they are killed.
func finish(w *wire, ended chan error, begun *atomic.Pointer[host], limit time.Duration) error {
	all := make(chan error, 1)
	go func() {
		err := <-ended
		if h := begun.Load(); h != nil {
			select {
			case <-h.ended:
			case <-w.done: // Disco may have made no session
			}
			for _, p := range h.processes {
				<-p.exited
			}
			h.release()
		}
		all <- err
	}()
	select {
	case err := <-all:
		return err
	case <-w.done:
	}
	select {
	case err := <-all:
		return err
	case <-time.After(limit):
		if h := begun.Load(); h != nil {
			h.kill()
		}
	}
	select {
	case err := <-all:
		return err
	case <-time.After(limit):
		return errors.New("worker 0 of the node is still in a call: a thread cannot be killed, and remains until the call ends")
	}
}
