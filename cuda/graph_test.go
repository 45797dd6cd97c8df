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
