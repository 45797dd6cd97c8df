//go:build tvm

package rpc_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// certified returns what a server and its clients need for TLS.
func certified(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: pool}
}

// TestRelayed does what TestSession does, through a relay, TLS and a Unix socket.
func TestRelayed(t *testing.T) {
	file := kernelFile(t)
	check := func(t *testing.T, c rpc.Config, o rpc.DialOptions) {
		server, _ := serve(t, c)
		s := dial(t, server.Addr().String(), o)
		m := module(t, s)
		checkKernel(t, s, m)
		checkFiles(t, s)
		checkErrors(t, s, m)
		if stats := server.Stats(); stats.Running != 1 || stats.Sessions != 1 || stats.Received < int64(len(library(t))) || stats.Sent == 0 {
			t.Errorf("the server counts %+v", stats)
		}
		s.Close()
		eventually(t, 5*time.Second, func() string {
			if stats := server.Stats(); stats.Running != 0 || stats.Failed != 0 {
				return "the session did not end well"
			}
			return ""
		})
	}
	t.Run("tcp", func(t *testing.T) { check(t, rpc.Config{Relay: true}, rpc.DialOptions{}) })
	t.Run("tls", func(t *testing.T) {
		server, client := certified(t)
		check(t, rpc.Config{TLS: server}, rpc.DialOptions{TLS: client})
	})
	t.Run("unix", func(t *testing.T) {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		check(t, rpc.Config{Listener: l}, rpc.DialOptions{Dial: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", addr)
		}})
	})
	t.Run("python", func(t *testing.T) {
		server, _ := serve(t, rpc.Config{Key: "cpu", Relay: true})
		if got := python(t, "client", server.Addr().String(), "cpu", file); got != "done" {
			t.Errorf("the client printed %q", got)
		}
	})
}

// messages returns what a client sends at the beginning of a session, after its greeting.
func messages(t *testing.T) [][]byte {
	t.Helper()
	server, _ := serve(t, rpc.Config{})
	var sent bytes.Buffer
	var mu sync.Mutex
	s := dial(t, server.Addr().String(), rpc.DialOptions{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return recorded{c, &sent, &mu}, err
	}})
	for range 4 {
		if _, err := s.Call(limited(t, 10*time.Second), "runtime.NumThreads"); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	mu.Lock()
	defer mu.Unlock()
	sent.Next(8 + len(hello))
	var all [][]byte
	for sent.Len() > 0 {
		all = append(all, sent.Next(8+int(binary.LittleEndian.Uint64(sent.Bytes()))))
	}
	return all
}

type recorded struct {
	net.Conn
	sent *bytes.Buffer
	mu   *sync.Mutex
}

func (r recorded) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent.Write(b)
	return r.Conn.Write(b)
}

// TestHeld stops at every byte of the first ten messages of a session, each time on a server for two sessions.
func TestHeld(t *testing.T) {
	all := messages(t)
	if len(all) < 10 {
		t.Fatalf("the client sent %d messages", len(all))
	}
	first := bytes.Join(all[:10], nil)
	server, _ := serve(t, rpc.Config{MaxSessions: 16, PeerTimeout: 200 * time.Millisecond, IdleTimeout: nativetest.Patience(time.Second), Relay: true})
	greeting := append(int32s(0xff271, int32(len(hello))), hello...)
	var clients sync.WaitGroup
	room := make(chan struct{}, 16)
	for n := range len(first) + 1 {
		room <- struct{}{}
		clients.Go(func() {
			defer func() { <-room }()
			c := raw(t, server.Addr().String(), greeting)
			if _, err := io.ReadFull(c, make([]byte, 15)); err != nil { // "server:" with a code and a length
				t.Errorf("after %d bytes: the greeting: %v", n, err)
			}
			_, _ = c.Write(first[:n])
			ends(t, c, 20*time.Second)
		})
	}
	clients.Wait()
	t.Logf("%d sessions that stopped", len(first)+1)
	if stats := server.Stats(); stats.Sessions != int64(len(first)+1) {
		t.Errorf("the server counts %+v", stats)
	}
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	if _, err := s.Call(limited(t, 10*time.Second), "runtime.NumThreads"); err != nil {
		t.Errorf("the server does not work any more: %v", err)
	}
}

// TestHeld_direct: without a relay, half a message ends a session too, and silence between messages does not.
func TestHeld_direct(t *testing.T) {
	all := messages(t)
	const limit = 200 * time.Millisecond
	server, log := serve(t, rpc.Config{PeerTimeout: limit, MaxSessions: 2})
	idle := dial(t, server.Addr().String(), rpc.DialOptions{})
	greeting := append(int32s(0xff271, int32(len(hello))), hello...)
	for _, sent := range [][]byte{all[0][:3], all[0][:9], append(slices.Clone(all[0]), all[1][:2]...), append(slices.Clone(all[0]), all[1][:len(all[1])-1]...)} {
		c := raw(t, server.Addr().String(), greeting)
		if _, err := io.ReadFull(c, make([]byte, 15)); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(sent)
		ends(t, c, 20*time.Second)
	}
	eventually(t, 10*time.Second, func() string {
		if n := strings.Count(log.String(), "the client was silent in the middle of it for 200ms"); n != 4 {
			return fmt.Sprint(n, " of 4 sessions ended with that error")
		}
		return ""
	})
	if _, err := idle.Call(limited(t, 10*time.Second), "runtime.NumThreads"); err != nil {
		t.Errorf("the idle session ended: %v", err)
	}
}

// TestIdle: a client that does nothing learns why its session has ended.
func TestIdle(t *testing.T) {
	server, _ := serve(t, rpc.Config{Relay: true, IdleTimeout: nativetest.Patience(500 * time.Millisecond), MaxSessions: 1})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	threads, err := s.Function(limited(t, 10*time.Second), "runtime.NumThreads")
	if err != nil {
		t.Fatal(err)
	}
	defer threads.Release()
	eventually(t, 10*time.Second, func() string {
		if server.Stats().Running == 0 {
			return ""
		}
		return "the session goes on"
	})
	if _, err := threads.Call(limited(t, 10*time.Second)); !isLost(err) || !strings.Contains(err.Error(), "longer IdleTimeout") {
		t.Errorf("the error is %v", err)
	}
}

// TestMaxMemory: a session has room for its work within the limit, and not for more.
func TestMaxMemory(t *testing.T) {
	server, _ := serve(t, rpc.Config{MaxMemory: 512 << 20})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	m := module(t, s)
	repeat := function(t, m, "repeat")
	if _, err := repeat.Call(limited(t, 30*time.Second), 16<<20); err != nil {
		t.Errorf("16 MiB: %v", err)
	}
	if _, err := repeat.Call(limited(t, 30*time.Second), 1<<30); err == nil {
		t.Error("1 GiB: no error")
	}
}

// TestHangs: a server that hangs costs a client the HandshakeTimeout, and the error names it.
func TestHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Now()
	_, err = rpc.Dial(limited(t, time.Minute), l.Addr().String(), rpc.DialOptions{HandshakeTimeout: 100 * time.Millisecond})
	if !isLost(err) || !strings.Contains(err.Error(), l.Addr().String()) || time.Since(start) > nativetest.Patience(5*time.Second) {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	tracker := track(t, "")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	offer := func(key string) []byte {
		text := `[3, "board", [` + port + `, "board:` + key + `"], null]`
		return append(int32s(int32(len(text))), text...)
	}
	raw(t, tracker.Addr().String(), int32s(0x2f271), offer("a"), offer("b"))
	client := rpc.TrackerClient{Addr: tracker.Addr().String(), Options: rpc.DialOptions{HandshakeTimeout: 100 * time.Millisecond}, Attempts: 2}
	_, err = client.Request(limited(t, time.Minute), "board", 1)
	if !isLost(err) || !strings.Contains(err.Error(), l.Addr().String()) || !strings.Contains(err.Error(), client.Addr) {
		t.Errorf("the request: %v", err)
	}
	eventually(t, 5*time.Second, func() string {
		if s := tracker.Stats(); s.Places != 2 || s.Connections != 1 {
			return fmt.Sprintf("the tracker counts %+v", s)
		}
		return ""
	})
}

// TestDo: a job whose server is killed begins again on another one.
func TestDo(t *testing.T) {
	tracker := track(t, "")
	client := rpc.TrackerClient{Addr: tracker.Addr().String()}
	dir := t.TempDir()
	server, _ := startRole(t, "server", nil, "DIR="+dir, "TRACKER="+client.Addr)
	queue(t, client, "board", rpc.Queue{Free: 1})
	other, _ := serve(t, rpc.Config{Tracker: client.Addr, Key: "board", MaxSessions: 1})
	runs := 0
	err := client.Do(limited(t, time.Minute), "board", 1, func(s *rpc.Session) error {
		if runs++; runs == 1 {
			server.Process.Kill()
			server.Wait()
		}
		v, err := s.Call(limited(t, 10*time.Second), "runtime.NumThreads")
		if n, _ := tvmffi.As[int64](v); err == nil && n < 1 {
			t.Errorf("the result is %v", v)
		}
		return err
	})
	if err != nil || runs != 2 || other.Stats().Sessions != 1 {
		t.Errorf("after %d runs: %v, %+v", runs, err, other.Stats())
	}
	nothingLeft(t, dir)
	own := errors.New("own")
	if err := client.Do(limited(t, time.Minute), "board", 1, func(*rpc.Session) error { return own }); err != own {
		t.Errorf("an error of the job: %v", err)
	}
}

// TestFolders_killed kills a server together with its session, whose folder the next server removes, and no other one.
func TestFolders_killed(t *testing.T) {
	dir := t.TempDir()
	server, addr := startRole(t, "server", nil, "DIR="+dir)
	dial(t, addr, rpc.DialOptions{})
	pids, err := processes(dir)
	if err != nil || len(pids) < 2 {
		t.Fatalf("the server and its session: %v, %v", pids, err)
	}
	server.Process.Signal(syscall.SIGSTOP) // it cannot do it
	for _, pid := range pids {
		if pid != server.Process.Pid {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	server.Process.Kill()
	server.Wait()
	other, _ := serve(t, rpc.Config{Dir: dir})
	s := dial(t, other.Addr().String(), rpc.DialOptions{})
	next, err := rpc.Listen(rpc.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v", left, err)
	}
	if err := s.Upload(limited(t, 10*time.Second), "a/b", nil); err != nil {
		t.Errorf("the session that lives: %v", err)
	}
}

// TestFolders kills servers whose sessions wait for a client, or begin: nothing is left of these, which see the end of the
// relay and that of the server at once.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		server, addr := startRole(t, "server", nil, "DIR="+dir, "RELAY=1")
		if i%2 == 0 {
			dial(t, addr, rpc.DialOptions{})
			if left, err := os.ReadDir(dir); err != nil || len(left) == 0 {
				t.Fatalf("a session has no folder: %v", err)
			}
		} else {
			raw(t, addr, int32s(0xff271, int32(len(hello))), []byte(hello))
			time.Sleep(time.Duration(i) * time.Millisecond)
		}
		server.Process.Kill()
		server.Wait()
		nothingLeft(t, dir)
	}
}
