package cuda_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// loadTVMFFI loads libtvm_ffi and returns a function that asks it for the stream of
// the calling thread, like the kernels of libraries.
func loadTVMFFI(t *testing.T) func(cuda.Device) uintptr {
	t.Helper()
	ok(t, tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))))
	h := must[dynlib.Handle](t)(dynlib.Open(tvmffi.LibraryPath()))
	get := must[uintptr](t)(h.Symbol("TVMFFIEnvGetStream"))
	return func(d cuda.Device) uintptr {
		st, _, _ := purego.SyscallN(get, 2, uintptr(d))
		return st
	}
}

func TestEnvironmentStream(t *testing.T) {
	f := load(t)
	env := loadTVMFFI(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	b := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	m := frees[*cuda.Memory](t)(cuda.Device(1).Alloc(4))
	fillsOn := func(want *cuda.Stream) {
		t.Helper()
		address := uintptr(0)
		if want != nil {
			address = want.Pointer().Address
		}
		if got := env(1); got != address {
			t.Errorf("libtvm_ffi has the stream %#x, want %#x", got, address)
		}
		f.calls()
		ok(t, cuda.Fill(m, uint8(0), nil))
		f.expectCall("cuMemsetD8Async " + hex(m.Pointer().Address) + " 0 4 " + hex(address))
	}
	fillsOn(nil)
	ok(t, cuda.WithStream(a, func() error {
		fillsOn(a)
		if d, set, err := cuda.CurrentDevice(); err != nil || !set || d != 1 {
			t.Errorf("current is %s, %v, %v", d, set, err)
		}
		if env(0) != 0 {
			t.Error("the other device has a stream too")
		}
		ok(t, a.Synchronize())
		ok(t, cuda.WithStream(b, func() error { fillsOn(b); return b.Synchronize() }))
		fillsOn(a)
		done := make(chan uintptr)
		go func() { done <- env(1) }()
		if got := <-done; got != 0 {
			t.Errorf("another thread has the stream %#x", got)
		}
		return nil
	}))
	fillsOn(nil)
	sentinel := errors.New("of f")
	if err := cuda.WithStream(a, func() error { return sentinel }); err != sentinel {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = cuda.WithStream(a, func() error { panic("of f") })
	}()
	fillsOn(nil)
	wantError(t, cuda.WithStream(nil, func() error { return nil }), tvmffi.ErrValue, "nil")
	closed := must[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	ok(t, closed.Close())
	wantError(t, cuda.WithStream(closed, func() error { return sentinel }), tvmffi.ErrValue, "is closed")

	// Work without a stream inside a capture belongs to the capture.
	ok(t, cuda.Fill(m, uint8(1), nil))
	graph := closes[*cuda.Graph](t)(a.Capture(func() error { fillsOn(a); return nil }))
	got := make([]uint8, 4)
	ok(t, cuda.CopyOut(got, m))
	if got[0] != 1 {
		t.Error("the captured work has run")
	}
	ok(t, graph.Launch(a))
	ok(t, cuda.CopyOut(got, m))
	if got[0] != 0 {
		t.Error("the graph has not run")
	}
}

// TestReadOnlyTensors writes into the memory of a tensor that is read-only, in each way that Go has.
func TestReadOnlyTensors(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	const d = cuda.Device(0)
	m := frees[*cuda.Memory](t)(d.AllocManaged(16))
	ok(t, cuda.CopyIn(m, []float32{1, 2, 3, 4}))
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 4))
	defer x.Release()
	objects.StateOf(x).SetReadOnly()
	whole := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	pinned := frees[*cuda.Host[float32]](t)(cuda.AllocHost[float32](d, 2))
	st, numbers := newStream(t, d, cuda.Blocking()), []float32{5, 6}
	for _, view := range []*cuda.Memory{whole, must[*cuda.Memory](t)(whole.Part(8, 8))} {
		_, slice := cuda.ManagedSlice[float32](view)
		for way, err := range map[string]error{
			"CopyIn": cuda.CopyIn(view, numbers), "CopyInAt": cuda.CopyInAt(view, 0, numbers, st), "CopyInAsync": cuda.CopyInAsync(view, pinned, st),
			"Fill": cuda.Fill(view, float32(1), st), "Fill of halves": cuda.Fill(view, float64(1), st), "Copy": cuda.Copy(view, must[*cuda.Memory](t)(m.Part(0, 8)), st),
			"CopyRange": cuda.CopyRange(view, 0, m, 0, 4, st), "ManagedSlice": slice,
		} {
			if err == nil {
				t.Errorf("%s has written", way)
				continue
			}
			wantError(t, err, tvmffi.ErrValue, "on cuda:0 is that of a read-only tensor: copy it to other memory, and write there")
		}
		again := must[*tvmffi.Tensor](t)(view.Tensor(tvmffi.Float32, 2))
		if !again.ReadOnly() {
			t.Error("another tensor over the memory is not read-only")
		}
		again.Release()
	}
	ok(t, cuda.CopyOutAsync(pinned, must[*cuda.Memory](t)(whole.Part(0, 8)), st))
	ok(t, st.Synchronize())
	wantFloats(t, whole, 1, 2, 3, 4)
	wantFloats(t, m, 1, 2, 3, 4)
}

func TestTensors(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	m := frees[*cuda.Memory](t)(cuda.AllocOf(1, []float32{1, 2, 3, 4, 5, 6}))
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 2, 3))
	defer x.Release()
	if x.String() != "float32[2, 3]@cuda:1" || !x.Contiguous() {
		t.Errorf("the tensor is %s with strides %v, want contiguous float32[2, 3]@cuda:1", x, x.Strides())
	}
	if d := must[cuda.Device](t)(cuda.DeviceOf(x)); d != 1 {
		t.Errorf("the tensor is on %s, want cuda:1", d)
	}
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	if v.Pointer() != m.Pointer() || v.Size() != 24 || v.Device() != 1 {
		t.Errorf("the view is %v, %d bytes on %s, want %v, 24 bytes on cuda:1", v.Pointer(), v.Size(), v.Device(), m.Pointer())
	}
	got := make([]float32, 6)
	ok(t, cuda.CopyOut(got, v))
	if !slices.Equal(got, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("the view holds %v, want 1 to 6", got)
	}
	k := kernel(t, module(t, 1), "add_one")
	c := cuda.LaunchConfig{Grid: cuda.GridFor(6, 32), Block: cuda.Dim(32)}
	ok(t, k.Launch(c, x, m, int32(6)))
	ok(t, cuda.CopyOut(got, m))
	if got[5] != 7 {
		t.Errorf("the tensor holds %v, want 7 as its last element", got)
	}

	host := must[*tvmffi.Tensor](t)(tvmffi.FromSlice(got))
	defer host.Release()
	released := must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]int8{1}))
	released.Release()
	for _, bad := range []*tvmffi.Tensor{host, released, nil} {
		_, err := cuda.TensorMemory(bad)
		wantError(t, err, tvmffi.ErrValue, "the tensor")
	}
	for _, shape := range [][]int64{{7}, {2, -1}, {1 << 40, 1 << 40}} {
		_, err := m.Tensor(tvmffi.Float32, shape...)
		wantError(t, err, tvmffi.ErrValue, "tensor: ")
	}
	empty := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 0, 1<<40))
	empty.Release()
	managed := frees[*cuda.Memory](t)(cuda.Device(0).AllocManaged(24))
	y := must[*tvmffi.Tensor](t)(managed.Tensor(tvmffi.Float32, 6))
	defer y.Release()
	if y.Device().String() != "cuda_managed:0" {
		t.Errorf("the tensor is %s, want it on cuda_managed:0", y)
	}
	ok(t, k.Launch(c, y, managed, 6)) // all devices can use it
	ok(t, cuda.Device(1).Synchronize())
}
