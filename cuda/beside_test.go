package cuda_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
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
	st := newStream(t, 1, cuda.Blocking())
	other := newStream(t, 0, cuda.Blocking())
	event := closes[*cuda.Event](t)(cuda.Device(1).NewEvent())
	h := must[*cuda.Host[int8]](t)(cuda.AllocHost[int8](1, 4))
	defer func() { ok(t, h.Free()) }()
	m := must[*cuda.Memory](t)(cuda.Device(1).Alloc(4))
	defer func() { ok(t, m.Free()) }()
	loaded := must[*cuda.Module](t)(cuda.Device(1).LoadModule([]byte(ptx)))
	defer func() { ok(t, loaded.Close()) }()
	pool := closes[*cuda.Pool](t)(cuda.Device(1).NewPool())
	const apart = " inside Capture: it would not be part of the graph: "
	for _, c := range []struct {
		name string
		call func() error
		says string
	}{
		{"Device.Synchronize", cuda.Device(1).Synchronize, "Synchronize of cuda:1" + apart + "wait after the launch of the graph"},
		{"Device.Synchronize of another device", cuda.Device(0).Synchronize, "Synchronize of cuda:0" + apart + "wait after the launch of the graph"},
		{"Event.Synchronize", event.Synchronize, "Synchronize of an event" + apart + "wait after the launch of the graph"},
		{"Event.Done", func() error { _, err := event.Done(); return err }, "Done of an event" + apart + "ask after the launch of the graph"},
		{"CopyIn", func() error { return cuda.CopyIn(m, []int8{1}) }, "CopyIn or CopyOut" + apart + "copy before it, or by CopyInAsync and CopyOutAsync on the stream"},
		{"CopyOut", func() error { return cuda.CopyOut(make([]int8, 1), m) }, "CopyIn or CopyOut" + apart},
		{"Alloc", func() error { _, err := cuda.Device(1).Alloc(4); return err }, "Alloc" + apart + "allocate before it"},
		{"AllocOf", func() error { _, err := cuda.AllocOf(1, []int8{1}); return err }, "Alloc" + apart + "allocate before it"},
		{"AllocManaged", func() error { _, err := cuda.Device(1).AllocManaged(4); return err }, "Alloc" + apart + "allocate before it"},
		{"AllocHost", func() error { _, err := cuda.AllocHost[int8](1, 4); return err }, "AllocHost" + apart + "allocate before it"},
		{"AllocAsync", func() error { _, err := cuda.Device(1).AllocAsync(4, st); return err }, "AllocAsync inside Capture: this package keeps memory out of graphs: allocate before it"},
		{"Pool.Alloc", func() error { _, err := pool.Alloc(4, st); return err }, "Pool.Alloc inside Capture: this package keeps memory out of graphs: allocate before it"},
		{"Free", m.Free, "Free" + apart + "free after it; everything that a graph uses must outlive the graph"},
		{"FreeAsync", func() error { return m.FreeAsync(other) }, "FreeAsync inside Capture: this package keeps memory out of graphs: free after it; everything that a graph uses must outlive the graph"},
		{"Host.Free", h.Free, "Free of pinned memory" + apart + "free after it; everything"},
		{"Module.Close", loaded.Close, "Close of a module" + apart + "close it after that"},
		{"EnablePeerAccess", func() error { return cuda.Device(1).EnablePeerAccess(0) }, "EnablePeerAccess" + apart + "enable it before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.t = t
			live := cuda.Device(1).Live()
			graphOf(t, o, st, func() {
				f.calls()
				wantError(t, c.call(), tvmffi.ErrValue, c.says)
				f.expect() // the driver did not see it
			})
			if now := cuda.Device(1).Live(); now != live {
				t.Errorf("live: %+v, before %+v", now, live)
			}
		})
	}
	f.t = t
	graphOf(t, o, st, func() {
		wantError(t, st.Synchronize(), tvmffi.ErrValue, "Synchronize for a stream of cuda:1 that is captured: its work is recorded")
		ok(t, other.Synchronize())
	})
	if _, err := st.Capture(func() error { return cuda.Device(1).Synchronize() }); err == nil {
		t.Error("the error of f is lost")
	}
	ok(t, cuda.Device(1).Synchronize())
}

// TestLoadsInCapture uses a module and a kernel for the first time inside Capture.
func TestLoadsInCapture(t *testing.T) {
	f := load(t)
	o := newOnes(t, 1)
	st := newStream(t, 1, cuda.Blocking())
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

// TestBorrowedCapture captures streams of another owner: the driver says of what kind they are.
func TestBorrowedCapture(t *testing.T) {
	f := load(t)
	o := newOnes(t, 1)
	for _, options := range [][]cuda.StreamOption{{cuda.Blocking()}, nil} {
		st := must[*cuda.Stream](t)(cuda.StreamFromPointer(1, newStream(t, 1, options...).Pointer()))
		graphOf(t, o, st, func() {
			beside(func() {
				if err := cuda.Fill(o.b, float32(1), nil); (err == nil) != (options == nil) {
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

// TestNestedCaptures captures two streams on one goroutine.
func TestNestedCaptures(t *testing.T) {
	load(t)
	o := newOnes(t, 1)
	a, b := newStream(t, 1, cuda.Blocking()), newStream(t, 1, cuda.Blocking())
	graphOf(t, o, a, func() {
		inner := must[*cuda.Graph](t)(b.Capture(func() error { return o.on(b) }))
		wantError(t, cuda.Device(1).Synchronize(), tvmffi.ErrValue, "inside Capture")
		ok(t, inner.Close())
	})
	ok(t, cuda.Device(1).Synchronize())
}

// untilIn waits until a goroutine is in all of the functions.
func untilIn(functions ...string) { untilSoMany(1, functions...) }

// untilSoMany waits until n goroutines or more are in all of the functions. After two minutes, or more on a busy machine, it panics.
func untilSoMany(n int, functions ...string) {
	late := time.Now().Add(nativetest.Patience(2 * time.Minute))
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
	must[*cuda.HostCall](t)(newStream(t, d).Call(func() error { <-block; return nil }))
	return func() { close(block) }
}

// TestCopyBesideWaits copies while one goroutine waits for the device and another one for
// that, to begin a capture. The copy waits for neither: the device may wait for what the
// program does after it.
func TestCopyBesideWaits(t *testing.T) {
	load(t)
	o := newOnes(t, 0)
	st := newStream(t, 0)
	end := busy(t, 0)
	results := make(chan error, 2)
	go func() { results <- cuda.Device(0).Synchronize() }()
	untilIn("(*guard).wait", "driver.CallWith")
	go func() {
		graph, err := st.Capture(func() error { return o.on(st) })
		results <- errors.Join(err, graph.Close())
	}()
	untilIn("(*Stream).begin", "sync.(*Cond).Wait")
	wantFloats(t, o.a, 1, 2, 3, 4)
	end()
	ok(t, errors.Join(<-results, <-results))
}
