//go:build tvm && linux

package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// TestVanished takes the network away while a call runs: no packet says that the other side is
// gone. Both sides notice after their PeerTimeout.
func TestVanished(t *testing.T) {
	file := kernelFile(t)
	namespace := func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
	}
	probe := exec.Command("true")
	namespace(probe)
	if err := probe.Run(); err != nil {
		nativetest.Unavailable(t, fmt.Errorf("a network namespace, which this kernel must permit: %w", err))
	}
	_, line := startRole(t, "vanish", namespace, "LIBRARY="+file, "DIR="+t.TempDir())
	if line != "done" {
		t.Errorf("the process printed %q", line)
	}
}

// loopback switches the loopback interface on or off.
func loopback(up bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if up {
		r.SetUint16(unix.IFF_UP)
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

func init() { roles["vanish"] = vanishRole }

func vanishRole() {
	if err := vanish(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("done")
}

// vanish is a server and two clients, one in a call and one idle, whose network vanishes.
func vanish() error {
	if err := loopback(true); err != nil {
		return err
	}
	journal := new(output)
	server, err := rpc.Listen(rpc.Config{Dir: os.Getenv("DIR"), MaxSessions: 2, PeerTimeout: 3 * time.Second, Logger: slog.New(slog.NewTextHandler(journal, nil)), Output: journal})
	if err != nil {
		return err
	}
	go server.Serve(context.Background())
	library, err := os.ReadFile(os.Getenv("LIBRARY"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), nativetest.Patience(time.Minute))
	defer cancel()
	options := rpc.DialOptions{PeerTimeout: 3 * time.Second}
	idle, err := rpc.Dial(ctx, server.Addr().String(), options)
	if err != nil {
		return err
	}
	defer idle.Close()
	s, err := rpc.Dial(ctx, server.Addr().String(), options)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Upload(ctx, "kernels.so", library); err != nil {
		return err
	}
	m, err := s.LoadModule(ctx, "kernels.so")
	if err != nil {
		return err
	}
	sleep, err := m.Function(ctx, "sleep")
	if err != nil {
		return err
	}
	time.AfterFunc(200*time.Millisecond, func() { loopback(false) })
	start := time.Now()
	_, err = sleep.Call(ctx, 60_000)
	if !errors.Is(err, rpc.ErrLost) || time.Since(start) > nativetest.Patience(10*time.Second) {
		return fmt.Errorf("the call ended after %v: %v", time.Since(start), err)
	}
	fmt.Fprintf(os.Stderr, "the client noticed after %v: %v\n", time.Since(start), err)
	for strings.Count(journal.String(), "the session ") < 4 { // two begin, two end or fail
		if time.Since(start) > nativetest.Patience(15*time.Second) {
			return fmt.Errorf("the server did not notice:\n%s", journal)
		}
		time.Sleep(50 * time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "the server noticed after %v:\n%s", time.Since(start), journal)
	return server.Close()
}
