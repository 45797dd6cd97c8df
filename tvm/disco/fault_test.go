//go:build tvm

package disco_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestFailures lets functions fail in all workers. The session goes on.
func TestFailures(t *testing.T) {
	need(t)
	testFailures(t, open(t, disco.Threads, 2, disco.Options{}))
	testFailures(t, open(t, disco.Processes, 2, disco.Options{}))
	s, _ := sockets(t, 2, 2, disco.Options{})
	testFailures(t, s)
}

func testFailures(t *testing.T, s *disco.Session) {
	ctx := t.Context()
	for _, c := range []struct {
		name, text string
		kind       error
		args       []any
	}{
		{"disco.test.fail", "disco.test.fail: ValueError: cannot take 7", tvmffi.ErrValue, []any{7}},
		{"disco.test.fail", "", tvmffi.ErrType, []any{"seven"}},
		{"disco.test.fail", "", tvmffi.ErrType, []any{strings.Repeat("seven", 1<<16)}},
		{"disco.test.panic", "a panic in a worker", tvmffi.ErrRuntime, nil},
		{"disco.test.missing", "disco.test.missing", tvmffi.ErrAttribute, nil},
		{"runtime.disco.load_vm_module", "missing.so", nil, []any{"/missing.so", nil}},
		{"runtime.disco.allreduce", "", tvmffi.ErrType, []any{1, 2, 3, 4}},
	} {
		d := call(t, s, c.name, c.args...)
		after := call(t, s, "disco.test.add", d, 1) // does not run
		for i := range s.Workers() {
			for _, d := range []*disco.DRef{d, after} {
				_, err := d.Get(ctx, i)
				var failed *disco.WorkerError
				if !errors.As(err, &failed) || failed.Worker != i || failed.Function != c.name || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%s on worker %d: %v", c.name, i, err)
				}
			}
		}
		err := s.Sync(ctx)
		if err == nil || !strings.Contains(err.Error(), c.name+":") || strings.Contains(err.Error(), "disco.test.add") {
			t.Errorf("Sync after %s: %v", c.name, err)
		}
		if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != s.Workers() {
			t.Errorf("Sync after %s does not have an error of each worker: %v", c.name, err)
		}
		if err := s.Sync(ctx); err != nil {
			t.Errorf("a second Sync after %s: %v", c.name, err)
		}
	}
	if _, err := s.Call(s.Function("disco.test.add"), func() {}); err == nil || !strings.Contains(err.Error(), "argument 0: a func() cannot be sent") {
		t.Errorf("a func as an argument: %v", err)
	}
	if _, err := s.Call(s.Function("disco.test.add"), 1, uint64(1<<63)); !errors.Is(err, tvmffi.ErrOverflow) || !strings.Contains(err.Error(), "argument 1: ") || !strings.Contains(err.Error(), "pass int64(x)") {
		t.Errorf("an integer beyond int64: %v", err)
	}
	if _, err := call(t, s, "disco.test.pid").Get(ctx, s.Workers()); err == nil {
		t.Error("Get of a worker that does not exist")
	}
	wantAll(t, s, call(t, s, "disco.test.add", 2, 2), int64(4))
}

// TestCollectiveFailures lets one worker fail in a collective operation. The others do not wait
// for it, and after InitCCL all work again.
func TestCollectiveFailures(t *testing.T) {
	need(t)
	s := open(t, disco.Processes, 3, disco.Options{})
	small := must[*disco.DRef](t)(s.Empty(tvmffi.Int32, 4))
	large := must[*disco.DRef](t)(s.Empty(tvmffi.Int32, 5))
	floats := must[*disco.DRef](t)(s.Empty(tvmffi.Float32, 4))
	twelve := must[*disco.DRef](t)(s.Empty(tvmffi.Int32, 12))
	eighteen := must[*disco.DRef](t)(s.Empty(tvmffi.Int32, 18))
	eighteenFloats := must[*disco.DRef](t)(s.Empty(tvmffi.Float32, 6, 3))
	differs := func(how string) *disco.DRef { return call(t, s, "disco.test.differs", how) }
	rows := differs("rows")
	if err := errors.Join(s.Allgather(rows, twelve, false), s.Sync(t.Context())); err != nil {
		t.Fatal("one tensor has more rows:", err)
	}
	for i := range 3 {
		wantTensor(t, "allgather of different rows", twelve, i, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 7, 8, 9})
	}
	half := must[*disco.DRef](t)(s.EmptyOnWorker0(tvmffi.Int32, 4))
	failed := call(t, s, "disco.test.fail", 1)
	if err := s.Sync(t.Context()); err == nil {
		t.Fatal("no failure")
	}
	number := call(t, s, "disco.test.add", 1, 1)
	for name, do := range map[string]func() error{
		"16 bytes came, and the result has 20":                                    func() error { return s.Allreduce(small, large, disco.Sum, false) },
		"no tensor for the source":                                                func() error { return s.Allgather(half, small, false) },
		"gather of 3 workers with tensors of float32 with rows of the shape [3]":  func() error { return s.GatherToWorker0(differs("type"), eighteen, false) },
		"allgather of 3 workers with tensors of int32 with rows of the shape [2]": func() error { return s.Allgather(differs("shape"), eighteen, false) },
		"allgather of 3 workers with tensors of int32 with rows of the shape []":  func() error { return s.Allgather(differs("dimensions"), eighteen, false) },
		"broadcast of 3 workers with results of int32 and the shape [3 2]":        func() error { return s.BroadcastFromWorker0(eighteen, differs("shape"), false) },
		"scatter of 3 workers with results of float32 and the shape [2 3]":        func() error { return s.ScatterFromWorker0(eighteen, differs("type"), false) },
		"allreduce of 3 workers with results of int32 and the shape [3 2]":        func() error { return s.Allreduce(differs("shape"), differs("shape"), disco.Sum, false) },
		"the source has elements of int32, and the result of float32":             func() error { return s.BroadcastFromWorker0(small, floats, false) },
		"the source has elements of float32, and the result of int32":             func() error { return s.Allgather(eighteenFloats, eighteen, false) },
		"cannot take 1":                        func() error { return s.BroadcastFromWorker0(failed, small, false) },
		"cannot be reduced by ReduceOp(9)":     func() error { return s.Allreduce(small, small, 9, false) },
		"expected 16 for each of 3 workers":    func() error { return s.ScatterFromWorker0(small, small, false) },
		"20 bytes came, and the result has 16": func() error { return s.BroadcastFromWorker0(large, small, false) },
		"TypeError":                            func() error { return s.GatherToWorker0(number, small, false) },
	} {
		start := time.Now()
		err := errors.Join(do(), s.Sync(t.Context()))
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), name) || took > nativetest.Patience(2*time.Second) {
			t.Errorf("%q after %v: %v", name, took, err)
		}
		if err := errors.Join(s.Allreduce(small, small, disco.Sum, false), s.Sync(t.Context())); err == nil || !strings.Contains(err.Error(), "Session.InitCCL") {
			t.Errorf("%q, then: %v", name, err)
		}
		if err := s.InitCCL(t.Context(), "cpu"); err != nil {
			t.Fatalf("%q: InitCCL: %v", name, err)
		}
	}
	testCollective(t, s)
}

// TestKilled kills a worker in the middle of a call, and in the middle of a collective operation.
func TestKilled(t *testing.T) {
	need(t)
	other := open(t, disco.Processes, 2, disco.Options{})
	for _, name := range []string{"call", "collective operation"} {
		s := open(t, disco.Processes, 3, disco.Options{CloseLimit: nativetest.Patience(time.Second)})
		pid := must[int64](t)(tvmffi.As[int64](must[tvmffi.Any](t)(call(t, s, "disco.test.pid").Get(t.Context(), 1))))
		d := call(t, s, "disco.test.sleepers", 1, 20_000)
		if name != "call" { // the others wait for worker 1
			d = must[*disco.DRef](t)(s.Empty(tvmffi.Float32, 4))
			if err := s.Allreduce(d, d, disco.Sum, false); err != nil {
				t.Fatal(err)
			}
		}
		got := make(chan error)
		go func() { _, err := d.Get(context.Background(), 1); got <- err }()
		time.Sleep(50 * time.Millisecond)
		killed := time.Now()
		if err := syscall.Kill(int(pid), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{<-got, s.Sync(t.Context()), func() error { _, err := s.Call(s.Function("disco.test.pid")); return err }()} {
			var worker *disco.WorkerError
			var exit *disco.ExitError
			if !errors.As(err, &worker) || worker.Worker != 1 || !errors.As(err, &exit) || exit.Status != "signal: killed" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
		if took := time.Since(killed); took > nativetest.Patience(2*time.Second) {
			t.Errorf("%s: it took %v", name, took)
		}
		if _, err := s.Call(s.Function("disco.test.pid")); !errors.Is(err, disco.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
	}
	wantAll(t, other, call(t, other, "disco.test.add", 2, 2), int64(4))
}

// TestExit lets the process of a worker end by itself, after it has printed something.
func TestExit(t *testing.T) {
	need(t)
	var out output
	s := open(t, disco.Processes, 2, disco.Options{Output: &out})
	call(t, s, "disco.test.print", "hello")
	wantAll(t, s, call(t, s, "disco.test.add", 1, 1), int64(2))
	call(t, s, "disco.test.leave", 1, 7)
	err := s.Sync(t.Context())
	var exit *disco.ExitError
	if !errors.As(err, &exit) || exit.Status != "exit status 7" || exit.Output != "HELLO" {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := out.String(); got != "[worker 1] hello\n[worker 1] HELLO\n" {
		t.Errorf("the controller got %q", got)
	}
}

// TestBrokenStart begins sessions whose workers cannot begin, or of impossible sizes.
func TestBrokenStart(t *testing.T) {
	need(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := disco.Processes(ctx, 2, disco.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	t.Setenv("DISCO_TEST_BROKEN", "yes") // for the workers: they have the environment of this process, which has registered its funcs
	t.Setenv("TVMFFI_CHILD", "another role")
	start := time.Now()
	_, err := disco.Processes(t.Context(), 3, disco.Options{Output: io.Discard})
	var exit *disco.ExitError
	if took := time.Since(start); !errors.As(err, &exit) || exit.Status != "exit status 1" || !strings.Contains(exit.Output, "the func passed to Main: this worker cannot begin") || took > nativetest.Patience(3*time.Second) {
		t.Errorf("after %v: %v", took, err)
	}
	for _, o := range []struct{ workers, groups int }{{0, 1}, {3, 2}, {2, -1}} {
		if _, err := disco.Threads(t.Context(), o.workers, disco.Options{Groups: o.groups}); err == nil || !strings.Contains(err.Error(), "the groups divide the workers") {
			t.Errorf("%d workers in %d groups: %v", o.workers, o.groups, err)
		}
	}
}

// TestSlow gives up waiting for a worker, and then finds it again.
func TestSlow(t *testing.T) {
	need(t)
	s := open(t, disco.Processes, 2, disco.Options{})
	file := filepath.Join(t.TempDir(), "wait")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := call(t, s, "disco.test.wait", file)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Get(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get: %v", err)
	}
	if err := s.Sync(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Sync: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantAll(t, s, call(t, s, "disco.test.add", 2, 2), int64(4))
}

// TestHanging closes sessions whose workers are in calls that last.
func TestHanging(t *testing.T) {
	need(t)
	limit := nativetest.Patience(500 * time.Millisecond)
	hanging, err := disco.Processes(t.Context(), 3, disco.Options{CloseLimit: limit})
	if err != nil {
		t.Fatal(err)
	}
	call(t, hanging, "disco.test.sleepers", 1, 120_000)
	start := time.Now()
	err = hanging.Close()
	if took := time.Since(start); took > limit+nativetest.Patience(time.Second) || err == nil || err.Error() != fmt.Sprintf("worker 1: its process did not end in %v and was killed", limit) {
		t.Errorf("after %v: %v", took, err)
	}
	threads, err := disco.Threads(t.Context(), 2, disco.Options{CloseLimit: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "wait") // the end of the test removes it
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, threads, "disco.test.wait", file)
	if err := threads.Close(); err == nil || !strings.Contains(err.Error(), "a thread cannot be killed") {
		t.Errorf("%v", err)
	}
}

// TestForgotten lets the collector release what a program forgets.
func TestForgotten(t *testing.T) {
	need(t)
	s := open(t, disco.Processes, 2, disco.Options{})
	kept := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, 1))
	defer kept.Release()
	shared.Store(kept)
	all := make([]*disco.DRef, 100)
	for i := range all {
		all[i] = call(t, s, "disco.test.shared")
	}
	if err := s.Sync(t.Context()); err != nil || memstat.UseCount(kept) < 100 {
		t.Fatalf("%d uses, %v", memstat.UseCount(kept), err)
	}
	runtime.KeepAlive(all)
	for late := time.Now().Add(nativetest.Patience(5 * time.Second)); time.Now().Before(late); {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if err := s.Sync(t.Context()); err != nil { // releases
			t.Fatal(err)
		}
		if memstat.UseCount(kept) < 10 {
			return
		}
	}
	t.Errorf("the workers keep %d values that nobody can reach", memstat.UseCount(kept))
}
