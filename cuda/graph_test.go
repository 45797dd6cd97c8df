package cuda_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestJoins lets streams wait for an event of a capture: one of another device, and one that the default stream waits for,
// are refused, and the capture goes on.
func TestJoins(t *testing.T) {
	load(t)
	const d = cuda.Device(1)
	o, st, blocking, there := newOnes(t, d), newStream(t, d), newStream(t, d, cuda.Blocking()), newStream(t, 0)
	event := closes[*cuda.Event](t)(d.NewEvent())
	graphOf(t, o, st, func() {
		ok(t, event.Record(st))
		wantError(t, there.Wait(event), tvmffi.ErrValue, "the event was recorded in a capture on cuda:1, the stream is of cuda:0: a capture stays on one device")
		wantError(t, blocking.Wait(event), tvmffi.ErrValue, "the default stream of cuda:1 waits for this stream: only streams that were not made with Blocking can join")
		beside(func() { ok(t, cuda.Fill(o.b, float32(1), nil)) }) // which can be used still
	})
	ok(t, event.Record(st))
	ok(t, errors.Join(there.Wait(event), blocking.Wait(event)))
	ok(t, errors.Join(there.Synchronize(), blocking.Synchronize()))
}

// TestGraphOfFFICalls captures calls of a library that queues work on the environment
// stream, as libraries with kernels do, and replays them.
func TestGraphOfFFICalls(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	lib := nativetest.BuildText(t, "envfill", `
#include <dlfcn.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

void fill(tvm::ffi::TensorView x, int64_t value, tvm::ffi::String driver) {
  using Fill = int (*)(uintptr_t, unsigned, size_t, void*);
  void* h = dlopen(driver.c_str(), RTLD_NOW | RTLD_NOLOAD);
  auto fill = h ? reinterpret_cast<Fill>(dlsym(h, "cuMemsetD32Async")) : nullptr;
  if (!fill) TVM_FFI_THROW(RuntimeError) << "no driver";
  int rc = fill(reinterpret_cast<uintptr_t>(x.data_ptr()), static_cast<unsigned>(value), x.numel(), TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  if (rc) TVM_FFI_THROW(RuntimeError) << "cuMemsetD32Async failed with " << rc;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fill, fill);
`, nativetest.Flags("-ldl"))
	library := must[*tvmffi.Module](t)(tvmffi.LoadModule(lib))
	defer library.Release()
	fill := must[*tvmffi.Function](t)(library.Function("fill"))
	defer fill.Release()
	m := frees[*cuda.Memory](t)(cuda.AllocOf(1, []int32{1, 1, 1}))
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Int32, 3))
	defer x.Release()
	st := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	work := func(value int) func() error {
		return func() error { _, err := fill.Call(x, value, os.Getenv("TVMFFI_CUDA_LIBRARY")); return err }
	}
	graph := closes[*cuda.Graph](t)(st.Capture(work(7)))
	reads := func(want int32) {
		t.Helper()
		got := make([]int32, 3)
		ok(t, cuda.CopyOut(got, m))
		if !slices.Equal(got, []int32{want, want, want}) {
			t.Errorf("%v, want %d", got, want)
		}
	}
	reads(1)
	ok(t, graph.Launch(st))
	reads(7)
	f.failing("cuMemsetD32Async", 700, 0)
	_, err := st.Capture(work(9))
	wantError(t, err, tvmffi.ErrRuntime, "cuMemsetD32Async failed with 700")
}

func TestGraphs(t *testing.T) {
	f := load(t)
	m := module(t, 0)
	k := kernel(t, m, "saxpy")
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	x := frees[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2, 3}))
	y := frees[*cuda.Memory](t)(cuda.AllocOf(0, []float32{0, 0, 0}))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}
	work := func() error { return k.Launch(c, 3, float32(2), x, y) }
	graph := must[*cuda.Graph](t)(st.Capture(work))
	got := make([]float32, 3)
	read := func() []float32 { ok(t, cuda.CopyOut(got, y)); return got }
	if !slices.Equal(read(), []float32{0, 0, 0}) {
		t.Errorf("the capture has run: %v", got)
	}
	ok(t, graph.Launch(st))
	ok(t, graph.Launch(nil))
	if !slices.Equal(read(), []float32{4, 8, 12}) {
		t.Errorf("after two launches: %v", got)
	}
	ok(t, graph.Close())
	ok(t, graph.Close())
	wantError(t, graph.Launch(st), tvmffi.ErrValue, "is closed")

	sentinel := errors.New("of f")
	if _, err := st.Capture(func() error { ok(t, work()); return sentinel }); err != sentinel {
		t.Errorf("Capture returns %v, want the error of f", err)
	}
	func() {
		defer func() {
			if p := recover(); p != "of f" {
				t.Errorf("recovered %v", p)
			}
		}()
		_, _ = st.Capture(func() error { panic("of f") })
	}()
	ok(t, st.Synchronize()) // the capture has ended
	for _, fail := range []string{"cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags"} {
		f.failing(fail, 901, 0)
		_, err := st.Capture(work)
		wantError(t, err, cuda.ErrCaptureInvalidated)
		f.reset()
	}
	f.failing("cuStreamEndCapture", 901, 0)
	_, err := st.Capture(work)
	wantDriverError(t, err, cuda.ErrCaptureInvalidated, "cuStreamEndCapture")
	for _, handle := range []uintptr{0, 1} { // CU_STREAM_LEGACY is 1
		def := must[*cuda.Stream](t)(cuda.StreamFromPointer(cuda.Device(0), tvmffi.Pointer{Address: handle}))
		_, err = def.Capture(work)
		wantError(t, err, tvmffi.ErrValue, "the default stream cannot be captured")
	}
	var none *cuda.Stream
	_, err = none.Capture(work)
	wantError(t, err, tvmffi.ErrValue, "nil")
}

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

// TestBrokenCaptures does in captures what they do not allow. The error names the rule, the capture has ended, nothing is
// left, and the next capture of the same stream works.
func TestBrokenCaptures(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	k := kernel(t, module(t, 0), "add_one")
	x := frees[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2, 3, 4}))
	st := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	other := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	done := closes[*cuda.Event](t)(cuda.Device(0).NewEvent())
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}
	onOther := c
	onOther.Stream = other
	launch := func() error { return k.Launch(c, x, x, 4) }
	for _, bad := range []struct {
		name string
		f    func() error
		code cuda.Code // 0 where this package refuses the call
		says string
	}{
		{"a wait for an event of before", func() error {
			return errors.Join(done.Record(other), st.Wait(done))
		}, cuda.ErrCaptureIsolation, "wait for it before Capture"},
		{"another stream that does not come back", func() error {
			return errors.Join(launch(), done.Record(st), other.Wait(done), k.Launch(onOther, x, x, 4))
		}, cuda.ErrCaptureUnjoined, "let the captured stream wait for an event of it"},
		{"a capture in a capture", func() error { _, err := st.Capture(launch); return err }, 0, "Capture for a stream of cuda:0 that is captured"},
		{"work after a mistake", func() error { _ = errors.Join(done.Record(other), st.Wait(done)); return launch() }, cuda.ErrCaptureInvalidated, "cuLaunchKernel"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			before, live := f.left(), cuda.Device(0).Live()
			graph, err := st.Capture(bad.f)
			wantError(t, err, nil, bad.says)
			if graph != nil {
				t.Error("there is a graph")
			}
			if bad.code != 0 {
				wantError(t, err, bad.code)
			}
			var ours *tvmffi.Error
			var driver *cuda.Error
			if !errors.As(err, &ours) && !errors.As(err, &driver) {
				t.Errorf("%T has no type", err)
			}
			if left := f.left(); left != before || cuda.Device(0).Live() != live {
				t.Errorf("left: %v and %+v, before %v and %+v", left, cuda.Device(0).Live(), before, live)
			}
			if d, set, err := cuda.CurrentDevice(); err != nil || set {
				t.Errorf("%s is left current (%v)", d, err)
			}
			ok(t, cuda.CopyIn(x, []float32{1, 2, 3, 4}))
			graph = must[*cuda.Graph](t)(st.Capture(launch))
			ok(t, errors.Join(graph.Launch(st), st.Synchronize(), graph.Close()))
			got := make([]float32, 4)
			ok(t, cuda.CopyOut(got, x))
			if !slices.Equal(got, []float32{2, 3, 4, 5}) {
				t.Errorf("the next graph makes %v, want [2 3 4 5]", got)
			}
		})
	}
}

// TestCapturedEvents looks at events that were last recorded in a capture, which is an error until they are recorded again.
func TestCapturedEvents(t *testing.T) {
	load(t)
	st := newStream(t, 0)
	e := closes[*cuda.Event](t)(cuda.Device(0).NewEvent(cuda.Timing()))
	graph := must[*cuda.Graph](t)(st.Capture(func() error { return e.Record(st) }))
	ok(t, graph.Close())
	_, elapsed := cuda.Elapsed(e, e)
	wantDriverError(t, elapsed, cuda.ErrCapturedEvent, "cuEventElapsedTime")
	wantError(t, e.Synchronize(), cuda.ErrCapturedEvent, "whose work does not run: record it again outside")
	if strings.Contains(elapsed.Error(), "never recorded") {
		t.Error(elapsed)
	}
	ok(t, errors.Join(e.Record(st), e.Synchronize()))
}

func init() { children["graph of several goroutines"] = graphOfGoroutines }

// graphOfGoroutines launches one graph on several goroutines, and closes it meanwhile.
func graphOfGoroutines() error {
	const d = cuda.Device(0)
	st := need(d.NewStream(cuda.Blocking()))
	m := need(d.Alloc(16))
	graph := need(st.Capture(func() error { return cuda.Fill(m, uint8(1), st) }))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				_ = graph.Launch(st)
			}
		})
	}
	err := graph.Close()
	all.Wait()
	return errors.Join(err, st.Synchronize(), m.Free(), st.Close())
}

// TestGraphOfGoroutines launches a graph on several goroutines. NVIDIA's "Graph object thread safety" demands that calls for
// one graph do not meet, also those that only read, and cuGraphLaunch has the note.
func TestGraphOfGoroutines(t *testing.T) {
	for _, slow := range []string{"cuGraphLaunch=3", "cuGraphExecDestroy=3"} {
		slowly(t, "graph of several goroutines", slow)
	}
}
