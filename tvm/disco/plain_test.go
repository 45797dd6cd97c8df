//go:build tvm

package disco_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestPythonNode has a node of TVM's Python package and one of Go in one plain session.
func TestPythonNode(t *testing.T) {
	need(t)
	testPythonNode(t, must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), "127.0.0.2")
}

// testPythonNode starts the nodes by the command before, at the address local.
func testPythonNode(t *testing.T, l net.Listener, local string, before ...string) {
	t.Helper()
	defer l.Close()
	node := python(t, "node", l.Addr().String(), before...)
	var out output
	node.Stdout, node.Stderr, node.WaitDelay = &out, &out, nativetest.Patience(10*time.Second)
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Wait() }()
	t.Cleanup(func() { node.Process.Kill() })
	own := startNode(t, l.Addr().String(), local, 2, slices.Clone(before)...)
	s, err := disco.Sockets(limited(t, 60*time.Second), l, 3, 2, disco.Options{Plain: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	// Each worker says who it is: a number that comes back from all three programs.
	d := call(t, s, "runtime.disco.worker_rank")
	for i := range 6 {
		v := must[tvmffi.Any](t)(d.Get(t.Context(), i))
		if rank, err := tvmffi.As[int64](v); err != nil || rank != int64(i) {
			t.Errorf("worker %d is %v, %v", i, v, err)
		}
	}
	size := must[*tvmffi.Shape](t)(tvmffi.NewShape(3))
	onZero := must[*disco.DRef](t)(s.Call(s.Function("runtime.disco.empty"), size, tvmffi.Float32, nil, true, false))
	to, from := must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float32{1, 2, 3})), must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, 3))
	if err := errors.Join(s.CopyToWorker0(to, onZero), s.CopyFromWorker0(t.Context(), from, onZero), s.Sync(t.Context())); err != nil {
		t.Error(err)
	}
	if got := must[[]float32](t)(tvmffi.Slice[float32](from)); !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("worker 0 returned %v", got)
	}
	if _, err := s.Call(s.Function("no.such")); !errors.Is(err, tvmffi.ErrAttribute) {
		t.Errorf("a function that is missing: %v", err)
	}
	if err := s.InitCCL(t.Context(), "cpu"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("InitCCL: %v", err)
	}
	if err := s.InitCCL(t.Context(), "no such", 0, 1); !errors.Is(err, tvmffi.ErrValue) {
		t.Errorf("a library that is missing: %v", err)
	}
	if err := errors.Join(s.Close(), own.wait(t)); err != nil {
		t.Errorf("%v\n%s", err, own.output.String())
	}
	select {
	case err = <-ended:
	case <-time.After(nativetest.Patience(10 * time.Second)):
		err = errors.New("it has not ended")
	}
	if err != nil {
		t.Errorf("Python's node: %v\n%s", err, out.String())
	}
}

// peers is a node or a controller of TVM's Python package, which is all that tvm.exec.disco_remote_socket_session does. That
// program fails in this version, because it looks for its functions before their library is there.
const peers = `
import importlib, sys
import tvm
import tvm.exec.disco_worker
import tvm_ffi
disco = importlib.import_module("tvm.runtime.disco.session")
tvm_ffi.init_ffi_api("runtime.disco", "tvm.runtime.disco._ffi_api")
part, (host, port) = sys.argv[1], sys.argv[2].split(":")
if part == "node":
    tvm.get_global_func("runtime.disco.RemoteSocketSession")(host, int(port), 2)
else:
    s = disco.SocketSession(2, 2, 1, host, int(port))
    rank = s.get_global_func("runtime.disco.worker_rank")()
    print([rank.debug_get_from_remote(i) for i in range(4)], flush=True)
    s.shutdown()
`

// TestPythonController joins a session of TVM's Python package.
func TestPythonController(t *testing.T) {
	need(t)
	c := python(t, "controller", "127.0.0.1:0")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, nativetest.Patience(10*time.Second) // for its workers
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	address := ""
	for address == "" && len(ended) == 0 {
		time.Sleep(10 * time.Millisecond)
		address = listens(c.Process.Pid)
	}
	node := startNode(t, address, "127.0.0.1", 2)
	err := <-ended
	if got := strings.TrimSpace(stdout.String()); got != "[0, 1, 2, 3]" || err != nil {
		t.Errorf("the controller printed %q, %v\n%s\n%s", got, err, fmt.Sprint(stderr.String()), node.output.String())
	}
	if err := node.wait(t); err != nil {
		t.Errorf("the node: %v: %s", err, node.output.String())
	}
}

// listens returns the address at which a process listens, if it does. The system has chosen the port: one that a test
// chose could be taken before the process has it.
func listens(pid int) string {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	for line := range strings.Lines(string(table)) { // number, local, remote, state, queues, timer, retries, user, timeout, inode
		f := strings.Fields(line)
		of := func(file string) bool { to, _ := os.Readlink(file); return to == "socket:["+f[9]+"]" }
		if len(f) > 9 && f[3] == "0A" && slices.ContainsFunc(files, of) {
			port, _ := strconv.ParseUint(f[1][strings.Index(f[1], ":")+1:], 16, 16)
			return fmt.Sprint("127.0.0.1:", port)
		}
	}
	return ""
}

func python(t *testing.T, part, address string, before ...string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peers.py")
	if err := os.WriteFile(file, []byte(peers), 0o600); err != nil {
		t.Fatal(err)
	}
	words := append(slices.Clone(before), nativetest.TVM(t), file, part, address)
	return exec.CommandContext(limited(t, 60*time.Second), words[0], words[1:]...)
}

func limited(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), nativetest.Patience(d))
	t.Cleanup(cancel)
	return ctx
}
