//go:build tvm

package disco_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestNothingLeft begins and ends sessions of every kind, also with failures, and counts what the
// process has then.
func TestNothingLeft(t *testing.T) {
	need(t)
	t.Setenv("TMPDIR", t.TempDir()) // other processes use the common one
	options := disco.Options{CloseLimit: nativetest.Patience(5 * time.Second)}
	work := func(s *disco.Session) {
		d := call(t, s, "disco.test.list")
		for i := range s.Workers() {
			v := must[tvmffi.Any](t)(d.Get(t.Context(), i))
			v.Release()
		}
		call(t, s, "disco.test.fail", 1).Release()
		if err := s.Sync(t.Context()); err == nil {
			t.Error("no failure")
		}
		host := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, int64(s.Workers()), 1000))
		defer host.Release()
		part := must[*disco.DRef](t)(s.Scatter(host))
		back := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, 1000))
		defer back.Release()
		if err := errors.Join(s.Allreduce(part, part, disco.Sum, false), s.CopyFromWorker0(t.Context(), back, part)); err != nil {
			t.Error(err)
		}
		v := must[tvmffi.Any](t)(part.Get(t.Context(), s.Workers()-1))
		v.Release()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	cycle := func() {
		for _, begin := range []begin{disco.Threads, disco.Processes} {
			s := must[*disco.Session](t)(begin(t.Context(), 3, options))
			work(s)
		}
		s := must[*disco.Session](t)(disco.Processes(t.Context(), 2, disco.Options{}))
		call(t, s, "disco.test.leave", 1, 1)
		if err := errors.Join(s.Sync(context.Background())); err == nil {
			t.Error("no exit")
		}
		s.Close()
		s, nodes := sockets(t, 2, 2, disco.Options{})
		work(s)
		nodes[0].wait(t)
	}
	cycle()
	before := settled()
	leaktest.Check(t)
	for range 3 {
		cycle()
	}
	after := inventory()
	for late := time.Now().Add(nativetest.Patience(5 * time.Second)); after != before && time.Now().Before(late); after = inventory() {
		time.Sleep(10 * time.Millisecond)
	}
	if after != before {
		stacks := make([]byte, 1<<16)
		t.Errorf("before:\n%s\nafter:\n%s\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	}
}

// settled returns the inventory when it has been the same for a while: goroutines that have done
// everything end a moment later.
func settled() (last string) {
	same := 0
	for range 200 {
		time.Sleep(nativetest.Patience(10 * time.Millisecond))
		now := inventory()
		if same++; now != last {
			last, same = now, 0
		}
		if same == 20 {
			break
		}
	}
	return last
}

// inventory counts what this process has.
func inventory() string {
	files, _ := filepath.Glob("/proc/self/fd/*")
	var open []string
	for _, f := range files {
		target, _ := os.Readlink(f)
		open = append(open, strings.Split(target, ":")[0])
	}
	children := 0
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		children += len(strings.Fields(string(text)))
	}
	temporary, _ := os.ReadDir(os.TempDir())
	return fmt.Sprintf("%d files %v, %d processes, %d goroutines, %d temporary", len(files), open, children, runtime.NumGoroutine(), len(temporary))
}

// TestCopyRefused gives back the tensor of a copy that a closed session refuses.
func TestCopyRefused(t *testing.T) {
	need(t)
	s := open(t, disco.Threads, 2, disco.Options{})
	on0 := must[*disco.DRef](t)(s.EmptyOnWorker0(tvmffi.Float32, 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	host := must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, 1))
	defer host.Release()
	for _, err := range []error{s.CopyToWorker0(host, on0), s.CopyFromWorker0(t.Context(), host, on0)} {
		if !errors.Is(err, disco.ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	}
	if n := memstat.UseCount(host); n != 1 {
		t.Errorf("the tensor has %d references, want 1", n)
	}
}
