package gputest

import (
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// adder adds one to a number again and again, each time by a launch.
type adder struct {
	t *testing.T
	k *cuda.Kernel
	x *cuda.Memory
}

func newAdder(t *testing.T, k *cuda.Kernel) *adder {
	x, err := k.Device().Alloc(4)
	ok(t, err)
	t.Cleanup(func() { ok(t, x.Free()) })
	ok(t, cuda.Fill(x, float32(0), nil))
	ok(t, k.Device().Synchronize())
	return &adder{t, k, x}
}

func (a *adder) launch(c cuda.LaunchConfig) {
	a.t.Helper()
	c.Grid, c.Block = cuda.Dim(1), cuda.Dim(32)
	ok(a.t, a.k.Launch(c, a.x, a.x, int32(1)))
}

func (a *adder) want(v float32) {
	a.t.Helper()
	ok(a.t, a.k.Device().Synchronize())
	got := make([]float32, 1)
	ok(a.t, cuda.CopyOut(got, a.x))
	if got[0] != v {
		a.t.Errorf("the number is %v, want %v", got[0], v)
	}
}

func stream(t *testing.T, options ...cuda.StreamOption) *cuda.Stream {
	st, err := cuda.Device(0).NewStream(options...)
	ok(t, err)
	t.Cleanup(func() { ok(t, st.Close()) })
	return st
}

func TestStreamSettings(t *testing.T) {
	const d = cuda.Device(0)
	a := newAdder(t, kernel(t, prepare(t)[0], "add_one"))
	least, greatest, err := d.PriorityRange()
	ok(t, err)
	if least < greatest {
		t.Errorf("priorities %d to %d: the greatest is the lowest number", greatest, least)
	}
	st := stream(t, cuda.Priority(greatest-10), cuda.NonBlocking())
	p, err := st.Priority()
	ok(t, err)
	apart, err := st.NonBlocking()
	ok(t, err)
	if p != greatest || !apart {
		t.Errorf("priority %d, non-blocking %t, want %d and true", p, apart, greatest)
	}
	_, active, err := d.Schedule()
	ok(t, err)
	if !active {
		t.Error("the context is in use and not active")
	}
	ok(t, st.SetSchedule(cuda.ScheduleBlock))
	if s, err := st.Schedule(); s != cuda.ScheduleBlock || err != nil {
		t.Errorf("schedule %d (%v)", s, err)
	}
	c := cuda.LaunchConfig{Stream: st, Priority: greatest}
	most, err := d.Attribute(cuda.MaxAccessWindow)
	ok(t, err)
	if most > 0 {
		_, err := d.SetLimit(cuda.LimitPersistingL2, 1<<20)
		ok(t, err)
		c.Window = &cuda.AccessWindow{Memory: a.x, HitRatio: 1, Hit: cuda.AccessPersisting}
		ok(t, st.SetAccessWindow(*c.Window))
		w, err := st.AccessWindow()
		ok(t, err)
		if w.Memory == nil || w.Hit != cuda.AccessPersisting {
			t.Errorf("the window is %+v", w)
		}
	} else {
		t.Run("access windows", func(t *testing.T) { unsupported(t, "access windows") })
	}
	a.launch(c)
	ok(t, st.Synchronize())
	a.launch(cuda.LaunchConfig{Stream: st})
	a.want(2)
	if most > 0 {
		ok(t, st.SetAccessWindow(cuda.AccessWindow{}))
		ok(t, d.ResetPersistingL2())
	}
	for _, l := range []cuda.Limit{cuda.LimitStack, cuda.LimitPrintf, cuda.LimitHeap, cuda.LimitL2Fetch} {
		v, err := d.Limit(l)
		ok(t, err)
		set, err := d.SetLimit(l, v)
		ok(t, err)
		if set != v {
			t.Errorf("limit %d: %d was made %d", l, v, set)
		}
	}
	ok(t, d.StartProfiler())
	ok(t, d.StopProfiler())
}

func TestWaitValues(t *testing.T) {
	const d = cuda.Device(0)
	a := newAdder(t, kernel(t, prepare(t)[0], "add_one"))
	first, second := stream(t, cuda.NonBlocking()), stream(t, cuda.NonBlocking())
	word, err := d.Alloc(16)
	ok(t, err)
	host, err := cuda.AllocHost[uint32](d, 1)
	ok(t, err)
	ok(t, cuda.Fill(word, uint32(0), nil))
	host.Slice()[0] = 0
	ok(t, d.Synchronize())
	// The second stream goes on when the first one has written, which waits for the program.
	ok(t, cuda.WaitValue(host, 0, uint32(1), cuda.WaitEqual, first))
	a.launch(cuda.LaunchConfig{Stream: first})
	ok(t, cuda.WriteValue(word, 4, uint32(3), first))
	ok(t, cuda.WaitValue(word, 4, uint32(3), cuda.WaitGreaterOrEqual, second))
	a.launch(cuda.LaunchConfig{Stream: second})
	if done, err := second.Done(); done || err != nil {
		t.Errorf("the second stream is done (%v)", err)
	}
	atomic.StoreUint32(&host.Slice()[0], 1)
	ok(t, second.Synchronize())
	a.want(2)
	wide, err := d.Attribute(cuda.WaitValue64)
	ok(t, err)
	if wide == 0 {
		t.Run("8 bytes", func(t *testing.T) { unsupported(t, "waits for words of 8 bytes") })
	} else {
		ok(t, cuda.WriteValue(word, 8, uint64(1)<<40, first))
		ok(t, cuda.WaitValue(word, 8, uint64(1)<<40, cuda.WaitAnd, first))
		ok(t, first.Synchronize())
	}
	ok(t, host.Free())
	ok(t, word.Free())
}

// TestGreenContexts runs kernels in a part of the device, where the driver and the device have parts.
func TestGreenContexts(t *testing.T) {
	const d = cuda.Device(0)
	a := newAdder(t, kernel(t, prepare(t)[0], "add_one"))
	all, err := d.SMs()
	supported(t, "green contexts", err)
	groups, rest, err := all.Split(1, 8)
	supported(t, "green contexts", err)
	t.Logf("%d multiprocessors: a group of %d, a rest of %d", all.Count(), groups[0].Count(), rest.Count())
	c, err := d.NewGreenContext(groups[0])
	supported(t, "green contexts", err)
	t.Cleanup(func() { ok(t, c.Close()) })
	st, err := c.NewStream()
	supported(t, "streams of green contexts", err)
	t.Cleanup(func() { ok(t, st.Close()) })
	a.launch(cuda.LaunchConfig{Stream: st})
	ok(t, st.Synchronize())
	a.want(1)
	// Whether an event of the device can be recorded in such a stream is what NVIDIA's text leaves open.
	e, err := d.NewEvent()
	ok(t, err)
	a.launch(cuda.LaunchConfig{Stream: st})
	ok(t, e.Record(st))
	other := stream(t, cuda.NonBlocking())
	ok(t, other.Wait(e))
	a.launch(cuda.LaunchConfig{Stream: other})
	ok(t, other.Synchronize())
	a.want(3)
	ok(t, e.Close())
}
