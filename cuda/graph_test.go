package cuda_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestGraphUpdate(t *testing.T) {
	f := load(t)
	m := module(t, 1)
	k, one := kernel(t, m, "saxpy"), kernel(t, m, "add_one")
	st := must[*cuda.Stream](t)(cuda.Device(1).NewStream())
	defer st.Close()
	x := must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{1, 2, 3}))
	defer x.Free()
	y := must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{0, 0, 0}))
	defer y.Free()
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}
	work := func(a float32, n int) func() error {
		return func() error {
			if err := cuda.Fill(y, uint32(0), st); err != nil {
				return err
			}
			return errors.Join(k.Launch(c, n, a, x, y), one.Launch(c, y, y, n), k.Launch(c, n, a, x, y))
		}
	}
	graph := must[*cuda.Graph](t)(st.Capture(work(1, 3)))
	defer graph.Close()
	if l := cuda.Device(1).Live(); l.Graphs != 1 {
		t.Errorf("live on cuda:1: %+v, want 1 graph", l)
	}
	runs := func(want ...float32) {
		t.Helper()
		ok(t, graph.Launch(st))
		got := make([]float32, 3)
		ok(t, cuda.CopyOut(got, y))
		if !slices.Equal(got, want) {
			t.Errorf("the graph makes %v, want %v", got, want)
		}
	}
	runs(3, 5, 7)
	ok(t, graph.Update(st, work(10, 3)))
	runs(21, 41, 61)

	// Other work leaves the graph as it is.
	pinThread(t, f)
	err := graph.Update(st, func() error { return k.Launch(c, 3, float32(1), x, y) })
	wantDriverError(t, err, cuda.ErrGraphUpdate, "cuGraphExecUpdate")
	wantError(t, err, nil, "the graph on cuda:1 (the work has another form)", "capture a new graph")
	err = graph.Update(st, func() error {
		return errors.Join(k.Launch(c, 3, float32(1), x, y), k.Launch(c, 3, float32(1), x, y), k.Launch(c, 3, float32(1), x, y), k.Launch(c, 3, float32(1), x, y))
	})
	wantError(t, err, cuda.ErrGraphUpdate, "a part is of another kind")
	sentinel := errors.New("of f")
	if err := graph.Update(st, func() error { return sentinel }); err != sentinel {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_ = graph.Update(st, func() error { panic("of f") })
	}()
	if _, set, err := cuda.CurrentDevice(); err != nil || set {
		t.Errorf("a device is left current: %v", err)
	}
	runs(21, 41, 61)

	// One launch.
	launches := must[[]*cuda.GraphNode](t)(graph.Kernels(k))
	if len(launches) != 2 {
		t.Fatalf("%d launches of the kernel", len(launches))
	}
	inGraph := c
	inGraph.Stream = nil
	f.calls()
	ok(t, graph.SetKernel(launches[1], k, inGraph, 2, float32(100), x, y))
	f.expectCall("cuGraphExecKernelNodeSetParams grid=1,1,1 block=32,1,1 shared=0 args=02000000,0000c842," + little(x.Pointer().Address) + "," + little(y.Pointer().Address) + " extra=0")
	runs(10+1+100, 20+1+200, 30+1) // the last launch is for two elements now
	inGraph.Grid = cuda.Dim(0)
	wantError(t, graph.SetKernel(launches[1], k, inGraph, 2, float32(100), x, y), tvmffi.ErrValue, "the grid 0 x 1 x 1")
	wantError(t, graph.SetKernel(launches[1], k, c, 2, float32(100), x, y), tvmffi.ErrValue, "stay as they were captured or added")
	inGraph.Grid = cuda.Dim(1)
	wantError(t, graph.SetKernel(launches[1], k, inGraph, 2, float32(100), x), tvmffi.ErrType, "4 parameters, found 3 arguments: pass one for each")
	f.failing("cuGraphExecKernelNodeSetParams", 1, 0)
	wantDriverError(t, graph.SetKernel(launches[0], k, inGraph, 2, float32(100), x, y), cuda.ErrInvalidValue, "cuGraphExecKernelNodeSetParams")
	unread := must[*cuda.Graph](t)(st.Capture(work(1, 3)))
	defer unread.Close()
	for i := range 3 {
		f.failing([]string{"cuGraphGetNodes", "cuGraphNodeGetType", "cuGraphKernelNodeGetParams"}[i], 999, i%2)
		_, err := unread.Kernels(k)
		wantError(t, err, cuda.ErrUnknown)
		f.reset()
	}
	runs(111, 221, 31)

	there := must[*cuda.Stream](t)(cuda.Device(0).NewStream())
	defer there.Close()
	wantError(t, graph.Update(there, work(1, 3)), tvmffi.ErrValue, "the stream is of cuda:0, the graph on cuda:1")
	wantError(t, graph.Update(nil, work(1, 3)), tvmffi.ErrValue, "nil")
	var none *cuda.Graph
	wantError(t, none.Update(st, work(1, 3)), tvmffi.ErrValue, "nil")
	_, err = graph.Kernels(nil)
	wantError(t, err, tvmffi.ErrValue, "the kernel is nil")
	ok(t, graph.Close())
	ok(t, graph.Close())
	wantError(t, graph.Update(st, work(1, 3)), tvmffi.ErrValue, "is closed")
	_, err = graph.Kernels(k)
	wantError(t, err, tvmffi.ErrValue, "is closed")
	wantError(t, graph.SetKernel(launches[0], k, inGraph, 2, float32(100), x, y), tvmffi.ErrValue, "is closed")
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
	m := must[*cuda.Memory](t)(cuda.AllocOf(1, []int32{1, 1, 1}))
	defer m.Free()
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Int32, 3))
	defer x.Release()
	st := must[*cuda.Stream](t)(cuda.Device(1).NewStream())
	defer st.Close()
	work := func(value int) func() error {
		return func() error { _, err := fill.Call(x, value, os.Getenv("TVMFFI_CUDA_LIBRARY")); return err }
	}
	graph := must[*cuda.Graph](t)(st.Capture(work(7)))
	defer graph.Close()
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
	ok(t, graph.Update(st, work(8)))
	reads(7)
	ok(t, graph.Launch(nil))
	reads(8)
	f.failing("cuMemsetD32Async", 700, 0)
	_, err := st.Capture(work(9))
	wantError(t, err, tvmffi.ErrRuntime, "cuMemsetD32Async failed with 700")
}

func TestGraphs(t *testing.T) {
	f := load(t)
	m := module(t, 0)
	k := kernel(t, m, "saxpy")
	st := must[*cuda.Stream](t)(cuda.Device(0).NewStream())
	defer st.Close()
	x := must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2, 3}))
	defer x.Free()
	y := must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{0, 0, 0}))
	defer y.Free()
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
	_, err := st.Capture(func() error { return st.Synchronize() })
	wantError(t, err, tvmffi.ErrValue, "Synchronize inside Capture")
	for _, fail := range []string{"cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags"} {
		f.failing(fail, 901, 0)
		_, err := st.Capture(work)
		wantError(t, err, cuda.ErrCaptureInvalidated)
		f.reset()
	}
	f.failing("cuStreamEndCapture", 901, 0)
	_, err = st.Capture(work)
	wantDriverError(t, err, cuda.ErrCaptureInvalidated, "cuStreamEndCapture")
	other := must[*cuda.Stream](t)(cuda.Device(0).NewStream())
	defer other.Close()
	def := must[*cuda.Stream](t)(cuda.Device(0).DefaultStream())
	_, err = def.Capture(work)
	wantError(t, err, tvmffi.ErrValue, "the default stream cannot be captured")
	var none *cuda.Stream
	_, err = none.Capture(work)
	wantError(t, err, tvmffi.ErrValue, "nil")
}
