//go:build tvm

package vm_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// workers is the number of threads that run the kernel of the model "threads": TVM's, with the machine's.
const workers = 2

// ran calls a function whose kernel says which threads run it, and adds them to ids.
func ran(t testing.TB, f *vm.Function, x *tvmffi.Tensor, ids map[int32]bool) {
	y, err := f.CallTensor(x)
	if err != nil {
		t.Error(err)
		return
	}
	defer y.Release()
	threads, err := tvmffi.Slice[int32](y)
	if err != nil {
		t.Error(err)
		return
	}
	for _, id := range threads {
		ids[id] = true
	}
}

// threads returns a machine for the model "threads", and a tensor for its main.
func threads(t testing.TB) (*vm.Machine, *tvmffi.Tensor) {
	t.Setenv("TVM_NUM_THREADS", strconv.Itoa(workers))
	_, m := load(t, nativetest.Model(t, "testdata/small.py", "threads"))
	x, err := tvmffi.NewTensor(tvmffi.Int32, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Release)
	return m, x
}

// gone waits until none of the threads exists.
func gone(ids map[int32]bool, meanwhile func()) {
	for id := range ids {
		for {
			if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(int(id))); err != nil {
				break
			}
			meanwhile()
		}
	}
}

// TestThread: the calls of 16 goroutines, each on a thread of its own, run on one thread and one pool of
// workers, which end with the machine.
func TestThread(t *testing.T) {
	m, x := threads(t)
	leaktest.Check(t)
	main := find(t, m, "main")
	var all sync.WaitGroup
	var mu sync.Mutex
	ids := map[int32]bool{}
	for range 16 {
		all.Go(func() {
			runtime.LockOSThread()
			for range 8 {
				seen := map[int32]bool{}
				ran(t, main, x, seen)
				mu.Lock()
				for id := range seen {
					ids[id] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(ids) != workers {
		t.Errorf("%d threads ran the kernel, expected %d", len(ids), workers)
	}
	m.Close()
	gone(ids, runtime.Gosched)
}

// TestThread_collected: the thread of a machine that nobody closes ends when the collector finds the machine.
func TestThread_collected(t *testing.T) {
	e, _ := load(t, nativetest.Model(t, "testdata/small.py", "threads"))
	_, x := threads(t)
	ids := map[int32]bool{}
	func() {
		m, err := e.NewMachine(vm.Naive)
		if err != nil {
			t.Fatal(err)
		}
		ran(t, find(t, m, "main"), x, ids)
	}()
	if len(ids) != workers {
		t.Errorf("%d threads ran the kernel, expected %d", len(ids), workers)
	}
	gone(ids, runtime.GC)
}

// TestDo: the func of Do runs on the thread of the machine, its calls do not wait, and its ends are those of Do.
func TestDo(t *testing.T) {
	m, x := threads(t)
	main := find(t, m, "main")
	ids := map[int32]bool{}
	ran(t, main, x, ids)
	ctx := t.Context()
	if err := m.Do(ctx, func() error {
		ran(t, main, x, ids)
		return m.Do(ctx, func() error { ran(t, main, x, ids); return nil })
	}); err != nil || len(ids) != workers {
		t.Errorf("%v, %d threads", err, len(ids))
	}
	stop := errors.New("stop")
	if err := m.Do(ctx, func() error { return stop }); err != stop {
		t.Errorf("the error is %v", err)
	}
	func() {
		defer func() {
			if p := recover(); p != stop {
				t.Errorf("the panic is %v", p)
			}
		}()
		m.Do(ctx, func() error { panic(stop) })
		t.Error("Do returned after a panic")
	}()
	for range 3 { // the thread goes on after each of them
		ended := make(chan bool)
		go func() {
			defer close(ended)
			m.Do(ctx, func() error { runtime.Goexit(); return nil })
			t.Error("Do returned after a Goexit")
		}()
		<-ended
		ran(t, main, x, ids)
	}
	if len(ids) != workers {
		t.Errorf("%d threads ran the kernel, expected %d: the thread changed", len(ids), workers)
	}
}

// TestDo_waits: Do waits for its turn as long as its context lasts.
func TestDo_waits(t *testing.T) {
	m, x := threads(t)
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := m.Do(ctx, func() error {
		ended := make(chan error)
		go func() { ended <- m.Do(ctx, func() error { return nil }) }()
		cancel(why)
		if err := <-ended; !errors.Is(err, why) {
			t.Errorf("while another has the turn: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := m.Do(ctx, func() error { t.Error("f ran"); return nil }); !errors.Is(err, why) {
		t.Errorf("with a context that has ended: %v", err)
	}
	ran(t, find(t, m, "main"), x, map[int32]bool{})
}

// TestNested: a Go func that a model calls calls the machine of the model, and closes it.
func TestNested(t *testing.T) {
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	var main *vm.Function
	var m *vm.Machine
	depth, refused := 0, errors.New("refused")
	if err := tvmffi.Load(); err != nil {
		t.Fatal(err)
	}
	if err := tvmffi.Register("test.vm.back", func(x, y *tvmffi.Tensor) error {
		switch depth++; depth {
		case 1, 2, 5:
			if depth == 5 {
				m.Close() // which waits for the end of the outermost call
			}
			inner, err := main.CallTensor(x)
			if err != nil {
				return err
			}
			defer inner.Release()
			return tvmffi.Copy(y, inner)
		case 4:
			return refused
		}
		return tvmffi.Copy(y, x)
	}); err != nil {
		t.Fatal(err)
	}
	defer tvmffi.Unregister("test.vm.back")
	_, m = load(t, nativetest.Model(t, "testdata/small.py", "back"))
	main = find(t, m, "main")
	x, err := tvmffi.NewTensor(tvmffi.Float32, 2)
	if err == nil {
		err = tvmffi.CopyFrom(x, []float32{3, 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	y, err := main.CallTensor(x)
	near(t, "through two more calls", numbers(t, y, err), []float32{3, 4})
	if _, err := main.Call(x); !errors.Is(err, refused) {
		t.Errorf("the error of the Go func is %v", err)
	}
	y, err = main.CallTensor(x)
	near(t, "while the machine is closed", numbers(t, y, err), []float32{3, 4})
	if _, err := main.Call(x); depth != 6 || err == nil || !strings.Contains(err.Error(), "the machine is closed") {
		t.Errorf("after the call: %v, %d calls", err, depth)
	}
}

// TestCallAllocations: a call on the path of a token allocates nothing in Go, and its result can be read in place.
func TestCallAllocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	_, m := load(t, nativetest.Model(t, "testdata/small.py", "place"))
	tensor := func(numbers ...float32) *tvmffi.Tensor {
		x, err := tvmffi.NewTensor(tvmffi.Float32, int64(len(numbers)))
		if err == nil {
			err = tvmffi.CopyFrom(x, numbers)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Release)
		return x
	}
	x, y := tensor(1, 2, 3, 4), tensor(0, 0, 0, 0)
	in, err := tvmffi.Slice[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tvmffi.Slice[float32](y)
	if err != nil {
		t.Fatal(err)
	}
	place := find(t, m, "main")
	call := func() error { _, err := place.Call(x, y); return err }
	ctx := t.Context()
	_, other := load(t, nativetest.Model(t, "testdata/small.py", "same"))
	same := find(t, other, "main")
	for name, test := range map[string]struct {
		call func() error
		most float64
	}{
		"a number as the result": {call, 0},
		"in Do":                  {func() error { return m.Do(ctx, call) }, 0},
		"a tensor as the result": {func() error {
			z, err := same.CallTensor(x)
			if err == nil {
				z.Release()
			}
			return err
		}, 1},
	} {
		n := testing.AllocsPerRun(200, func() {
			in[0]++
			if err := test.call(); err != nil {
				t.Fatal(err)
			}
			if name != "a tensor as the result" && (out[0] != 2*in[0] || out[3] != 8) {
				t.Fatalf("%s: the result is %v", name, out)
			}
		})
		if n > test.most {
			t.Errorf("%s makes %v allocations, expected at most %v", name, n, test.most)
		}
	}
	runtime.KeepAlive(x)
	runtime.KeepAlive(y)
}
