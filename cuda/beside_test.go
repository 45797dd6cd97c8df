package cuda_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// graphOf captures f and add_one, and runs that.
func graphOf(t *testing.T, o ones, st *cuda.Stream, f func()) {
	t.Helper()
	graph := must[*cuda.Graph](t)(st.Capture(func() error {
		f()
		return o.on(st)
	}))
	ok(t, cuda.CopyIn(o.b, make([]float32, 4)))
	ok(t, graph.Launch(st))
	ok(t, st.Synchronize())
	wantFloats(t, o.b, 2, 3, 4, 5)
	ok(t, graph.Close())
}

// TestRefusedInCapture makes the calls that a driver refuses during a capture: each is
// refused before, and the capture goes on.
func TestRefusedInCapture(t *testing.T) {
	f := load(t)
	o := newOnes(t, 1)
	st := newStream(t, 1)
	other := newStream(t, 0)
	event := must[*cuda.Event](t)(cuda.Device(1).NewEvent())
	defer event.Close()
	h := must[*cuda.Host[int8]](t)(cuda.AllocHost[int8](1, 4))
	defer func() { ok(t, h.Free()) }()
	m := must[*cuda.Memory](t)(cuda.Device(1).Alloc(4))
	defer func() { ok(t, m.Free()) }()
	loaded := must[*cuda.Module](t)(cuda.Device(1).LoadModule([]byte(ptx)))
	defer func() { ok(t, loaded.Close()) }()
	for _, c := range []struct {
		name string
		call func() error
		says string
	}{
		{"Device.Synchronize", cuda.Device(1).Synchronize, "Synchronize of cuda:1 inside Capture"},
		{"Device.Synchronize of another device", cuda.Device(0).Synchronize, "wait after the launch of the graph"},
		{"Stream.Synchronize", st.Synchronize, "wait after the launch of the graph"},
		{"Stream.Done", func() error { _, err := st.Done(); return err }, "Done inside Capture"},
		{"Stream.Synchronize of another", other.Synchronize, "Synchronize inside Capture"},
		{"Event.Synchronize", event.Synchronize, "Synchronize of an event inside Capture"},
		{"Event.Done", func() error { _, err := event.Done(); return err }, "ask after the launch of the graph"},
		{"CopyIn", func() error { return cuda.CopyIn(m, []int8{1}) }, "copy before it, or by CopyInAsync and CopyOutAsync on the stream"},
		{"CopyOut", func() error { return cuda.CopyOut(make([]int8, 1), m) }, "CopyIn or CopyOut inside Capture"},
		{"Alloc", func() error { _, err := cuda.Device(1).Alloc(4); return err }, "allocate before it"},
		{"AllocOf", func() error { _, err := cuda.AllocOf(1, []int8{1}); return err }, "Alloc inside Capture"},
		{"AllocManaged", func() error { _, err := cuda.Device(1).AllocManaged(4); return err }, "Alloc inside Capture"},
		{"AllocHost", func() error { _, err := cuda.AllocHost[int8](1, 4); return err }, "AllocHost inside Capture"},
		{"AllocAsync", func() error { _, err := cuda.Device(1).AllocAsync(4, st); return err }, "AllocAsync inside Capture"},
		{"Free", m.Free, "must outlive the graph"},
		{"FreeAsync", func() error { return m.FreeAsync(other) }, "FreeAsync inside Capture"},
		{"Host.Free", h.Free, "Free of pinned memory inside Capture"},
		{"Module.Close", loaded.Close, "Close of a module inside Capture"},
		{"EnablePeerAccess", func() error { return cuda.Device(1).EnablePeerAccess(0) }, "EnablePeerAccess inside Capture"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.t = t
			live := cuda.Device(1).Live()
			graphOf(t, o, st, func() {
				f.calls()
				wantError(t, c.call(), tvmffi.ErrValue, c.says, "it would not be part of the graph, and the driver refuses it there")
				f.expect() // the driver did not see it
			})
			if now := cuda.Device(1).Live(); now != live {
				t.Errorf("live: %+v, before %+v", now, live)
			}
		})
	}
	f.t = t
	if _, err := st.Capture(func() error { return cuda.Device(1).Synchronize() }); err == nil {
		t.Error("the error of f is lost")
	}
	ok(t, cuda.Device(1).Synchronize())
}

// TestLoadsInCapture uses a module and a kernel for the first time inside Capture.
func TestLoadsInCapture(t *testing.T) {
	f := load(t)
	o := newOnes(t, 1)
	st := newStream(t, 1)
	var m *cuda.Module
	graphOf(t, o, st, func() {
		f.calls()
		m = must[*cuda.Module](t)(cuda.Device(1).LoadModule([]byte(ptx)))
		o.k = kernel(t, m, "add_one")
		modes := only(f.calls(), "cuThreadExchangeStreamCaptureMode")
		if len(modes) != 4 || modes[0].args != "2" || modes[1].args != "0" {
			t.Errorf("the modes are %v, want relaxed and back, twice", modes)
		}
		f.failing("cuThreadExchangeStreamCaptureMode", 999, 0)
		_, err := cuda.Device(1).LoadModule([]byte(ptx))
		wantDriverError(t, err, cuda.ErrUnknown, "cuThreadExchangeStreamCaptureMode")
		f.reset()
	})
	ok(t, m.Close())
}

// beside calls f on a goroutine of its own and waits for it.
func beside(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// TestBesideCapture uses the device from another goroutine while one captures: everything
// works but what waits for the whole device, and nothing breaks the capture.
func TestBesideCapture(t *testing.T) {
	f := load(t)
	f.eachSeed(t, func(t *testing.T) {
		for _, options := range [][]cuda.StreamOption{nil, {cuda.NonBlocking()}} {
			live := cuda.Device(1).Live().Allocations
			o, p := newOnes(t, 1), newOnes(t, 1)
			st, second, joined := newStream(t, 1, options...), newStream(t, 1), newStream(t, 1, options...)
			fork, join := must[*cuda.Event](t)(cuda.Device(1).NewEvent()), must[*cuda.Event](t)(cuda.Device(1).NewEvent())
			t.Cleanup(func() { ok(t, errors.Join(fork.Close(), join.Close())) })
			late := must[*cuda.Memory](t)(cuda.Device(1).AllocAsync(16, second))
			graphOf(t, o, st, func() {
				ok(t, errors.Join(fork.Record(st), joined.Wait(fork))) // joined is captured too
				beside(func() { besideCapture(t, p, st, joined, second, late, len(options) == 0) })
				ok(t, errors.Join(join.Record(joined), st.Wait(join)))
			})
			ok(t, cuda.Device(1).Synchronize())
			if l := cuda.Device(1).Live(); l.Allocations != live+4 {
				t.Errorf("live after the capture: %+v, want the %d allocations of the test", l, live+4)
			}
		}
	})
}

func besideCapture(t *testing.T, p ones, captured, joined, second *cuda.Stream, late *cuda.Memory, blocking bool) {
	d := cuda.Device(1)
	ok(t, cuda.CopyIn(p.b, make([]float32, 4)))
	ok(t, p.on(second))
	wantFloats(t, p.b, 2, 3, 4, 5)
	ok(t, second.Synchronize())
	m := must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{1, 2, 3, 4}))
	ok(t, m.FreeAsync(second))
	ok(t, ones{p.k, p.a, late}.on(second))
	ok(t, late.Free()) // freed when the capture has ended
	wantError(t, cuda.CopyOut(make([]byte, 1), late), tvmffi.ErrValue, "was freed")
	module := must[*cuda.Module](t)(d.LoadModule([]byte(ptx)))
	ok(t, ones{kernel(t, module, "add_one"), p.a, p.b}.on(second))
	ok(t, module.Close()) // closed then, too
	ok(t, second.Keep(1))
	wantError(t, d.Synchronize(), tvmffi.ErrValue, "a stream of cuda:1 is captured", "wait for one stream or event")
	for _, st := range []*cuda.Stream{captured, joined} {
		wantError(t, st.Synchronize(), tvmffi.ErrValue, "Synchronize for a stream of cuda:1 that is captured")
		_, err := st.Done()
		wantError(t, err, tvmffi.ErrValue, "Done for a stream of cuda:1 that is captured")
		wantError(t, st.Keep(1), tvmffi.ErrValue, "Keep for a stream of cuda:1 that is captured")
	}
	def := must[*cuda.Stream](t)(d.DefaultStream())
	event := must[*cuda.Event](t)(d.NewEvent())
	defer event.Close()
	uses := []func() error{
		func() error { return p.on(nil) }, func() error { return p.on(def) }, func() error { return cuda.Fill(p.b, float32(2), nil) },
		func() error { return event.Record(def) },
		func() error { return def.Wait(event) },
		func() error { _, err := def.Call(func() error { return nil }); return err },
		func() error {
			m, err := d.AllocAsync(16, nil)
			return errors.Join(err, m.FreeAsync(def))
		},
		def.Synchronize,
	}
	for _, use := range uses {
		if !blocking {
			ok(t, use())
			continue
		}
		wantError(t, use(), tvmffi.ErrValue, "the default stream of cuda:1 cannot be used while a stream that it waits for is captured", "NewStream(NonBlocking())")
	}
	ok(t, cuda.Device(0).Synchronize()) // another device
}

// TestBorrowedCapture captures streams of another owner: the driver says of what kind they are.
func TestBorrowedCapture(t *testing.T) {
	f := load(t)
	o := newOnes(t, 1)
	for _, options := range [][]cuda.StreamOption{nil, {cuda.NonBlocking()}} {
		st := must[*cuda.Stream](t)(cuda.StreamFromPointer(1, newStream(t, 1, options...).Pointer()))
		graphOf(t, o, st, func() {
			beside(func() {
				if err := cuda.Fill(o.b, float32(1), nil); (err == nil) != (options != nil) {
					t.Errorf("a fill on the default stream beside the capture: %v", err)
				}
			})
		})
		f.failing("cuStreamGetFlags", 999, 0)
		_, err := st.Capture(func() error { t.Error("called"); return nil })
		wantDriverError(t, err, cuda.ErrUnknown, "cuStreamGetFlags")
		f.reset()
	}
}

// TestJoinedCapture lets a stream join a capture that the default stream waits for.
func TestJoinedCapture(t *testing.T) {
	load(t)
	o := newOnes(t, 1)
	st, joined := newStream(t, 1, cuda.NonBlocking()), newStream(t, 1)
	event := must[*cuda.Event](t)(cuda.Device(1).NewEvent())
	defer event.Close()
	graphOf(t, o, st, func() {
		beside(func() { ok(t, cuda.Fill(o.b, float32(1), nil)) })
		ok(t, errors.Join(event.Record(st), joined.Wait(event)))
		beside(func() {
			wantError(t, cuda.Fill(o.b, float32(1), nil), tvmffi.ErrValue, "the default stream of cuda:1 cannot be used")
		})
		ok(t, errors.Join(event.Record(joined), st.Wait(event)))
	})
	ok(t, cuda.Fill(o.b, float32(1), nil))
	wantFloats(t, o.b, 1, 1, 1, 1)
}

// TestLateFreeFails lets what is freed after a capture fail: Synchronize says so, once.
func TestLateFreeFails(t *testing.T) {
	f := load(t)
	o := newOnes(t, 1)
	st := newStream(t, 1)
	sentinel := errors.New("of the owner")
	m := must[*cuda.Memory](t)(cuda.FromPointer(1, o.a.Pointer(), 16, func() error { return sentinel }))
	graphOf(t, o, st, func() { beside(func() { ok(t, m.Free()) }) })
	if err := cuda.Device(1).Synchronize(); !errors.Is(err, sentinel) {
		t.Errorf("Synchronize returns %v, want %v", err, sentinel)
	}
	ok(t, cuda.Device(1).Synchronize())

	n := must[*cuda.Memory](t)(cuda.Device(1).Alloc(16))
	live := cuda.Device(1).Live().Allocations
	graphOf(t, o, st, func() { beside(func() { ok(t, n.Free()) }) })
	f.failing("cuCtxSynchronize", 999, 0)
	wantDriverError(t, cuda.Device(1).Synchronize(), cuda.ErrUnknown, "cuCtxSynchronize")
	if l := cuda.Device(1).Live(); l.Allocations != live {
		t.Errorf("live: %+v, want what could not be freed", l)
	}
	ok(t, cuda.Device(1).Synchronize())
	if l := cuda.Device(1).Live(); l.Allocations != live-1 {
		t.Errorf("live: %+v, want %d allocations", l, live-1)
	}
	names := []string{}
	for _, c := range f.calls() {
		names = append(names, c.name)
	}
	if end, wait := slices.Index(names, "cuStreamEndCapture"), slices.Index(names, "cuCtxSynchronize"); end < 0 || wait < end {
		t.Errorf("the calls are %v: want no cuCtxSynchronize before the end of the capture", names)
	}
}

// TestLateFrees frees memory while another goroutine captures: each call that waits for the
// device after that frees it, and so does Alloc where memory is short.
func TestLateFrees(t *testing.T) {
	f := load(t)
	const d = cuda.Device(1)
	o, st := newOnes(t, d), newStream(t, d)
	for name, wait := range map[string]func() error{
		"Synchronize": d.Synchronize,
		"Free":        must[*cuda.Memory](t)(d.Alloc(16)).Free,
		"Close":       must[*cuda.Module](t)(d.LoadModule([]byte(ptx))).Close,
		"Alloc": func() error {
			f.failing("cuMemAlloc_v2", int(cuda.ErrOutOfMemory), 0)
			m, err := d.Alloc(16)
			if err == nil {
				err = m.FreeAsync(st)
			}
			return err
		},
	} {
		m := must[*cuda.Memory](t)(cuda.AllocOf(d, make([]float32, 1000)))
		bytes := d.Live().Bytes
		graphOf(t, o, st, func() { beside(func() { ok(t, m.Free()) }) })
		if now := d.Live().Bytes; now != bytes {
			t.Errorf("%s: %d bytes are live after the capture, before %d", name, now, bytes)
		}
		ok(t, wait())
		if now := d.Live().Bytes; now > bytes-4000 {
			t.Errorf("%s: %d bytes are live, before %d", name, now, bytes)
		}
	}
	f.failing("cuMemAlloc_v2", int(cuda.ErrOutOfMemory), 0)
	_, err := d.Alloc(16)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuMemAlloc") // nothing is left that could be freed
}

// TestNestedCaptures captures two streams on one goroutine.
func TestNestedCaptures(t *testing.T) {
	load(t)
	o := newOnes(t, 1)
	a, b := newStream(t, 1), newStream(t, 1)
	graphOf(t, o, a, func() {
		inner := must[*cuda.Graph](t)(b.Capture(func() error { return o.on(b) }))
		wantError(t, cuda.Device(1).Synchronize(), tvmffi.ErrValue, "inside Capture")
		ok(t, inner.Close())
	})
	ok(t, cuda.Device(1).Synchronize())
}

// TestManyCaptures captures on some goroutines while others copy, allocate, free and join
// streams by events: no capture fails, and nothing is read or freed too early.
func TestManyCaptures(t *testing.T) {
	f := load(t)
	f.eachSeed(t, func(t *testing.T) {
		const rounds = 20
		var work [6]ones
		var streams [len(work)]*cuda.Stream
		for i := range work {
			work[i], streams[i] = newOnes(t, 1), newStream(t, 1)
		}
		var all sync.WaitGroup
		for i, o := range work {
			st := streams[i]
			all.Go(func() {
				for range rounds {
					if err := manyCaptures(o, st, i%2 == 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		ok(t, cuda.Device(1).Synchronize())
	})
}

func manyCaptures(o ones, st *cuda.Stream, captures bool) error {
	m, err := cuda.Device(1).AllocAsync(16, st)
	if err != nil {
		return err
	}
	to := ones{o.k, o.a, m}
	if captures {
		graph, err := st.Capture(func() error { return to.on(st) })
		if err != nil {
			return err
		}
		err = errors.Join(graph.Launch(st), st.Synchronize(), graph.Close())
		if err != nil {
			return err
		}
	} else if err := errors.Join(to.on(st), st.Keep(m)); err != nil {
		return err
	}
	got := make([]float32, 4)
	if err := errors.Join(cuda.CopyOut(got, m), m.Free()); err != nil {
		return err
	}
	if !slices.Equal(got, []float32{2, 3, 4, 5}) {
		return fmt.Errorf("read %v", got)
	}
	return nil
}

// untilIn waits until a goroutine is in all of the functions.
func untilIn(functions ...string) { untilSoMany(1, functions...) }

// untilSoMany waits until n goroutines or more are in all of the functions. After two minutes it panics.
func untilSoMany(n int, functions ...string) {
	late := time.Now().Add(2 * time.Minute)
	for stack := make([]byte, 1<<20); ; runtime.Gosched() {
		in := 0
		for one := range strings.SplitSeq(string(stack[:runtime.Stack(stack, true)]), "\n\n") {
			missing := func(f string) bool { return !strings.Contains(one, f+"(") }
			if !slices.ContainsFunc(functions, missing) {
				in++
			}
		}
		if in >= n {
			return
		}
		if time.Now().After(late) {
			panic(fmt.Sprintf("%d goroutines are in %q, want %d", in, functions, n))
		}
	}
}

// busy queues a function on a stream of a device, which runs until end is called.
func busy(t *testing.T, d cuda.Device) (end func()) {
	t.Helper()
	block := make(chan bool)
	must[*cuda.HostCall](t)(newStream(t, d, cuda.NonBlocking()).Call(func() error { <-block; return nil }))
	return func() { close(block) }
}

// TestCopyBesideWaits copies while one goroutine waits for the device and another one for
// that, to begin a capture. The copy waits for neither: the device may wait for what the
// program does after it.
func TestCopyBesideWaits(t *testing.T) {
	f := load(t)
	f.seed(1)
	defer f.unseed()
	o := newOnes(t, 0)
	st := newStream(t, 0, cuda.NonBlocking())
	end := busy(t, 0)
	results := make(chan error, 2)
	go func() { results <- cuda.Device(0).Synchronize() }()
	untilIn("(*guard).wait", "driver.CallWith")
	go func() {
		graph, err := st.Capture(func() error { return o.on(st) })
		results <- errors.Join(err, graph.Close())
	}()
	untilIn("(*Stream).begin", "sync.(*RWMutex).Lock")
	wantFloats(t, o.a, 1, 2, 3, 4)
	end()
	ok(t, errors.Join(<-results, <-results))
}
