//go:build tvm

package disco_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestStrangers lets strangers call at a controller: one that speaks, one that leaves, and a node that dies while it
// joins. They do not disturb the node that comes then.
func TestStrangers(t *testing.T) {
	need(t)
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", ""} {
		c := must[net.Conn](t)(net.Dial("tcp", l.Addr().String()))
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			c.Close()
		}
		defer c.Close()
	}
	dies := startNode(t, l.Addr().String(), "127.0.0.3", 1)
	time.Sleep(300 * time.Millisecond) // now it may wait
	dies.cmd.Process.Kill()
	dies.wait(t)
	var out output
	began := make(chan *disco.Session)
	go func() {
		s, err := disco.Sockets(t.Context(), l, 2, 1, disco.Options{Output: &out})
		if err != nil {
			t.Error(err)
		}
		began <- s
	}()
	said := func() bool {
		text := out.String()
		return strings.Contains(text, "is not a node: it spoke first") && strings.Contains(text, "is not a node: EOF")
	}
	for late := time.Now().Add(nativetest.Patience(10 * time.Second)); !said() && time.Now().Before(late); time.Sleep(5 * time.Millisecond) {
	}
	node := startNode(t, l.Addr().String(), "127.0.0.2", 1)
	s := <-began
	if s == nil {
		t.Fatal(node.output.String())
	}
	testCalls(t, s)
	if err := errors.Join(s.Close(), node.wait(t)); err != nil {
		t.Error(err)
	}
	if !said() {
		t.Errorf("the controller has not printed why two peers are not nodes:\n%s", out.String())
	}
}

// TestUnreachable lets a controller wait for a node, and a node for a controller, in vain.
func TestUnreachable(t *testing.T) {
	need(t)
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := disco.Sockets(ctx, l, 3, 1, disco.Options{})
	if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "0 of 2 nodes have come") || took > nativetest.Patience(time.Second) {
		t.Errorf("after %v: %v", took, err)
	}
	if err := disco.Join(ctx, l.Addr().String(), disco.NodeOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a controller that says nothing: %v", err)
	}
	closed := must[net.Listener](t)(net.Listen("tcp", nativetest.Loopback()))
	time.AfterFunc(100*time.Millisecond, func() { closed.Close() })
	ctx = limited(t, 10*time.Second)
	if _, err := disco.Sockets(ctx, closed, 2, 1, disco.Options{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that is closed: %v", err)
	}
	if err := disco.Join(t.Context(), closed.Addr().String(), disco.NodeOptions{}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
	small := startNode(t, l.Addr().String(), "127.0.0.2", 1)
	if _, err := disco.Sockets(ctx, l, 2, 2, disco.Options{CloseLimit: time.Second}); err == nil || !strings.Contains(err.Error(), "node 1 at 127.0.0.2") {
		t.Errorf("a node with too few workers: %v", err)
	}
	if err := small.wait(t); err == nil || !strings.Contains(small.output.String(), "(1 vs. 2)") {
		t.Errorf("%v: %s", err, small.output.String())
	}
}

// TestNodeLost kills a node, and a worker of one.
func TestNodeLost(t *testing.T) {
	need(t)
	for name, want := range map[string]string{
		"killed":        "is lost: ",
		"worker killed": "is lost: ",
	} {
		t.Run(name, func(t *testing.T) {
			s, nodes := sockets(t, 2, 2, disco.Options{Silence: time.Second, CloseLimit: nativetest.Patience(time.Second)})
			pids := all(t, s, call(t, s, "disco.test.pid"))
			call(t, s, "disco.test.sleepers", 3, 20_000)
			d := call(t, s, "disco.test.pid")
			got := make(chan error)
			go func() { _, err := d.Get(context.Background(), 3); got <- err }()
			time.Sleep(50 * time.Millisecond)
			start := time.Now()
			switch name {
			case "killed":
				syscall.Kill(nodes[0].cmd.Process.Pid, syscall.SIGKILL)
			default:
				syscall.Kill(int(pids[3].(int64)), syscall.SIGKILL)
			}
			err := <-got
			var worker *disco.WorkerError
			var exit *disco.ExitError
			if took := time.Since(start); !errors.As(err, &worker) || worker.Worker < 2 || !errors.As(err, &exit) || !strings.Contains(err.Error(), want) || took > nativetest.Patience(4*time.Second) {
				t.Errorf("after %v: %v", took, err)
			}
			if _, err := s.Call(s.Function("disco.test.pid")); !errors.As(err, &worker) {
				t.Errorf("a call after that: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := nodes[0].wait(t); name == "worker killed" && !strings.Contains(nodes[0].output.String(), "signal: killed") {
				t.Errorf("the node: %v, %s", err, nodes[0].output.String())
			}
			for i, pid := range pids[2:] {
				waitForEnd(t, fmt.Sprint("worker ", 2+i), int(pid.(int64)))
			}
		})
	}
}

// waitForEnd waits until a process has ended.
func waitForEnd(t testing.TB, what string, pid int) {
	t.Helper()
	for late := time.Now().Add(nativetest.Patience(5 * time.Second)); time.Now().Before(late); {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s, process %d, has not ended", what, pid)
	syscall.Kill(pid, syscall.SIGKILL)
}

// TestControllerKilled kills a controller whose workers are idle, or busy. They end on all hosts.
func TestControllerKilled(t *testing.T) {
	need(t)
	for _, busy := range []string{"", "1", "3"} { // 3 is on the node
		controller, node := startController(t, "127.0.0.1:0", "127.0.0.2", "DISCO_TEST_BUSY="+busy)
		pids := controller.workers(t)
		syscall.Kill(controller.cmd.Process.Pid, syscall.SIGKILL)
		if err := node.wait(t); err == nil || !strings.Contains(node.output.String(), "the controller is lost") {
			t.Errorf("%v: %s", err, node.output.String())
		}
		for i, pid := range pids {
			waitForEnd(t, fmt.Sprint("worker ", i), pid)
		}
	}
}

// testController is a controller in a process of its own.
type testController struct {
	*testNode
	lines *bufio.Scanner
	input io.Closer
}

func startController(t *testing.T, address, local, variable string, namespaces ...string) (*testController, *testNode) {
	t.Helper()
	var before, beforeNode []string
	if namespaces != nil {
		before, beforeNode = []string{"ip", "netns", "exec", namespaces[0]}, []string{"ip", "netns", "exec", namespaces[1]}
	}
	words := append(before, must[string](t)(os.Executable()))
	c := &testController{testNode: &testNode{ended: make(chan error, 1)}}
	c.cmd = exec.Command(words[0], words[1:]...)
	c.cmd.Env = append(os.Environ(), controllerVariable+"="+address, variable)
	c.cmd.Stderr = &c.output
	stdout := must[io.ReadCloser](t)(c.cmd.StdoutPipe())
	c.input = must[io.WriteCloser](t)(c.cmd.StdinPipe())
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	c.lines = bufio.NewScanner(stdout)
	where := c.find(t, `listens on (\S+)`)[1]
	return c, startNode(t, where, local, 2, beforeNode...)
}

// find returns the parts of the next line that matches.
func (c *testController) find(t testing.TB, pattern string) []string {
	t.Helper()
	for c.lines.Scan() {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(c.lines.Text()); found != nil {
			return found
		}
	}
	t.Fatalf("the controller has not printed %s: %s", pattern, c.output.String())
	return nil
}

// workers returns the processes of the workers, and checks what they have computed.
func (c *testController) workers(t testing.TB) (pids []int) {
	t.Helper()
	for i := range 4 {
		found := c.find(t, `worker (\d) process (\d+) sum (.*)`)
		if found[1] != strconv.Itoa(i) || found[3] != "[4321] <nil>" {
			t.Errorf("%q", found)
		}
		pids = append(pids, must[int](t)(strconv.Atoi(found[2])))
	}
	c.find(t, "done")
	return pids
}

// TestNamespaces makes sessions of two hosts that are network namespaces: one with nodes of Python and Go on the other host,
// and one whose line breaks.
// Where namespaces cannot be made, TestSockets and TestNodeLost have to do.
func TestNamespaces(t *testing.T) {
	need(t)
	names := namespaces(t)
	testPythonNode(t, listenIn(t, names[0], "10.99.77.1:0"), "10.99.77.2", "ip", "netns", "exec", names[1])
	controller, node := startController(t, "10.99.77.1:0", "10.99.77.2", "", names...)
	controller.workers(t)
	controller.input.Close()
	if err := errors.Join(controller.cmd.Wait(), node.wait(t)); err != nil {
		t.Errorf("%v: %s\n%s", err, controller.output.String(), node.output.String())
	}
	controller, node = startController(t, "10.99.77.1:0", "10.99.77.2", "DISCO_TEST_BUSY=3", names...)
	pids := controller.workers(t)
	ip(t, "-n", names[0], "link", "set", "tvmffi0", "down") // each side hears nothing more
	if err := node.wait(t); err == nil || !strings.Contains(node.output.String(), "connection timed out") {
		t.Errorf("%v: %s", err, node.output.String())
	}
	controller.input.Close()
	controller.cmd.Wait()
	if text := controller.output.String(); strings.Contains(text, "a thread cannot be killed") || !strings.Contains(text, "controller: ") {
		t.Errorf("the controller has not given up the operation: %s", text)
	}
	for i, pid := range pids {
		waitForEnd(t, fmt.Sprint("worker ", i), pid)
	}
}

// namespaces makes two network namespaces and a line between them.
func namespaces(t *testing.T) []string {
	t.Helper()
	names := []string{fmt.Sprint("tvmffi-a-", os.Getpid()), fmt.Sprint("tvmffi-b-", os.Getpid())}
	if out, err := exec.Command("ip", "netns", "add", names[0]).CombinedOutput(); err != nil {
		t.Skipf("this user cannot make network namespaces: %v: %s", err, out)
	}
	t.Cleanup(func() { ip(t, "netns", "delete", names[0]) })
	ip(t, "netns", "add", names[1])
	t.Cleanup(func() { ip(t, "netns", "delete", names[1]) })
	ip(t, "-n", names[0], "link", "add", "tvmffi0", "type", "veth", "peer", "name", "tvmffi1", "netns", names[1])
	for i, name := range names {
		device := fmt.Sprint("tvmffi", i)
		ip(t, "-n", name, "link", "set", "lo", "up")
		ip(t, "-n", name, "address", "add", fmt.Sprintf("10.99.77.%d/24", i+1), "dev", device)
		ip(t, "-n", name, "link", "set", device, "up")
	}
	return names
}

// listenIn listens in a namespace, to which one thread goes for that.
func listenIn(t *testing.T, namespace, address string) net.Listener {
	t.Helper()
	var l net.Listener
	listens := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		file, err := os.Open("/run/netns/" + namespace)
		if err == nil {
			defer file.Close()
			if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err == nil {
				l, err = net.Listen("tcp", address)
			}
		}
		listens <- err
	}()
	if err := <-listens; err != nil {
		t.Fatal(err)
	}
	return l
}

func ip(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Errorf("ip %q: %v: %s", args, err, out)
	}
}
