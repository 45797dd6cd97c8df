package cuda_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// rig is what the programs of TestMistakes share.
type rig struct {
	t            *testing.T
	f            *fake
	addOne       *cuda.Kernel // of device 0
	many         *cuda.Kernel // of device 0, of which the fake knows the parameters only
	there        *cuda.Kernel // add_one of device 1
	a, b         *cuda.Stream // of device 0, which do not wait for the default stream
	blocking     *cuda.Stream // of device 0, which does
	far          *cuda.Stream // of device 1
	done, unused *cuda.Event  // of device 0
	h, h2        *cuda.Host[float32]
	x, y         *cuda.Memory // of device 0, 4 numbers each; x is 1, 2, 3, 4
	config       cuda.LaunchConfig
}

func newRig(t *testing.T, f *fake) *rig {
	m, m1 := module(t, 0), module(t, 1)
	r := &rig{t: t, f: f, addOne: kernel(t, m, "add_one"), many: kernel(t, m, "many"), there: kernel(t, m1, "add_one"), config: cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}}
	stream := func(d cuda.Device, o ...cuda.StreamOption) *cuda.Stream {
		st := must[*cuda.Stream](t)(d.NewStream(o...))
		t.Cleanup(func() { ok(t, st.Close()) })
		return st
	}
	r.a, r.b, r.blocking, r.far = stream(0), stream(0), stream(0, cuda.Blocking()), stream(1)
	for _, e := range []**cuda.Event{&r.done, &r.unused} {
		*e = must[*cuda.Event](t)(cuda.Device(0).NewEvent())
		t.Cleanup(func() { ok(t, (*e).Close()) })
	}
	r.h, r.h2 = must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 4)), must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](0, 4))
	r.x, r.y = must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2, 3, 4})), must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{0, 0, 0, 0}))
	t.Cleanup(func() { ok(t, errors.Join(r.h.Free(), r.h2.Free(), r.x.Free(), r.y.Free())) })
	return r
}

// begin gives all memory its first values, and waits.
func (r *rig) begin() {
	ok(r.t, cuda.Device(0).Synchronize())
	ok(r.t, cuda.Device(1).Synchronize())
	copy(r.h.Slice(), []float32{10, 20, 30, 40})
	clear(r.h2.Slice())
	ok(r.t, cuda.CopyIn(r.x, []float32{1, 2, 3, 4}))
	ok(r.t, cuda.CopyIn(r.y, make([]float32, 4)))
}

// launch adds one on a stream of device 0.
func (r *rig) launch(st *cuda.Stream, from, to any) { r.launchN(st, from, to, 4) }

func (r *rig) launchN(st *cuda.Stream, from, to any, n int) {
	r.t.Helper()
	c := r.config
	c.Stream = st
	ok(r.t, r.addOne.Launch(c, from, to, n))
}

// pass launches the kernel that does nothing, on a stream of device 0.
func (r *rig) pass(st *cuda.Stream, p any) {
	r.t.Helper()
	c := r.config
	c.Stream = st
	ok(r.t, r.many.Launch(c, 1, 2, 3, 4, float32(5), 6.0, p, [2]uint64{}))
}

// out reads memory after all work of device 0.
func (r *rig) out(m *cuda.Memory) []float32 {
	r.t.Helper()
	ok(r.t, cuda.Device(0).Synchronize())
	got := make([]float32, 4)
	ok(r.t, cuda.CopyOut(got, m))
	return got
}

// a mistake is a program that is right, or with wrong makes one mistake with the order or the life of something.
type mistake struct {
	name string
	want []float32
	run  func(r *rig, wrong bool) []float32
}

var mistakes = []mistake{
	{"a stream that does not wait for another one", []float32{3, 4, 5, 6}, func(r *rig, wrong bool) []float32 {
		r.launch(r.a, r.x, r.x)
		ok(r.t, r.done.Record(r.a))
		if !wrong {
			ok(r.t, r.b.Wait(r.done))
		}
		r.launch(r.b, r.x, r.y)
		return r.out(r.y)
	}},
	{"an event recorded before the work", []float32{3, 4, 5, 6}, func(r *rig, wrong bool) []float32 {
		if wrong {
			ok(r.t, r.done.Record(r.a))
		}
		r.launch(r.a, r.x, r.x)
		if !wrong {
			ok(r.t, r.done.Record(r.a))
		}
		ok(r.t, r.b.Wait(r.done))
		r.launch(r.b, r.x, r.y)
		return r.out(r.y)
	}},
	{"a wait for an event that was never recorded", []float32{3, 4, 5, 6}, func(r *rig, wrong bool) []float32 {
		r.launch(r.a, r.x, r.x)
		ok(r.t, r.done.Record(r.a))
		e := r.done
		if wrong {
			e = r.unused
		}
		ok(r.t, r.b.Wait(e))
		r.launch(r.b, r.x, r.y)
		return r.out(r.y)
	}},
	{"an event recorded on the wrong stream", []float32{3, 4, 5, 6}, func(r *rig, wrong bool) []float32 {
		r.launch(r.a, r.x, r.x)
		st := r.a
		if wrong {
			st = r.b
		}
		ok(r.t, r.done.Record(st))
		ok(r.t, r.b.Wait(r.done))
		r.launch(r.b, r.x, r.y)
		return r.out(r.y)
	}},
	{"a wait after the work", []float32{3, 4, 5, 6}, func(r *rig, wrong bool) []float32 {
		r.launch(r.a, r.x, r.x)
		ok(r.t, r.done.Record(r.a))
		if wrong {
			r.launch(r.b, r.x, r.y)
		}
		ok(r.t, r.b.Wait(r.done))
		if !wrong {
			r.launch(r.b, r.x, r.y)
		}
		return r.out(r.y)
	}},
	{"pinned memory read before the copy is done", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.CopyOutAsync(r.h2, r.x, r.a))
		if !wrong {
			ok(r.t, r.a.Synchronize())
		}
		return slices.Clone(r.h2.Slice())
	}},
	{"a wait for the wrong stream", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.CopyOutAsync(r.h2, r.x, r.a))
		st := r.a
		if wrong {
			st = r.b
		}
		ok(r.t, st.Synchronize())
		return slices.Clone(r.h2.Slice())
	}},
	{"a wait for the wrong event", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		ok(r.t, r.unused.Record(r.b))
		ok(r.t, cuda.CopyOutAsync(r.h2, r.x, r.a))
		ok(r.t, r.done.Record(r.a))
		e := r.done
		if wrong {
			e = r.unused
		}
		ok(r.t, e.Synchronize())
		return slices.Clone(r.h2.Slice())
	}},
	{"one question whether a stream is done, in place of a loop", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.CopyOutAsync(r.h2, r.x, r.a))
		for {
			done := must[bool](r.t)(r.a.Done())
			if done || wrong {
				return slices.Clone(r.h2.Slice())
			}
		}
	}},
	{"pinned memory changed before the copy is done", []float32{11, 21, 31, 41}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.CopyInAsync(r.x, r.h, r.a))
		r.launch(r.a, r.x, r.y)
		if !wrong {
			ok(r.t, r.a.Synchronize())
		}
		clear(r.h.Slice())
		return r.out(r.y)
	}},
	{"a copy on the wrong stream", []float32{11, 21, 31, 41}, func(r *rig, wrong bool) []float32 {
		st := r.a
		if wrong {
			st = r.b
		}
		ok(r.t, cuda.CopyInAsync(r.x, r.h, st))
		r.launch(r.a, r.x, r.y)
		return r.out(r.y)
	}},
	{"a free in a stream that does not wait for the last use", []float32{8, 8, 8, 8}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.Device(0).AllocAsync(16, r.a))
		ok(r.t, cuda.Fill(m, float32(7), r.a))
		r.launch(r.a, m, r.y)
		ok(r.t, r.done.Record(r.a))
		if !wrong {
			ok(r.t, r.b.Wait(r.done))
		}
		ok(r.t, m.FreeAsync(r.b))
		return r.out(r.y)
	}},
	{"memory for a kernel that nobody models, freed in a stream that does not wait", []float32{0, 0, 0, 0}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.Device(0).AllocAsync(16, r.a))
		ok(r.t, r.a.Synchronize())
		r.pass(r.a, m)
		ok(r.t, r.done.Record(r.a))
		if !wrong {
			ok(r.t, r.b.Wait(r.done))
		}
		ok(r.t, m.FreeAsync(r.b))
		return r.out(r.y)
	}},
	{"a use in a stream that does not wait for the allocation", []float32{8, 8, 8, 8}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.Device(0).AllocAsync(16, r.a))
		ok(r.t, r.done.Record(r.a))
		if !wrong {
			ok(r.t, r.b.Wait(r.done))
		}
		ok(r.t, cuda.Fill(m, float32(7), r.b))
		r.launch(r.b, m, r.y)
		ok(r.t, m.FreeAsync(r.b))
		return r.out(r.y)
	}},
	{"memory of another owner who frees it too early", []float32{2, 3, 4, 5}, func(r *rig, wrong bool) []float32 {
		owner := must[*cuda.Memory](r.t)(cuda.Device(0).AllocAsync(16, r.a))
		view := must[*cuda.Memory](r.t)(cuda.FromPointer(0, owner.Pointer(), 16, nil))
		ok(r.t, cuda.Copy(view, r.x, r.a))
		if wrong {
			ok(r.t, owner.FreeAsync(r.a))
		}
		r.launch(r.a, view, r.y)
		if !wrong {
			ok(r.t, owner.FreeAsync(r.a))
		}
		return r.out(r.y)
	}},
	{"memory that nothing has written", []float32{2, 2, 2, 2}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.Device(0).AllocAsync(16, r.a))
		if !wrong {
			ok(r.t, cuda.Fill(m, float32(1), r.a))
		}
		r.launch(r.a, m, r.y)
		ok(r.t, m.FreeAsync(r.a))
		return r.out(r.y)
	}},
	{"memory of which a part is not written", []float32{2, 2, 2, 2}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.Device(0).AllocAsync(16, r.a))
		part := m
		if wrong {
			part = must[*cuda.Memory](r.t)(m.Part(0, 12))
		}
		ok(r.t, cuda.Fill(part, float32(1), r.a))
		r.launch(r.a, m, r.y)
		ok(r.t, m.FreeAsync(r.a))
		return r.out(r.y)
	}},
	{"the default stream before a stream that does not wait for it", []float32{10, 10, 10, 10}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.Fill(r.x, float32(9), nil))
		st := r.blocking
		if wrong {
			st = r.a
		}
		r.launch(st, r.x, r.y)
		return r.out(r.y)
	}},
	{"the default stream behind a stream that does not wait for it", []float32{3, 4, 5, 6}, func(r *rig, wrong bool) []float32 {
		st := r.blocking
		if wrong {
			st = r.a
		}
		r.launch(st, r.x, r.x)
		r.launch(nil, r.x, r.y)
		return r.out(r.y)
	}},
	{"a launch that does not wait for the copy of its input", []float32{0, 0, 0, 0}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.CopyInAsync(r.x, r.h, r.b))
		ok(r.t, r.done.Record(r.b))
		if !wrong {
			ok(r.t, r.a.Wait(r.done))
		}
		r.pass(r.a, r.x)
		ok(r.t, r.a.Synchronize())
		return r.out(r.y)
	}},
	{"a result that is copied out on another stream", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		r.pass(r.a, r.x)
		st := r.a
		if wrong {
			st = r.b
		}
		ok(r.t, cuda.CopyOutAsync(r.h2, r.x, st))
		ok(r.t, st.Synchronize())
		return r.h2.Slice()
	}},
	{"a result that is copied out without a wait", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		r.pass(r.a, r.x)
		if !wrong {
			ok(r.t, r.a.Synchronize())
		}
		got := make([]float32, 4)
		ok(r.t, cuda.CopyOut(got, r.x))
		return got
	}},
	{"two writes without an order", []float32{7, 7, 7, 7}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.Fill(r.y, float32(6), r.b))
		ok(r.t, r.done.Record(r.b))
		if !wrong {
			ok(r.t, r.a.Wait(r.done))
		}
		ok(r.t, cuda.Fill(r.y, float32(7), r.a))
		ok(r.t, errors.Join(r.b.Synchronize(), r.a.Synchronize()))
		return r.out(r.y)
	}},
	{"a free while a kernel of another device uses the memory", []float32{2, 3, 4, 5}, func(r *rig, wrong bool) []float32 {
		ok(r.t, cuda.Device(1).EnablePeerAccess(0))
		m := must[*cuda.Memory](r.t)(cuda.AllocOf(0, []float32{1, 2, 3, 4}))
		to := must[*cuda.Memory](r.t)(cuda.AllocOf(1, make([]float32, 4)))
		c := r.config
		c.Stream = r.far
		ok(r.t, r.there.Launch(c, m, to, 4))
		if !wrong {
			ok(r.t, r.far.Synchronize())
		}
		ok(r.t, m.Free())
		ok(r.t, r.far.Synchronize())
		got := make([]float32, 4)
		ok(r.t, errors.Join(cuda.CopyOut(got, to), to.Free()))
		return got
	}},
	{"pool memory freed while a kernel of another device uses it", []float32{2, 3, 4, 5}, func(r *rig, wrong bool) []float32 {
		pool := must[*cuda.Pool](r.t)(cuda.Device(0).NewPool())
		ok(r.t, pool.AllowAccess(1))
		m := must[*cuda.Memory](r.t)(pool.Alloc(16, r.a))
		ok(r.t, errors.Join(cuda.Copy(m, r.x, r.a), r.done.Record(r.a), r.far.Wait(r.done)))
		to := must[*cuda.Memory](r.t)(cuda.AllocOf(1, make([]float32, 4)))
		c := r.config
		c.Stream = r.far
		ok(r.t, r.there.Launch(c, m, to, 4))
		used := must[*cuda.Event](r.t)(cuda.Device(1).NewEvent())
		ok(r.t, used.Record(r.far))
		if !wrong {
			ok(r.t, r.a.Wait(used))
		}
		ok(r.t, errors.Join(m.FreeAsync(r.a), r.a.Synchronize(), r.far.Synchronize()))
		got := make([]float32, 4)
		ok(r.t, errors.Join(cuda.CopyOut(got, to), to.Free(), used.Close(), pool.Close()))
		return got
	}},
	{"a buffer that is filled again while a kernel reads it", []float32{0, 0, 0, 0}, func(r *rig, wrong bool) []float32 {
		r.pass(r.a, r.x)
		ok(r.t, r.done.Record(r.a))
		if !wrong {
			ok(r.t, r.b.Wait(r.done))
		}
		ok(r.t, cuda.CopyInAsync(r.x, r.h, r.b))
		return r.out(r.y)
	}},
	{"two kernels that nobody models, without an order, where both may write", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		r.f.Strict(true)
		defer r.f.Strict(false)
		r.pass(r.a, r.x)
		ok(r.t, r.done.Record(r.a))
		if !wrong {
			ok(r.t, r.b.Wait(r.done))
		}
		r.pass(r.b, r.x)
		return r.out(r.x)
	}},
	{"freed memory whose address is in a struct", []float32{0, 0, 0, 0}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.Device(0).Alloc(16))
		s := [2]uint64{4, uint64(m.Pointer().Address)}
		if wrong {
			ok(r.t, m.Free())
		}
		c := r.config
		c.Stream = r.a
		ok(r.t, r.many.Launch(c, 1, 2, 3, 4, float32(5), 6.0, r.x, s))
		ok(r.t, m.Free())
		return r.out(r.y)
	}},
	{"a kernel that goes beyond the memory", []float32{2, 3, 4, 5}, func(r *rig, wrong bool) []float32 {
		n := 4
		if wrong {
			n = 5
		}
		r.launchN(r.a, r.x, r.y, n)
		return r.out(r.y)
	}},
	{"a graph that does not wait for its input", []float32{11, 21, 31, 41}, func(r *rig, wrong bool) []float32 {
		graph := must[*cuda.Graph](r.t)(r.a.Capture(func() error { r.launch(r.a, r.x, r.y); return nil }))
		ok(r.t, cuda.CopyInAsync(r.x, r.h, r.b))
		ok(r.t, r.done.Record(r.b))
		if !wrong {
			ok(r.t, r.a.Wait(r.done))
		}
		ok(r.t, graph.Launch(r.a))
		ok(r.t, graph.Close()) // what is queued still runs
		return r.out(r.y)
	}},
	{"a graph of memory that is freed before it runs", []float32{2, 3, 4, 5}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.Device(0).AllocAsync(16, r.b))
		ok(r.t, cuda.Copy(m, r.x, r.b))
		ok(r.t, r.b.Synchronize())
		graph := must[*cuda.Graph](r.t)(r.a.Capture(func() error { r.launch(r.a, m, r.y); return nil }))
		ok(r.t, graph.Launch(r.a))
		if !wrong {
			ok(r.t, r.done.Record(r.a))
			ok(r.t, r.b.Wait(r.done))
		}
		ok(r.t, m.FreeAsync(r.b))
		ok(r.t, graph.Close())
		return r.out(r.y)
	}},
	{"a graph whose pinned memory is freed", []float32{1, 2, 3, 4}, func(r *rig, wrong bool) []float32 {
		h := must[*cuda.Host[float32]](r.t)(cuda.AllocHost[float32](0, 4))
		graph := must[*cuda.Graph](r.t)(r.a.Capture(func() error { return cuda.CopyOutAsync(h, r.x, r.a) }))
		if wrong {
			ok(r.t, h.Free())
		}
		ok(r.t, errors.Join(graph.Launch(r.a), r.a.Synchronize(), graph.Close()))
		got := slices.Clone(h.Slice())
		ok(r.t, h.Free())
		return got
	}},
	{"a graph whose module is closed", []float32{2, 3, 4, 5}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Module](r.t)(cuda.Device(0).LoadModule([]byte(ptx)))
		c := r.config
		c.Stream = r.a
		graph := must[*cuda.Graph](r.t)(r.a.Capture(func() error { return kernel(r.t, m, "add_one").Launch(c, r.x, r.y, 4) }))
		if wrong {
			ok(r.t, m.Close())
		}
		ok(r.t, errors.Join(graph.Launch(r.a), graph.Close(), m.Close()))
		return r.out(r.y)
	}},
	{"a function of the host that calls the driver", []float32{2, 3, 4, 5}, func(r *rig, wrong bool) []float32 {
		r.launch(r.a, r.x, r.y)
		call := must[*cuda.HostCall](r.t)(r.a.Call(func() error {
			if !wrong {
				return nil
			}
			_, err := r.done.Done()
			return err
		}))
		ok(r.t, r.a.Synchronize())
		if wrong {
			wantError(r.t, call.Err(), nil, "CUDA_ERROR_NOT_PERMITTED (800)")
		}
		return r.out(r.y)
	}},
	{"a copy to another device whose stream does not wait", []float32{3, 4, 5, 6}, func(r *rig, wrong bool) []float32 {
		m := must[*cuda.Memory](r.t)(cuda.AllocOf(1, make([]float32, 4)))
		r.launch(r.a, r.x, r.x)
		ok(r.t, r.done.Record(r.a))
		if !wrong {
			ok(r.t, r.far.Wait(r.done))
		}
		ok(r.t, cuda.Copy(m, r.x, r.far))
		c := r.config
		c.Stream = r.far
		ok(r.t, r.there.Launch(c, m, m, 4))
		ok(r.t, cuda.Device(1).Synchronize())
		got := make([]float32, 4)
		ok(r.t, cuda.CopyOut(got, m))
		ok(r.t, m.Free())
		return got
	}},
}

// TestMistakes runs programs once. The right ones give the right result and do nothing that a device does not forgive. Each
// mistake is found.
func TestMistakes(t *testing.T) {
	f := load(t)
	r := newRig(t, f)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			r.t = t
			r.begin()
			got := m.run(r, false)
			if bad := f.violated(); bad != "" || !slices.Equal(got, m.want) {
				t.Errorf("the right program gives %v, want %v\n%s", got, m.want, bad)
			}
			r.begin()
			got = m.run(r, true)
			bad := f.violated()
			if bad == "" && slices.Equal(got, m.want) {
				t.Error("the mistake is not found")
			}
			t.Logf("%v, want %v; %s", got, m.want, bad)
			f.reset()
		})
	}
	if len(mistakes) < 20 {
		t.Errorf("%d mistakes, want 20 at least", len(mistakes))
	}
}

// TestUnknownKernels lets a kernel that nobody models fill memory: it counts as written.
func TestUnknownKernels(t *testing.T) {
	r := newRig(t, load(t))
	m := frees[*cuda.Memory](t)(cuda.Device(0).Alloc(16))
	r.pass(r.a, must[*cuda.Memory](t)(m.Part(4, 12)))
	ok(t, r.a.Synchronize())
	ok(t, cuda.CopyOutAt(make([]float32, 3), m, 4, r.a))
	ok(t, cuda.CopyOutAt(make([]float32, 1), m, 0, r.a))
	if bad := r.f.violated(); strings.Count(bad, "that nothing has written") != 1 || !strings.Contains(bad, "reads 4 bytes") {
		t.Errorf("found %q, want the 4 bytes before the part alone", bad)
	}
}

// planned is work of TestRandomPrograms: what it reads and writes, none below 0, and the work that comes before it.
type planned struct {
	stream, reads, writes int
	before                map[int]bool
}

// plan is a model of what comes before what. The streams are two that do not wait for the default stream, two that do, that
// one, and one of another device.
type plan struct {
	work []planned
	host map[int]bool // what the host has waited for
}

// after adds work and all that comes before it.
func (p *plan) after(to map[int]bool, i int) {
	to[i] = true
	maps.Copy(to, p.work[i].before)
}

func (p *plan) add(stream, reads, writes int) int {
	w := planned{stream, reads, writes, maps.Clone(p.host)}
	for i, o := range p.work {
		if o.stream == stream || o.stream == 4 && (stream == 2 || stream == 3) || stream == 4 && (o.stream == 2 || o.stream == 3) {
			p.after(w.before, i)
		}
	}
	p.work = append(p.work, w)
	return len(p.work) - 1
}

// wait is a wait of the host for a stream.
func (p *plan) wait(stream int) {
	for i, o := range p.work {
		if o.stream == stream || stream == 4 && (o.stream == 2 || o.stream == 3) {
			p.after(p.host, i)
		}
	}
}

// wrong reports whether two uses of memory, of which one writes, have no order.
func (p *plan) wrong() bool {
	for j, b := range p.work {
		for i, a := range p.work[:j] {
			if !b.before[i] && (a.writes >= 0 && (a.writes == b.writes || a.writes == b.reads) || b.writes >= 0 && b.writes == a.reads) {
				return true
			}
		}
	}
	return false
}

// TestRandomPrograms runs random programs, and the driver judges each as the model does.
func TestRandomPrograms(t *testing.T) {
	f := load(t)
	const d, there = cuda.Device(0), cuda.Device(1)
	def := must[*cuda.Stream](t)(d.DefaultStream())
	streams := []*cuda.Stream{newStream(t, d), newStream(t, d), newStream(t, d, cuda.Blocking()), newStream(t, d, cuda.Blocking()), def, newStream(t, there)}
	var events [2]*cuda.Event
	var memory [3]*cuda.Memory
	for i := range events {
		events[i] = closes[*cuda.Event](t)(d.NewEvent())
	}
	for i := range memory {
		memory[i] = frees[*cuda.Memory](t)(cuda.AllocOf(d, make([]float32, 4)))
	}
	wrong := 0
	for seed := range 400 {
		ok(t, errors.Join(d.Synchronize(), there.Synchronize()))
		r, p, recorded := rand.New(rand.NewPCG(uint64(seed), 1)), &plan{host: map[int]bool{}}, [2]int{-1, -1}
		for range 12 {
			s, e, a, b := r.IntN(6), r.IntN(2), r.IntN(3), r.IntN(3)
			switch kind := r.IntN(6); {
			case kind == 0:
				ok(t, streams[s].Synchronize())
				p.wait(s)
			case kind == 1:
				ok(t, events[e].Synchronize())
				if recorded[e] >= 0 {
					p.after(p.host, recorded[e])
				}
			case kind == 2:
				ok(t, streams[s].Wait(events[e]))
				if i := p.add(s, -1, -1); recorded[e] >= 0 {
					p.after(p.work[i].before, recorded[e])
				}
			case s == 5: // which has no event, and no memory
			case kind == 3:
				ok(t, events[e].Record(streams[s]))
				recorded[e] = p.add(s, -1, -1)
			case a == b:
				ok(t, cuda.Fill(memory[a], float32(1), streams[s]))
				p.add(s, -1, a)
			default:
				ok(t, cuda.Copy(memory[b], memory[a], streams[s]))
				p.add(s, a, b)
			}
		}
		bad := f.violated()
		if p.wrong() != (bad != "") {
			t.Errorf("program %d: wrong is %t; the driver found %q", seed, p.wrong(), bad)
		}
		if bad != "" {
			wrong++
		}
	}
	if wrong < 50 || wrong > 350 {
		t.Errorf("%d of 400 programs are wrong: the test says little", wrong)
	}
}
