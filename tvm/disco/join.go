package disco

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
)

// NodeOptions are the properties of a node.
type NodeOptions struct {
	// Workers is how many workers the node can have, 1 if it is 0. The controller says how many
	// it needs.
	Workers int
	// Secret is the controller's secret.
	Secret string
	// LocalAddress is the address of this host that the node uses. It matters if the host has several.
	LocalAddress string
	// Env is added to the environment of the processes of workers.
	Env []string
	// CloseLimit bounds the end: a process that has not ended by then is killed. It is 5 seconds
	// if it is 0.
	CloseLimit time.Duration
}

// Join makes this process a node of the socket session whose controller listens on address. It dials once,
// so the controller must be listening. It returns nil when the controller has closed the session, an error
// that wraps [ErrRefused] if the controller refuses this node, and another error if the connection is lost
// or ctx ends. Its workers have ended by then. The controller prints the output of their processes.
func Join(ctx context.Context, address string, o NodeOptions) error {
	o.Workers = max(o.Workers, 1)
	options := Options{Env: o.Env, CloseLimit: o.CloseLimit}.filled()
	if err := errors.Join(needMain(), prepare()); err != nil {
		return err
	}
	d := net.Dialer{Timeout: 30 * time.Second}
	if o.LocalAddress != "" {
		ip := net.ParseIP(o.LocalAddress)
		if ip == nil {
			return fmt.Errorf("LocalAddress %q is not an IP address", o.LocalAddress)
		}
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("the controller cannot be reached: %w", err)
	}
	given, err := apply(c, o.Secret, o.Workers)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	l := newLink(c, time.Duration(given.SilenceMS)*time.Millisecond)
	defer context.AfterFunc(ctx, func() { l.close(context.Cause(ctx)) })()
	err = work(l, given, options)
	if l.finish() {
		return err
	}
	return errors.Join(fmt.Errorf("the controller is lost: %w", l.cause), err)
}

// work runs the workers of a node until the session ends.
func work(l *link, given settings, o *Options) error {
	first, n := int(given.Node*given.PerNode), int(given.PerNode)
	h, err := startHost(n, 1, first, o, func(rank int, line string, fromStdout bool) {
		l.sendJSON(frameOutput, outputFrame{rank, line, fromStdout})
	})
	if err != nil {
		return err
	}
	for _, p := range h.processes {
		go func() {
			<-p.exited
			l.sendJSON(frameLost, lostFrame{first + p.rank, *p.exit})
		}()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.kill()
		h.release()
		return err
	}
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer h.expected()()
		err := generated.RemoteSocketSession("127.0.0.1", int64(listener.Addr().(*net.TCPAddr).Port), int64(n))
		closeAll(listener) // Disco may have failed before it called
		ended <- err
	}()
	local, err := listener.Accept() // Disco calls at once
	closeAll(listener)              // so that a second caller has an error, Disco too
	if err == nil {
		go l.carry(local.(*net.TCPConn), func(kind byte, _ []byte) error { return fmt.Errorf("a frame of the unknown kind %d", kind) })
	} else {
		h.kill()
	}
	err = h.finish(l, ended, o.CloseLimit)
	forget(given.Session)
	return err
}

// finish waits for the end of Disco's session and its processes. If the link is lost, they get some time
// before they are killed.
func (h *host) finish(l *link, ended chan error, limit time.Duration) error {
	all := make(chan error, 1)
	go func() {
		err := <-ended
		select {
		case <-h.ended:
		case <-l.done: // Disco may have made no session
		}
		for _, p := range h.processes {
			<-p.exited
		}
		h.release()
		all <- err
	}()
	select {
	case err := <-all:
		return err
	case <-l.done:
	}
	select {
	case err := <-all:
		return err
	case <-time.After(limit):
		h.kill()
	}
	select {
	case err := <-all:
		return err
	case <-time.After(limit):
		return errors.New("worker 0 of the node is still in a call: a thread cannot be killed, and remains until the call ends")
	}
}
