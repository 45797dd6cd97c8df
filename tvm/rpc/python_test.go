//go:build tvm

package rpc_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// pythonPeers is the program that plays the other side with TVM's Python package. The first
// argument is the part; it prints what the test needs and ends when its input ends.
const pythonPeers = `
import os, sys, threading
def main():
    part, args = sys.argv[1], sys.argv[2:]
    import numpy as np, tvm
    from tvm import rpc
    if part == "tracker":
        from tvm.rpc.tracker import Tracker
        t = Tracker("127.0.0.1", 29190, 29400, silent=True)
        print("127.0.0.1:%d" % t.port, flush=True)
        sys.stdin.read()
        t.terminate()
    elif part in ("server", "small server"):
        if part != "server":  # its disk is full after a megabyte
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        from tvm.rpc.server import Server
        tracker = None
        if len(args) > 1:
            host, port = args[1].rsplit(":", 1)
            tracker = (host, int(port))
        s = Server("127.0.0.1", 29500, 29700, key=args[0], tracker_addr=tracker, silent=True)
        print("127.0.0.1:%d" % s.port, flush=True)
        sys.stdin.read()
        s.terminate()
    elif part == "client":
        addr, key, library = args
        host, port = addr.rsplit(":", 1)
        if key.startswith("tracker:"):
            sess = rpc.connect_tracker(host, int(port)).request(key[8:], priority=2, session_timeout=30)
        else:
            sess = rpc.connect(host, int(port), key, session_timeout=30)
        sess.upload(library, "kernels.so")
        m = sess.load_module("kernels.so")
        x = tvm.runtime.tensor(np.arange(4, dtype="float32"), sess.cpu(0))
        y = tvm.runtime.tensor(np.zeros(4, dtype="float32"), sess.cpu(0))
        m["add_one"](x, y)
        assert y.numpy().tolist() == [1, 2, 3, 4], y.numpy()
        assert m["echo"](7) == 7
        cost = m.time_evaluator("add_one", sess.cpu(0), number=3, repeat=2)(x, y)
        assert len(cost.results) == 2 and cost.mean > 0, cost
        try:
            m["add_one"](x, tvm.runtime.tensor(np.zeros(5, dtype="float32"), sess.cpu(0)))
            raise SystemExit("no error")
        except Exception as e:
            assert "the shapes differ" in str(e), e
        assert sess.listdir("") == "kernels.so", sess.listdir("")
        assert bytes(sess.download("kernels.so")) == open(library, "rb").read()
        sess.remove("kernels.so")
    elif part == "compiler":
        from tvm import te
        A = te.placeholder((4,), "float32", "A")
        B = te.compute((4,), lambda i: A[i] * 2.0, "B")
        lib = tvm.compile(te.create_prim_func([A, B]), target="llvm")
        host, port = args[0].rsplit(":", 1)
        sess = rpc.connect(host, int(port), "")
        for name in ("double.tar", "double.o"):
            path = os.path.join(args[1], name)
            if name.endswith(".tar"):
                lib.export_library(path)
            else:
                lib.write_to_file(path, "o") if hasattr(lib, "write_to_file") else lib.mod.write_to_file(path, "o")
            sess.upload(path)
            f = sess.load_module(name)
            x = tvm.runtime.tensor(np.arange(4, dtype="float32"), sess.cpu(0))
            y = tvm.runtime.tensor(np.zeros(4, dtype="float32"), sess.cpu(0))
            f["main"](x, y)
            assert y.numpy().tolist() == [0, 2, 4, 6], y.numpy()
        assert bytes(sess.download_linked_module("double.tar"))[:4] == b"\x7fELF"
    if part in ("client", "compiler"):
        print("done", flush=True)
if __name__ == "__main__":
    main()
`

// python starts a part of the program and returns the first line that it prints. The part ends
// with the test.
func python(t testing.TB, part string, args ...string) string {
	t.Helper()
	// A file, since the servers of Python start processes that import it again.
	file := t.TempDir() + "/peers.py"
	write(t, file, pythonPeers)
	cmd := exec.Command(nativetest.TVM(t), append([]string{file, part}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	messages := new(output)
	cmd.Stderr = messages
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	t.Cleanup(func() {
		in.Close()
		stop := time.AfterFunc(nativetest.Patience(20*time.Second), func() { cmd.Process.Kill() })
		defer stop.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("Python's %s: %v\n%s", part, err, messages)
		}
	})
	if err != nil {
		t.Fatalf("Python's %s printed nothing: %v\n%s", part, err, messages)
	}
	return strings.TrimSpace(line)
}
