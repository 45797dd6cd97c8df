//go:build tvm

package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestManyClients lets 100 clients in four processes use a server at once.
func TestManyClients(t *testing.T) {
	file := kernelFile(t)
	server, log := serve(t, rpc.Config{MaxSessions: 8})
	start := time.Now()
	lines := make(chan string, 4)
	for range 4 {
		go func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVariable+"=clients", "COUNT=25", "LIBRARY="+file, "ADDR="+server.Addr().String())
			out, err := cmd.CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			lines <- string(out)
		}()
	}
	for range 4 {
		if line := <-lines; line != "done\n" {
			t.Errorf("a process with 25 clients printed %q", line)
		}
	}
	eventually(t, 10*time.Second, func() string {
		if n := strings.Count(log.String(), "the session ended"); n != 100 {
			return "not all of the 100 sessions have ended"
		}
		return ""
	})
	t.Logf("100 clients took %v", time.Since(start))
}

// TestSessionLimit dials more sessions than TVM's library can hold.
func TestSessionLimit(t *testing.T) {
	server, _ := serve(t, rpc.Config{MaxSessions: 40})
	var all []*rpc.Session
	for range 32 {
		all = append(all, dial(t, server.Addr().String(), rpc.DialOptions{}))
	}
	_, err := rpc.Dial(limited(t, 10*time.Second), server.Addr().String(), rpc.DialOptions{})
	var e *rpc.ConnectionError
	if !errors.As(err, &e) || !errors.Is(err, rpc.ErrSessions) {
		t.Errorf("session 33: %v", err)
	}
	tracker := track(t, "").Addr().String()
	serve(t, rpc.Config{Tracker: tracker, Key: "board", MaxSessions: 1})
	client := rpc.TrackerClient{Addr: tracker}
	queue(t, client, "board", rpc.Queue{Free: 1})
	start := time.Now()
	if _, err := client.Request(limited(t, 10*time.Second), "board", 1); !errors.Is(err, rpc.ErrSessions) || time.Since(start) > nativetest.Patience(2*time.Second) {
		t.Errorf("session 33 from a tracker, after %v: %v", time.Since(start), err)
	}
	all[7].Close()
	dial(t, server.Addr().String(), rpc.DialOptions{})
}

// TestShutdown waits for a session that ends, and then for one that does not.
func TestShutdown(t *testing.T) {
	for name, ends := range map[string]bool{"the session ends": true, "the session does not end": false} {
		t.Run(name, func(t *testing.T) {
			server, _ := serve(t, rpc.Config{Addr: nativetest.Loopback()})
			s := dial(t, server.Addr().String(), rpc.DialOptions{})
			ctx := limited(t, time.Second)
			if ends {
				ctx = limited(t, 20*time.Second)
				time.AfterFunc(100*time.Millisecond, func() { s.Close() })
			}
			err := server.Shutdown(ctx)
			if ends && err != nil || !ends && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown returned %v", err)
			}
			if _, err := rpc.Dial(limited(t, time.Second), server.Addr().String(), rpc.DialOptions{}); err == nil {
				t.Error("the server accepts clients")
			}
			if _, err := s.Call(limited(t, time.Second), "runtime.NumThreads"); err == nil {
				t.Error("the session goes on")
			}
		})
	}
}

// TestQueue lets a client wait for the only session, and another one give up.
func TestQueue(t *testing.T) {
	server, log := serve(t, rpc.Config{MaxSessions: 1})
	addr := server.Addr().String()
	first := dial(t, addr, rpc.DialOptions{})
	if _, err := rpc.Dial(limited(t, 300*time.Millisecond), addr, rpc.DialOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with no room: %v", err)
	}
	eventually(t, 5*time.Second, func() string {
		if strings.Contains(log.String(), "before there was room") {
			return ""
		}
		return "the server did not see that the client gave up"
	})
	time.AfterFunc(200*time.Millisecond, func() { first.Close() })
	works(t, addr)
}

// TestMostConnections connects more clients than may wait, and more than a tracker takes.
func TestMostConnections(t *testing.T) {
	server, log := serve(t, rpc.Config{MaxSessions: 1, MaxWaiting: 2})
	tracker, err := rpc.ListenTracker(rpc.TrackerConfig{MaxConnections: 3})
	if err != nil {
		t.Fatal(err)
	}
	go tracker.Serve(t.Context())
	for _, addr := range []string{server.Addr().String(), tracker.Addr().String()} {
		var all []net.Conn
		for range 4 {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			all = append(all, c)
		}
		all[3].SetReadDeadline(time.Now().Add(nativetest.Patience(5 * time.Second)))
		if _, err := all[3].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("one connection too many at %s: %v", addr, err)
		}
		all[2].SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := all[2].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the last connection that there may be at %s: %v", addr, err)
		}
	}
	if !strings.Contains(log.String(), "too many connections") {
		t.Error("the log does not have the client that was refused")
	}
	tracker.Close()
}

// TestNothingLeft counts what sessions of all kinds of ends leave in this process.
func TestNothingLeft(t *testing.T) {
	leaktest.Check(t)
	server, _ := serve(t, rpc.Config{MaxSessions: 2})
	addr := server.Addr().String()
	use := func() {
		s, err := rpc.Dial(limited(t, 10*time.Second), addr, rpc.DialOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx := limited(t, 10*time.Second)
		x, err := s.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 1000)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Function(ctx, "runtime.NumThreads")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Call(ctx, "too", "many"); err == nil {
			t.Error("a wrong call returned no error")
		}
		if _, err := rpc.Dial(limited(t, 10*time.Second), addr, rpc.DialOptions{Key: "wrong"}); !isKeyError(err) {
			t.Errorf("the wrong key: %v", err)
		}
		f.Release()
		x.Release()
		s.Close()
	}
	use()
	count := func() [2]int {
		runtime.GC()
		time.Sleep(50 * time.Millisecond)
		fds, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return [2]int{runtime.NumGoroutine(), len(fds)}
	}
	before := count()
	for range 20 {
		use()
	}
	var after [2]int
	eventually(t, 5*time.Second, func() string {
		if after = count(); after[0] > before[0]+2 || after[1] > before[1]+1 {
			return "more goroutines or descriptors are left than before"
		}
		return ""
	})
	t.Logf("goroutines and descriptors: %v before 20 sessions, %v after", before, after)
}
