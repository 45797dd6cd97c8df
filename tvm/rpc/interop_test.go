//go:build tvm

package rpc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestPythonClient serves a client of TVM's Python package.
func TestPythonClient(t *testing.T) {
	file := kernelFile(t)
	server, _ := serve(t, rpc.Config{Key: "cpu"})
	if got := python(t, "client", server.Addr().String(), "cpu", file); got != "done" {
		t.Errorf("the client printed %q", got)
	}
}

// TestPythonCompiler uploads what the compiler of TVM exports: object files, and archives of them.
func TestPythonCompiler(t *testing.T) {
	nativetest.StartsCompiler(t)
	server, _ := serve(t, rpc.Config{})
	if got := python(t, "compiler", server.Addr().String(), t.TempDir()); got != "done" {
		t.Errorf("the client printed %q", got)
	}
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	ctx := limited(t, 30*time.Second)
	for name, content := range map[string]string{"empty.tar": strings.Repeat("\x00", 1024), "bad.o": "not an object file"} {
		if err := s.Upload(ctx, name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		_, err := s.LoadModule(ctx, name)
		if !errors.Is(err, tvmffi.KindError("RPCError")) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPythonServer is a client of the server of TVM's Python package.
func TestPythonServer(t *testing.T) {
	addr := python(t, "server", "cpu")
	s := dial(t, addr, rpc.DialOptions{Key: "cpu"})
	m := module(t, s)
	checkKernel(t, s, m)
	checkErrors(t, s, m)
	s.Close()
	if _, err := rpc.Dial(limited(t, 10*time.Second), addr, rpc.DialOptions{Key: "wrong"}); !isKeyError(err) {
		t.Errorf("with the wrong key: %v", err)
	}
}

// TestPythonTrackers mixes servers and clients of both languages at both trackers.
func TestPythonTrackers(t *testing.T) {
	file := kernelFile(t)
	for name, start := range trackers {
		t.Run(name, func(t *testing.T) {
			tracker := start(t)
			client := rpc.TrackerClient{Addr: tracker}
			serve(t, rpc.Config{Tracker: tracker, Key: "go", MaxSessions: 1})
			python(t, "server", "py", tracker)
			queue(t, client, "go", rpc.Queue{Free: 1})
			queue(t, client, "py", rpc.Queue{Free: 1})
			if got := python(t, "client", tracker, "tracker:go", file); got != "done" {
				t.Errorf("the client of Python printed %q", got)
			}
			queue(t, client, "go", rpc.Queue{Free: 1})
			for range 2 {
				s, err := client.Request(limited(t, 20*time.Second), "py", 1)
				if err != nil {
					t.Fatal(err)
				}
				m := module(t, s)
				checkKernel(t, s, m)
				s.Close()
			}
		})
	}
}

// kernelFile returns the path of the library of the kernels.
func kernelFile(t testing.TB) string {
	t.Helper()
	return nativetest.BuildText(t, "rpckernels", kernels, nativetest.AgainstVersion(wheel.TVMNeeds))
}
