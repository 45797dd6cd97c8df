package cuda_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// greens counts the green contexts of the fake.
func greens(t *testing.T) int32 { return callFake(t, "fakecuda_greens") }

func TestSMs(t *testing.T) {
	f := load(t)
	all := must[cuda.SMs](t)(cuda.Device(0).SMs())
	if all.Count() != 132 || all.LeastGroup() != 8 || all.Alignment() != 8 || all.Device() != 0 {
		t.Errorf("%d multiprocessors, groups of %d and %d, on %s", all.Count(), all.LeastGroup(), all.Alignment(), all.Device())
	}
	for _, c := range []struct {
		n, least                int
		options                 []cuda.SplitOption
		groups, size, left, bit int
	}{
		{2, 16, nil, 2, 16, 100, 0},
		{3, 17, nil, 3, 24, 60, 0}, // rounded up
		{132, 0, nil, 16, 8, 4, 0}, // as many as there are
		{10, 60, nil, 2, 64, 4, 0},
		{4, 5, []cuda.SplitOption{cuda.SplitFine()}, 4, 6, 108, 1},
		{1, 8, []cuda.SplitOption{cuda.SplitFine(), cuda.SplitForClusters()}, 1, 8, 124, 3},
	} {
		f.reset()
		groups, rest, err := all.Split(c.n, c.least, c.options...)
		ok(t, err)
		f.expect(fmt.Sprintf("cuDevSmResourceSplitByCount %d 132 %d %d", c.n, c.bit, c.least))
		if len(groups) != c.groups || groups[0].Count() != c.size || rest.Count() != c.left {
			t.Errorf("split in %d of %d: %d groups of %d, rest %d", c.n, c.least, len(groups), groups[0].Count(), rest.Count())
		}
	}
	for _, c := range [][2]int{{0, 8}, {-1, 8}, {133, 0}, {1, -1}, {1, 133}} {
		_, _, err := all.Split(c[0], c[1])
		wantError(t, err, tvmffi.ErrValue, fmt.Sprintf("split of 132 multiprocessors of cuda:0: %d groups of at least %d are out of range", c[0], c[1]))
	}
	groups, _, err := all.Split(1, 8)
	ok(t, err)
	_, _, err = groups[0].Split(1, 4)
	wantDriverError(t, err, 915, "cuDevSmResourceSplitByCount")
	wantError(t, err, nil, "1 groups of 4 multiprocessors of cuda:0")
	_, _, err = cuda.SMs{}.Split(1, 1)
	wantError(t, err, tvmffi.ErrValue, "a zero SMs stands for nothing, in the call of SMs.Split: make one with Device.SMs")
	_, err = cuda.Device(5).SMs()
	wantError(t, err, tvmffi.ErrValue, "there is no device")
	f.failing("cuDeviceGetDevResource", int(cuda.ErrUnknown), 0)
	_, err = cuda.Device(1).SMs()
	wantDriverError(t, err, cuda.ErrUnknown, "cuDeviceGetDevResource")
}

// TestGreenContext runs kernels in streams of two green contexts. The fake checks handles and order; whether the kernels
// keep to their multiprocessors only a GPU can show.
func TestGreenContext(t *testing.T) {
	f := load(t)
	pinThread(t, f)
	const d = cuda.Device(0)
	k := kernel(t, module(t, d), "add_one")
	all := must[cuda.SMs](t)(d.SMs())
	groups, rest, err := all.Split(2, 32)
	ok(t, err)
	var contexts []*cuda.GreenContext
	for _, sms := range [][]cuda.SMs{{groups[0]}, {groups[1], rest}} {
		c := must[*cuda.GreenContext](t)(d.NewGreenContext(sms...))
		contexts = append(contexts, c)
	}
	if a, b := contexts[0].Multiprocessors(), contexts[1].Multiprocessors(); a != 32 || b != 100 || contexts[0].Device() != d {
		t.Errorf("contexts of %d and %d multiprocessors on %s", a, b, contexts[0].Device())
	}
	if n := d.Live().GreenContexts; n != 2 || greens(t) != 2 {
		t.Errorf("%d green contexts are live, %d in the driver", n, greens(t))
	}
	wantError(t, d.Release(), tvmffi.ErrValue, "green contexts: 2")
	x, y, z := must[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1})), must[*cuda.Memory](t)(d.Alloc(4)), must[*cuda.Memory](t)(d.Alloc(4))
	defer x.Free()
	defer y.Free()
	defer z.Free()
	ok(t, d.Synchronize())
	var made []*cuda.Stream
	for i, c := range contexts {
		st := must[*cuda.Stream](t)(c.NewStream(cuda.Priority(-i)))
		made = append(made, st)
		if apart, err := st.NonBlocking(); !apart || err != nil || st.Device() != d {
			t.Errorf("NonBlocking is %t (%v) on %s", apart, err, st.Device())
		}
		if p, err := st.Priority(); p != -i || err != nil {
			t.Errorf("priority %d (%v)", p, err)
		}
	}
	launch := func(st *cuda.Stream, from, to *cuda.Memory) {
		t.Helper()
		ok(t, k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: st}, from, to, uint32(1)))
	}
	f.reset()
	launch(made[0], x, y)
	if calls := only(f.calls(), "cuLaunchKernel"); len(calls) != 1 || !strings.Contains(calls[0].args, fmt.Sprintf("stream=%x ", made[0].Pointer().Address)) {
		t.Errorf("calls %q", calls)
	}
	done := must[*cuda.Event](t)(d.NewEvent())
	ok(t, done.Record(made[0]))
	ok(t, made[1].Wait(done))
	launch(made[1], y, z)
	ok(t, made[1].Synchronize())
	got := make([]float32, 1)
	ok(t, cuda.CopyOut(got, z))
	if got[0] != 3 {
		t.Errorf("the result is %v, want 3", got)
	}
	ok(t, done.Close())

	wantError(t, contexts[0].Close(), tvmffi.ErrValue, "the green context on cuda:0 has 1 open streams: close them first")
	ok(t, made[0].Close())
	ok(t, made[0].Close())
	ok(t, contexts[0].Close())
	ok(t, contexts[0].Close())
	_, err = contexts[0].NewStream()
	wantError(t, err, tvmffi.ErrValue, "the green context on cuda:0 is closed")
	ok(t, made[1].Close())
	ok(t, contexts[1].Close())
	if n := d.Live().GreenContexts; n != 0 || greens(t) != 0 {
		t.Errorf("%d green contexts are live, %d in the driver", n, greens(t))
	}
}

func TestGreenContextRefused(t *testing.T) {
	f := load(t)
	pinThread(t, f)
	const d = cuda.Device(0)
	all, other := must[cuda.SMs](t)(d.SMs()), must[cuda.SMs](t)(cuda.Device(1).SMs())
	_, rest, err := all.Split(4, 33) // 40 each, no rest of 0
	ok(t, err)
	_, none, err := other.Split(20, 2)
	ok(t, err)
	if none.Count() != 0 || rest.Count() == 0 {
		t.Fatalf("the rests have %d and %d multiprocessors", rest.Count(), none.Count())
	}
	for text, sms := range map[string][]cuda.SMs{
		"there are no multiprocessors: pass groups": nil,
		"a zero SMs":                                    {{}},
		"the multiprocessors 1 are of cuda:1":           {all, other},
		"the set of multiprocessors of cuda:1 is empty": {none},
	} {
		_, err := d.NewGreenContext(sms...)
		wantError(t, err, tvmffi.ErrValue, text)
	}
	_, err = d.NewGreenContext(all, rest) // not of one split
	wantDriverError(t, err, 915, "cuDevResourceGenerateDesc")
	_, err = cuda.Device(8).NewGreenContext(all)
	wantError(t, err, tvmffi.ErrValue, "there is no device")
	for _, name := range []string{"cuDevResourceGenerateDesc", "cuGreenCtxCreate"} {
		f.failing(name, int(cuda.ErrNotSupported), 0)
		_, err := d.NewGreenContext(all)
		wantDriverError(t, err, cuda.ErrNotSupported, name)
	}
	c := must[*cuda.GreenContext](t)(d.NewGreenContext(all))
	f.failing("cuGreenCtxStreamCreate", int(cuda.ErrOutOfMemory), 0)
	_, err = c.NewStream()
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuGreenCtxStreamCreate")
	wantError(t, err, nil, "a stream in the green context on cuda:0")
	f.failing("cuGreenCtxDestroy", int(cuda.ErrUnknown), 0)
	wantDriverError(t, c.Close(), cuda.ErrUnknown, "cuGreenCtxDestroy")
	ok(t, c.Close()) // whatever the driver says, there is nothing left to close
	ok(t, (*cuda.GreenContext)(nil).Close())
	ok(t, new(cuda.GreenContext).Close())
	_, err = (*cuda.GreenContext)(nil).NewStream()
	wantError(t, err, tvmffi.ErrValue, "the green context is nil")
	_, err = new(cuda.GreenContext).NewStream()
	wantError(t, err, tvmffi.ErrValue, "a zero GreenContext stands for nothing")
	dropGreens(t)
}

// dropGreens destroys what the failed call above has left in the fake.
func dropGreens(t *testing.T) {
	t.Helper()
	if n := callFake(t, "fakecuda_drop_greens"); n != 1 {
		t.Errorf("%d green contexts were left, want 1", n)
	}
}

// TestGreenContextThreads closes a stream while another goroutine closes the context: the driver, which complains of a
// context that ends before its streams, sees the one after the other.
func TestGreenContextThreads(t *testing.T) {
	load(t)
	const d = cuda.Device(0)
	all := must[cuda.SMs](t)(d.SMs())
	for range 100 {
		c := must[*cuda.GreenContext](t)(d.NewGreenContext(all))
		var streams [3]*cuda.Stream
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				var err error
				if streams[i], err = c.NewStream(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, st := range streams {
			wg.Go(func() {
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		for c.Close() != nil {
			runtime.Gosched()
		}
		wg.Wait()
	}
}
