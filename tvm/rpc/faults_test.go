//go:build tvm

package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// isLost reports whether err is the typed error of a connection that ended.
func isLost(err error) bool {
	var e *rpc.ConnectionError
	return errors.As(err, &e) && errors.Is(err, rpc.ErrLost)
}

// works fails the test if the server does not serve a new client.
func works(t *testing.T, addr string) {
	t.Helper()
	s := dial(t, addr, rpc.DialOptions{})
	m := module(t, s)
	if _, err := function(t, m, "echo").Call(limited(t, 10*time.Second), 1); err != nil {
		t.Errorf("the server does not work any more: %v", err)
	}
	m.Release()
	s.Close()
}

// TestServerKilledInCall kills the process of the server while its kernel computes.
func TestServerKilledInCall(t *testing.T) {
	dir := t.TempDir()
	server, addr := startRole(t, "server", nil, "DIR="+dir)
	s := dial(t, addr, rpc.DialOptions{})
	m := module(t, s)
	sleep := function(t, m, "sleep")
	time.AfterFunc(200*time.Millisecond, func() { server.Process.Kill() })
	start := time.Now()
	_, err := sleep.Call(limited(t, 60*time.Second), 60_000)
	if d := time.Since(start); !isLost(err) || d > nativetest.Patience(5*time.Second) {
		t.Errorf("after %v: %v", d, err)
	}
	if _, err := sleep.Call(limited(t, time.Second), 1); !isLost(err) {
		t.Errorf("the next call: %v", err)
	}
	server.Wait()
	nothingLeft(t, dir)
}

// TestServerKilledInUpload kills the process of the server while it receives a file.
func TestServerKilledInUpload(t *testing.T) {
	dir := t.TempDir()
	server, addr := startRole(t, "server", nil, "DIR="+dir)
	p := newProxy(t, addr)
	s := dial(t, p.addr(), rpc.DialOptions{})
	upload := make(chan error, 1)
	before := p.sent.Load()
	p.stopClient.Store(before + 1<<20) // the upload cannot end before the server
	go func() { upload <- s.Upload(limited(t, 60*time.Second), "large", make([]byte, 64<<20)) }()
	eventually(t, 30*time.Second, func() string {
		if p.sent.Load()-before > 1<<20 {
			return ""
		}
		return "the upload does not begin"
	})
	server.Process.Kill()
	start := time.Now()
	if err := <-upload; !isLost(err) || time.Since(start) > nativetest.Patience(5*time.Second) {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	server.Wait()
	nothingLeft(t, dir)
}

// nothingLeft waits until the processes and the folders of a killed server are gone.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	eventually(t, 5*time.Second, func() string { return left(dir) })
}

// left says what is left of a server whose sessions have their folders in dir.
func left(dir string) string {
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		return fmt.Sprintf("the folder has %v, %v", left, err)
	}
	if pids, err := processes(dir); err != nil || len(pids) > 0 {
		return fmt.Sprintf("processes of the server: %v, %v", pids, err)
	}
	return ""
}

// processes returns those of a server and its sessions: they have dir in their environment.
func processes(dir string) (pids []int, err error) {
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environments) == 0 {
		return nil, fmt.Errorf("the processes are not visible: %v", err)
	}
	for _, file := range environments {
		if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte(dir)) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// TestKernelCrashes ends the process of a session by a fault; the others go on.
func TestKernelCrashes(t *testing.T) {
	server, log := serve(t, rpc.Config{MaxSessions: 2})
	other := dial(t, server.Addr().String(), rpc.DialOptions{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	m := module(t, s)
	_, err := function(t, m, "crash").Call(limited(t, 10*time.Second))
	if !errors.Is(err, tvmffi.KindError("RPCError")) || !strings.Contains(err.Error(), "the process of the session crashed") {
		t.Errorf("the error is %v", err)
	}
	if !isLost(err) {
		t.Errorf("the call that crashed does not say that the session is lost: %v", err)
	}
	if _, err := s.Call(limited(t, 10*time.Second), "runtime.NumThreads"); !isLost(err) {
		t.Errorf("the next call: %v", err)
	}
	if _, err := other.Call(limited(t, 10*time.Second), "runtime.NumThreads"); err != nil {
		t.Errorf("another session: %v", err)
	}
	s.Close()
	works(t, server.Addr().String())
	if !strings.Contains(log.String(), "SIGSEGV") {
		t.Error("the output does not say where the process crashed")
	}
}

// TestCancel ends a call by its context: the client has its error at once, and the server kills
// the function that nobody waits for.
func TestCancel(t *testing.T) {
	server, log := serve(t, rpc.Config{MaxSessions: 1})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	m := module(t, s)
	sleep := function(t, m, "sleep")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := sleep.Call(ctx, 600_000)
	var e *rpc.ConnectionError
	if d := time.Since(start); !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) || d > nativetest.Patience(2*time.Second) {
		t.Errorf("after %v: %v", d, err)
	}
	if _, err := sleep.Call(context.Background(), 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the next call: %v", err)
	}
	works(t, server.Addr().String()) // there is room for one session only
	if d := time.Since(start); d > nativetest.Patience(20*time.Second) {
		t.Errorf("the server killed the function after %v", d)
	}
	eventually(t, 5*time.Second, func() string {
		if strings.Count(log.String(), "the session ended") < 2 || strings.Contains(log.String(), "failed") {
			return "the log does not show two sessions that ended"
		}
		return ""
	})
}

// TestCancelBefore passes a context that has ended: the session stays usable.
func TestCancelBefore(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(ended, "runtime.NumThreads"); !errors.Is(err, context.Canceled) {
		t.Errorf("the call returned %v", err)
	}
	if _, err := s.Call(limited(t, 10*time.Second), "runtime.NumThreads"); err != nil {
		t.Error(err)
	}
}

// TestClose closes a session while a call runs and another one waits.
func TestClose(t *testing.T) {
	server, _ := serve(t, rpc.Config{MaxSessions: 1})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	m := module(t, s)
	sleep := function(t, m, "sleep")
	errs := make(chan error, 2)
	for range 2 {
		go func() { _, err := sleep.Call(context.Background(), 600_000); errs <- err }()
	}
	time.Sleep(200 * time.Millisecond)
	start := time.Now()
	s.Close()
	for range 2 {
		if err := <-errs; !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("the call returned %v", err)
		}
	}
	if d := time.Since(start); d > nativetest.Patience(2*time.Second) {
		t.Errorf("Close took %v", d)
	}
}

// TestTimeout asks for a short session, and calls what takes longer.
func TestTimeout(t *testing.T) {
	server, _ := serve(t, rpc.Config{MaxSessions: 1})
	limit := nativetest.Patience(time.Second) // the process of the session starts meanwhile
	s := dial(t, server.Addr().String(), rpc.DialOptions{SessionTimeout: limit})
	m := module(t, s)
	start := time.Now()
	_, err := function(t, m, "sleep").Call(context.Background(), 600_000)
	if d := time.Since(start); !errors.Is(err, tvmffi.KindError("RPCSessionTimeoutError")) || d > limit+nativetest.Patience(2*time.Second) {
		t.Errorf("after %v: %v", d, err)
	}
	m.Release()
	s.Close()
	works(t, server.Addr().String())
}

// raw connects to a server without its client and sends bytes.
func raw(t *testing.T, addr string, sent ...[]byte) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for _, b := range sent {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// ends fails the test if the other side does not close the connection in time.
func ends(t *testing.T, c net.Conn, d time.Duration) {
	t.Helper()
	d = nativetest.Patience(d)
	c.SetReadDeadline(time.Now().Add(d))
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the connection is open after %v", d)
	}
}

func int32s(numbers ...int32) (b []byte) {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return b
}

const hello = "client:"

// TestHostilePeers sends a session what no client sends.
func TestHostilePeers(t *testing.T) {
	server, _ := serve(t, rpc.Config{MaxSessions: 4, MaxMemory: 4 << 30})
	addr := server.Addr().String()
	greeting := append(int32s(0xff271, int32(len(hello))), hello...)
	for name, sent := range map[string][][]byte{
		"a huge packet":          {greeting, int32s(0, 1<<28)},
		"a large packet":         {greeting, int32s(0, 8)},
		"garbage as a packet":    {greeting, int32s(12, 0, 99, 98, 97)},
		"a call before the init": {greeting, int32s(24, 0, 2, 0, 0, 0, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) { ends(t, raw(t, addr, sent...), 10*time.Second) })
	}
	works(t, addr)
}

// TestNotAServer dials what is not a server.
func TestNotAServer(t *testing.T) {
	l, err := net.Listen("tcp", nativetest.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answers := make(chan []byte, 1)
	go func() {
		for b := range answers {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write(b)
			t.Cleanup(func() { c.Close() })
		}
	}()
	defer close(answers)
	for name, c := range map[string]struct {
		answer []byte
		want   error
	}{
		"silence":       {nil, context.DeadlineExceeded},
		"a web server":  {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), rpc.ErrProtocol},
		"a huge key":    {int32s(0xff271, 1<<30), rpc.ErrProtocol},
		"a huge packet": {append(int32s(0xff271, 0), int32s(0, 1<<28)...), rpc.ErrProtocol},
		"half a packet": {append(int32s(0xff271, 0), int32s(100, 0, 7)...), context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			answers <- c.answer
			limit := 20 * time.Second
			if c.want == context.DeadlineExceeded {
				limit = 500 * time.Millisecond
			}
			start := time.Now()
			s, err := rpc.Dial(limited(t, limit), l.Addr().String(), rpc.DialOptions{})
			var e *rpc.ConnectionError
			if !errors.As(err, &e) || !errors.Is(err, c.want) || s != nil || time.Since(start) > nativetest.Patience(3*time.Second) {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	}
	l.Close()
	if _, err := rpc.Dial(limited(t, 5*time.Second), l.Addr().String(), rpc.DialOptions{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("without a server: %v", err)
	}
}
