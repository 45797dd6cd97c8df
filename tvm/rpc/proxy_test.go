//go:build tvm

package rpc_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// A proxy stands between a client and a server, and stops to read from one of them.
type proxy struct {
	listener   net.Listener
	server     string
	stopClient atomic.Int64 // do not read from the client any more after that many bytes, unless it is 0
	stopServer atomic.Int64 // and from the server
	sent       atomic.Int64 // bytes of the client
	received   atomic.Int64 // bytes for the client
	ended      chan struct{}
}

func newProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server, ended: make(chan struct{})}
	t.Cleanup(func() { l.Close(); close(p.ended) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		p.copy(server, client, &p.stopClient, &p.sent)
		server.Close()
	}()
	p.copy(client, server, &p.stopServer, &p.received)
}

// copy copies until stop bytes have come. Then it waits for the end of the test.
func (p *proxy) copy(to io.Writer, from io.Reader, stop, count *atomic.Int64) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		all := count.Add(int64(n))
		if err != nil {
			return
		}
		if at := stop.Load(); at > 0 && all > at { // before Write: its reader may be the one that sets stop, and goes on
			<-p.ended
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// TestClientStopsReading lets a client ask for more than buffers hold, and read nothing.
func TestClientStopsReading(t *testing.T) {
	server, log := serve(t, rpc.Config{PeerTimeout: time.Second, MaxSessions: 1})
	p := newProxy(t, server.Addr().String())
	s := dial(t, p.addr(), rpc.DialOptions{})
	m := module(t, s)
	repeat := function(t, m, "repeat")
	p.stopServer.Store(1)
	start := time.Now()
	errs := make(chan error, 1)
	go func() { _, err := repeat.Call(limited(t, 60*time.Second), 64<<20); errs <- err }()
	eventually(t, 15*time.Second, func() string {
		if strings.Contains(log.String(), "the session failed") {
			return ""
		}
		return "the session goes on"
	})
	t.Logf("the session ended after %v", time.Since(start))
	works(t, server.Addr().String())
	s.Close()
	if err := <-errs; err == nil {
		t.Error("the call returned no error")
	}
}

// TestClientStopsReading_stopped stops the process of the session, too, so that it does not find out by itself, as on a
// busy machine. The session has not ended well.
func TestClientStopsReading_stopped(t *testing.T) {
	server, log := serve(t, rpc.Config{PeerTimeout: time.Second, MaxSessions: 1})
	p := newProxy(t, server.Addr().String())
	s := dial(t, p.addr(), rpc.DialOptions{})
	repeat := function(t, module(t, s), "repeat")
	p.stopServer.Store(1)
	received := p.received.Load()
	errs := make(chan error, 1)
	go func() { _, err := repeat.Call(limited(t, 60*time.Second), 64<<20); errs <- err }()
	eventually(t, 15*time.Second, func() string {
		if p.received.Load() > received {
			return ""
		}
		return "the server sends nothing"
	})
	full := 0
	eventually(t, 15*time.Second, func() string { // bytes that nobody takes
		table, err := os.ReadFile("/proc/self/net/tcp") // number, local address, remote address, state, bytes to send
		sends := regexp.MustCompile(fmt.Sprintf(`(?m)^ *\d+: \S+:%04X \S+ 01 0*[1-9A-F]`, server.Addr().(*net.TCPAddr).Port))
		if full++; err != nil || !sends.Match(table) {
			full = 0
		}
		if full < 5 {
			return "the buffers are not full"
		}
		return ""
	})
	children, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range children {
		pids, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(pids)) {
			if n, err := strconv.Atoi(pid); err == nil {
				syscall.Kill(n, syscall.SIGSTOP)
			}
		}
	}
	eventually(t, 15*time.Second, func() string {
		if strings.Contains(log.String(), "the connection to the client broke") {
			return ""
		}
		return "the log does not say that the connection broke"
	})
	s.Close()
	if err := <-errs; err == nil {
		t.Error("the call returned no error")
	}
}

// TestServerStopsReading uploads more than buffers hold to a server that reads nothing.
func TestServerStopsReading(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	p := newProxy(t, server.Addr().String())
	s := dial(t, p.addr(), rpc.DialOptions{PeerTimeout: time.Second})
	upload, err := s.Function(limited(t, 10*time.Second), "tvm.rpc.server.upload") // its answer must come before the stop
	if err != nil {
		t.Fatal(err)
	}
	p.stopClient.Store(1)
	start := time.Now()
	_, err = upload.Call(limited(t, 60*time.Second), "large", make([]byte, 64<<20))
	if d := time.Since(start); !isLost(err) || d > nativetest.Patience(15*time.Second) {
		t.Errorf("after %v: %v", d, err)
	}
	if err := s.Upload(limited(t, time.Second), "small", nil); !isLost(err) {
		t.Errorf("the next call: %v", err)
	}
}
