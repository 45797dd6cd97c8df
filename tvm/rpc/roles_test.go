//go:build tvm

package rpc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// roleVariable names, in processes that tests start, what the process does.
const roleVariable = "RPC_TEST_ROLE"

// roles are what a process of this test binary can do.
var roles = map[string]func(){"server": serverRole, "clients": clientsRole}

// serverRole is a server that a test can kill.
func serverRole() {
	c := rpc.Config{Dir: os.Getenv("DIR"), Relay: os.Getenv("RELAY") != ""}
	c.MaxSessions, _ = strconv.Atoi(os.Getenv("SESSIONS")) // 0 is the default
	if c.Tracker = os.Getenv("TRACKER"); c.Tracker != "" {
		c.Key, c.MaxSessions = "board", 1
	}
	s, err := rpc.Listen(c)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Addr())
	log.Fatal(s.Serve(context.Background()))
}

// clientsRole is COUNT clients at once, each with a session.
func clientsRole() {
	count, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		log.Fatal(err)
	}
	library, err := os.ReadFile(os.Getenv("LIBRARY"))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), nativetest.Patience(2*time.Minute))
	defer cancel()
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			if err := oneClient(ctx, os.Getenv("ADDR"), library, i); err != nil {
				log.Fatal(err)
			}
		})
	}
	all.Wait()
	fmt.Println("done")
}

// oneClient uses a session of its own, and checks that the server does not mix it up.
func oneClient(ctx context.Context, addr string, library []byte, number int) error {
	s, err := rpc.Dial(ctx, addr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	text := fmt.Sprint("client ", os.Getpid(), " ", number)
	if err := s.Upload(ctx, "name.txt", []byte(text)); err != nil {
		return err
	}
	if err := s.Upload(ctx, "kernels.so", library); err != nil {
		return err
	}
	m, err := s.LoadModule(ctx, "kernels.so")
	if err != nil {
		return err
	}
	defer m.Release()
	echo, err := m.Function(ctx, "echo")
	if err != nil {
		return err
	}
	defer echo.Release()
	for i := range 20 {
		r, err := echo.Call(ctx, number*100+i)
		if err != nil {
			return err
		}
		if n, err := tvmffi.As[int](r); n != number*100+i || err != nil {
			return fmt.Errorf("echo of %d returned %d, %v", number*100+i, n, err)
		}
	}
	if b, err := s.Download(ctx, "name.txt"); string(b) != text || err != nil {
		return fmt.Errorf("the file of %q has %q, %v", text, b, err)
	}
	return nil
}

// startRole starts a process of this binary and returns it with the first line that it prints.
func startRole(t testing.TB, role string, change func(*exec.Cmd), env ...string) (*exec.Cmd, string) {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	messages := new(output)
	cmd.Stderr = messages
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the process %s printed\n%s", role, messages)
		}
	})
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}
