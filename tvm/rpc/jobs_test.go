//go:build tvm

package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func init() { roles["tracker"] = trackerRole }

// trackerRole is a tracker that a test can stop.
func trackerRole() {
	t, err := rpc.ListenTracker(rpc.TrackerConfig{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Addr())
	log.Fatal(t.Serve(context.Background()))
}

// TestJobs gives jobs to three servers, two of Go and one of Python. Meanwhile it kills servers of Go and starts others,
// and every fifth job crashes its session at first. All jobs end right.
func TestJobs(t *testing.T) {
	kernels := library(t)
	tracker := track(t, "")
	client := rpc.TrackerClient{Addr: tracker.Addr().String(), Attempts: 20}
	dir := t.TempDir()
	start := func() func() {
		server, _ := startRole(t, "server", nil, "DIR="+dir, "TRACKER="+client.Addr)
		return func() { server.Process.Kill(); server.Wait() }
	}
	kill := []func(){start(), start()}
	python(t, "server", "board", client.Addr)
	queue(t, client, "board", rpc.Queue{Free: 3})
	const jobs = 40
	ctx := limited(t, 2*time.Minute)
	var runs atomic.Int64
	var all sync.WaitGroup
	numbers := make(chan int)
	for range 4 {
		all.Go(func() {
			for n := range numbers {
				tries := 0
				err := client.Do(ctx, "board", 1, func(s *rpc.Session) error {
					tries++
					runs.Add(1)
					return job(ctx, s, kernels, n, n%5 == 0 && tries == 1)
				})
				if err != nil {
					t.Errorf("job %d: %v", n, err)
				}
			}
		})
	}
	for n := range jobs {
		numbers <- n
		if n%4 == 3 {
			time.Sleep(rand.N(200 * time.Millisecond)) // somewhere in the jobs
			i := rand.IntN(len(kill))
			kill[i]()
			kill[i] = start()
		}
	}
	close(numbers)
	all.Wait()
	t.Logf("%d jobs took %d runs; the tracker: %+v", jobs, runs.Load(), tracker.Stats())
	if runs.Load() < jobs+jobs/5 {
		t.Errorf("%d runs for %d jobs: no session was lost", runs.Load(), jobs)
	}
	for _, f := range kill {
		f()
	}
	eventually(t, 5*time.Second, func() string {
		s, err := rpc.Listen(rpc.Config{Dir: dir}) // removes the folder of a session that crashed when its server was killed
		if err != nil {
			return err.Error()
		}
		s.Close()
		return left(dir)
	})
}

// job uploads the kernels and checks ten calls, or crashes the session.
func job(ctx context.Context, s *rpc.Session, kernels []byte, number int, crash bool) error {
	if err := s.Upload(ctx, "kernels.so", kernels); err != nil {
		return err
	}
	m, err := s.LoadModule(ctx, "kernels.so")
	if err != nil {
		return err
	}
	defer m.Release()
	name := "echo"
	if crash {
		name = "crash"
	}
	f, err := m.Function(ctx, name)
	if err != nil {
		return err
	}
	defer f.Release()
	if crash {
		if _, err := f.Call(ctx); err == nil {
			return errors.New("a crash returned no error")
		} else {
			return err
		}
	}
	for i := range 10 {
		v, err := f.Call(ctx, 100*number+i)
		if err != nil {
			return err
		}
		if got, err := tvmffi.As[int](v); got != 100*number+i || err != nil {
			return fmt.Errorf("echo of %d returned %d, %v", 100*number+i, got, err)
		}
	}
	return nil
}

// TestTrackerStopped stops the process of a tracker: a request ends with its context, sessions go on, and all works when
// the process continues.
func TestTrackerStopped(t *testing.T) {
	tracker, addr := startRole(t, "tracker", nil)
	client := rpc.TrackerClient{Addr: addr}
	server, _ := serve(t, rpc.Config{Tracker: addr, Key: "board", MaxSessions: 2})
	queue(t, client, "board", rpc.Queue{Free: 2})
	s, err := client.Request(limited(t, 10*time.Second), "board", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := tracker.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() string { // the signal arrives when its threads have run
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tracker.Process.Pid)); err != nil || !strings.Contains(string(state), ") T ") {
			return "the tracker is not stopped"
		}
		return ""
	})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := client.Request(ctx, "board", 1); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), addr) || time.Since(start) > nativetest.Patience(5*time.Second) {
		t.Errorf("a request, after %v: %v", time.Since(start), err)
	}
	if _, err := s.Call(limited(t, 10*time.Second), "runtime.NumThreads"); err != nil {
		t.Errorf("the session: %v", err)
	}
	if err := tracker.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	again, err := client.Request(limited(t, 30*time.Second), "board", 1)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if server.Stats().Sessions != 2 {
		t.Errorf("the server counts %+v", server.Stats())
	}
}
