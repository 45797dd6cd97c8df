//go:build tvm

package disco_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestSockets makes calls and collective operations on sessions of several hosts: processes with
// loopback addresses of their own.
func TestSockets(t *testing.T) {
	need(t)
	for _, size := range []struct{ nodes, perNode int }{{2, 1}, {2, 2}, {3, 1}} {
		t.Run(fmt.Sprintf("%d nodes of %d", size.nodes, size.perNode), func(t *testing.T) {
			s, nodes := sockets(t, size.nodes, size.perNode, disco.Options{})
			testCalls(t, s)
			testCollective(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, n := range nodes {
				if err := n.wait(t); err != nil {
					t.Errorf("%v: %s", err, n.output.String())
				}
			}
		})
	}
}

// TestSockets_tls joins a session whose listener demands certificates, after a stranger without one.
func TestSockets_tls(t *testing.T) {
	need(t)
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	client := web.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client.ServerName = "example.com"
	stranger := client.Clone()
	client.Certificates = web.TLS.Certificates
	l := must[net.Listener](t)(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert}))
	defer l.Close()
	refused, joined := make(chan error, 1), make(chan error, 1)
	go func() {
		c, err := tls.Dial("tcp", l.Addr().String(), stranger)
		if err == nil {
			defer c.Close()
			_, err = c.Read(make([]byte, 1))
		}
		refused <- err
		node := disco.NodeOptions{Workers: 2, Dial: (&tls.Dialer{Config: client}).DialContext}
		joined <- disco.Join(t.Context(), l.Addr().String(), node)
	}()
	begin := func(ctx context.Context, _ int, o disco.Options) (*disco.Session, error) {
		return disco.Sockets(ctx, l, 2, 2, o)
	}
	s := open(t, begin, 4, disco.Options{})
	if err := <-refused; err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("the stranger: %v", err)
	}
	testCalls(t, s)
	testCollective(t, s)
	if err := errors.Join(s.Close(), <-joined); err != nil {
		t.Error(err)
	}
}

// TestIdle does nothing for longer than a node may be silent.
func TestIdle(t *testing.T) {
	need(t)
	s, _ := sockets(t, 2, 1, disco.Options{Silence: time.Second})
	time.Sleep(3 * time.Second)
	wantAll(t, s, call(t, s, "disco.test.add", 2, 2), int64(4))
}

// sockets begins a session on the addresses 127.0.0.1, 127.0.0.2 and so on.
func sockets(t *testing.T, nodes, perNode int, o disco.Options) (*disco.Session, []*testNode) {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	var all []*testNode
	for i := 2; i <= nodes; i++ {
		all = append(all, startNode(t, l.Addr().String(), fmt.Sprint("127.0.0.", i), perNode))
	}
	begin := func(ctx context.Context, _ int, o disco.Options) (*disco.Session, error) {
		return disco.Sockets(ctx, l, nodes, perNode, o)
	}
	return open(t, begin, nodes*perNode, o), all
}

// testNode is a node in a process of its own.
type testNode struct {
	cmd    *exec.Cmd
	output output
	ended  chan error
}

func startNode(t testing.TB, address, local string, workers int, before ...string) *testNode {
	t.Helper()
	n := &testNode{ended: make(chan error, 1)}
	words := append(before, must[string](t)(os.Executable()))
	n.cmd = exec.Command(words[0], words[1:]...)
	n.cmd.Env = append(os.Environ(), nodeVariable+"="+address, "DISCO_TEST_LOCAL="+local, fmt.Sprint("DISCO_TEST_WORKERS=", workers))
	n.cmd.Stdout, n.cmd.Stderr = &n.output, &n.output
	n.cmd.WaitDelay = nativetest.Patience(10 * time.Second)
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { n.ended <- n.cmd.Wait() }()
	t.Cleanup(func() { n.cmd.Process.Kill() })
	return n
}

// wait returns how the node has ended.
func (n *testNode) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-n.ended:
		return err
	case <-time.After(nativetest.Patience(10 * time.Second)):
		t.Fatalf("the node has not ended: %s", n.output.String())
		return nil
	}
}
