//go:build tvm

package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// track starts a tracker of Go and closes it at the end of the test.
func track(t testing.TB, addr string) *rpc.Tracker {
	t.Helper()
	tracker, err := rpc.ListenTracker(rpc.TrackerConfig{Addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- tracker.Serve(context.Background()) }()
	t.Cleanup(func() {
		tracker.Close()
		if err := <-served; !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
	return tracker
}

// trackers starts a tracker of each kind: the address is the result.
var trackers = map[string]func(testing.TB) string{
	"go":     func(t testing.TB) string { return track(t, "").Addr().String() },
	"python": func(t testing.TB) string { return python(t, "tracker") },
}

// eventually calls f until it returns "", which is what is missing.
func eventually(t testing.TB, d time.Duration, f func() string) {
	t.Helper()
	d = nativetest.Patience(d)
	end := time.Now().Add(d)
	for {
		missing := f()
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", d, missing)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// queue waits until the tracker has as many free sessions and waiting clients for a key.
func queue(t testing.TB, c rpc.TrackerClient, key string, want rpc.Queue) {
	t.Helper()
	eventually(t, 15*time.Second, func() string {
		s, err := c.Summary(limited(t, 5*time.Second))
		if err != nil {
			return err.Error()
		}
		if got := s.Queues[key]; got != want {
			return fmt.Sprintf("the queue of %s is %+v, not %+v", key, got, want)
		}
		return ""
	})
}

func TestTracker(t *testing.T) {
	for name, start := range trackers {
		t.Run(name, func(t *testing.T) {
			addr := start(t)
			client := rpc.TrackerClient{Addr: addr}
			server, _ := serve(t, rpc.Config{Tracker: addr, Key: "board", MaxSessions: 2})
			queue(t, client, "board", rpc.Queue{Free: 2})
			summary, err := client.Summary(limited(t, 5*time.Second))
			if err != nil || len(summary.Servers) != 1 || summary.Servers[0].Key != "server:board" {
				t.Errorf("the summary is %+v, %v", summary, err)
			}
			s, err := client.Request(limited(t, 10*time.Second), "board", 1)
			if err != nil {
				t.Fatal(err)
			}
			if s.Addr() != server.Addr().String() {
				t.Errorf("the tracker gave %s, the server is at %s", s.Addr(), server.Addr())
			}
			queue(t, client, "board", rpc.Queue{Free: 1})
			s.Close()
			queue(t, client, "board", rpc.Queue{Free: 2})
			if _, err := rpc.Dial(limited(t, 5*time.Second), server.Addr().String(), rpc.DialOptions{Key: "board"}); !errors.Is(err, rpc.ErrKey) {
				t.Errorf("without the key of the tracker: %v", err)
			}
			checkVoid(t, client)
			checkGone(t, client)
		})
	}
}

// checkVoid asks for a place and does not use it: the server offers another one.
func checkVoid(t *testing.T, c rpc.TrackerClient) {
	addr, place, err := c.Place(limited(t, 10*time.Second), "board", 1)
	if err != nil {
		t.Fatal(err)
	}
	queue(t, c, "board", rpc.Queue{Free: 1})
	queue(t, c, "board", rpc.Queue{Free: 2})
	if _, err := rpc.Dial(limited(t, 5*time.Second), addr, rpc.DialOptions{Key: place}); !errors.Is(err, rpc.ErrKey) {
		t.Errorf("with a void key: %v", err)
	}
}

// checkGone lets a client wait for a server that does not exist, until it gives up.
func checkGone(t *testing.T, c rpc.TrackerClient) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := c.Request(ctx, "nothing", 1)
	var e *rpc.ConnectionError
	if !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > nativetest.Patience(2*time.Second) {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// TestTrackerBack ends a tracker and starts another one at its port.
func TestTrackerBack(t *testing.T) {
	first := track(t, nativetest.Loopback())
	addr := first.Addr().String()
	client := rpc.TrackerClient{Addr: addr}
	_, log := serve(t, rpc.Config{Tracker: addr, Key: "board", MaxSessions: 3})
	queue(t, client, "board", rpc.Queue{Free: 3})
	s, err := client.Request(limited(t, 10*time.Second), "board", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at, early, err := client.Place(limited(t, 10*time.Second), "board", 1)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	if _, err := s.Call(limited(t, 10*time.Second), "runtime.NumThreads"); err != nil {
		t.Errorf("the session without the tracker: %v", err)
	}
	late, err := rpc.Dial(limited(t, 10*time.Second), at, rpc.DialOptions{Key: early})
	if err != nil {
		t.Fatalf("a place from before: %v", err)
	}
	eventually(t, 10*time.Second, func() string {
		if strings.Contains(log.String(), "no connection to the tracker") {
			return ""
		}
		return "the log does not say that the tracker is gone"
	})
	if _, err := client.Request(limited(t, 10*time.Second), "board", 1); err == nil {
		t.Error("a request without a tracker returned no error")
	}
	start := time.Now()
	track(t, addr)
	late.Close()
	queue(t, client, "board", rpc.Queue{Free: 2})
	if d := time.Since(start); d > nativetest.Patience(8*time.Second) {
		t.Errorf("the server offered its unused keys again after %v", d)
	}
	again, err := client.Request(limited(t, 10*time.Second), "board", 1)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
