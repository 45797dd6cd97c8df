package cuda_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ones is work for add_one: what is at a plus 1 goes to b.
type ones struct {
	k    *cuda.Kernel
	a, b *cuda.Memory
}

func (o ones) on(st *cuda.Stream) error {
	return o.k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}, o.a, o.b, 4)
}

func newOnes(t *testing.T, d cuda.Device) ones {
	t.Helper()
	o := ones{kernel(t, module(t, d), "add_one"), must[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1, 2, 3, 4})), must[*cuda.Memory](t)(cuda.AllocOf(d, make([]float32, 4)))}
	t.Cleanup(func() { ok(t, errors.Join(o.a.Free(), o.b.Free())) })
	return o
}

func wantFloats(t *testing.T, m *cuda.Memory, want ...float32) {
	t.Helper()
	got := make([]float32, len(want))
	ok(t, cuda.CopyOut(got, m))
	if !slices.Equal(got, want) {
		t.Errorf("the memory holds %v, want %v", got, want)
	}
}

func newStream(t *testing.T, d cuda.Device, options ...cuda.StreamOption) *cuda.Stream {
	t.Helper()
	st := must[*cuda.Stream](t)(d.NewStream(options...))
	t.Cleanup(func() { ok(t, st.Close()) })
	return st
}

// TestCopiesComeAfter reads what was queued before without waiting for it, on all streams
// that the docs of CopyIn name.
func TestCopiesComeAfter(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	o := newOnes(t, 1)
	blocking, free := newStream(t, 1, cuda.Blocking()), newStream(t, 1)
	def := must[*cuda.Stream](t)(cuda.Device(1).DefaultStream())
	for _, st := range []*cuda.Stream{blocking, def} {
		ok(t, cuda.CopyIn(o.b, make([]float32, 4)))
		ok(t, o.on(st))
		wantFloats(t, o.b, 2, 3, 4, 5)
		ok(t, o.on(st)) // reads what the copy overwrites
		ok(t, cuda.CopyIn(o.a, []float32{5, 6, 7, 8}))
		wantFloats(t, o.b, 2, 3, 4, 5)
		ok(t, cuda.CopyIn(o.a, []float32{1, 2, 3, 4}))
	}
	ok(t, cuda.WithStream(free, func() error {
		ok(t, cuda.CopyIn(o.b, make([]float32, 4)))
		ok(t, o.on(nil))
		wantFloats(t, o.b, 2, 3, 4, 5)
		return nil
	}))
	m := must[*cuda.Memory](t)(cuda.Device(1).AllocAsync(16, blocking))
	ok(t, cuda.CopyIn(m, []float32{1, 2, 3, 4}))
	ok(t, m.FreeAsync(blocking))
	ok(t, o.on(blocking))
	f.failing("cuCtxGetCurrent", 3, 0)
	wantError(t, blocking.Close(), cuda.ErrNotInitialized) // it is still open
	wantFloats(t, o.b, 2, 3, 4, 5)
	ok(t, blocking.Close()) // it is not asked any more
	wantFloats(t, o.b, 2, 3, 4, 5)
}

// TestFreeWaits frees memory and modules while queued work uses them; the violations are
// those that load looks for.
func TestFreeWaits(t *testing.T) {
	load(t)
	o := newOnes(t, 1)
	st, other := newStream(t, 1), newStream(t, 1)
	pool := must[*cuda.Pool](t)(cuda.Device(1).NewPool())
	for _, alloc := range []func() (*cuda.Memory, error){
		func() (*cuda.Memory, error) { return cuda.Device(1).AllocAsync(16, st) },
		func() (*cuda.Memory, error) { return pool.Alloc(16, st) },
		func() (*cuda.Memory, error) { return cuda.Device(1).Alloc(16) },
		func() (*cuda.Memory, error) { return cuda.Device(1).AllocManaged(16) },
	} {
		m := must[*cuda.Memory](t)(alloc())
		ready := must[*cuda.Event](t)(cuda.Device(1).NewEvent())
		ok(t, ready.Record(st))
		ok(t, other.Wait(ready))
		ok(t, ones{o.k, o.a, m}.on(other)) // not the stream that it was allocated on
		ok(t, m.Free())
		ok(t, m.Free())
		ok(t, ready.Close())
	}

	// The stream of the allocation is gone.
	gone := must[*cuda.Stream](t)(cuda.Device(1).NewStream())
	m := must[*cuda.Memory](t)(cuda.Device(1).AllocAsync(16, gone))
	n := must[*cuda.Memory](t)(pool.Alloc(16, gone))
	ok(t, errors.Join(ones{o.k, o.a, m}.on(gone), ones{o.k, o.a, n}.on(gone)))
	ok(t, gone.Close())
	ok(t, m.Free())
	ok(t, n.FreeAsync(nil)) // after Free, which has waited

	h := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 4))
	ok(t, cuda.CopyOutAsync(h, o.a, other))
	ok(t, h.Free())
	module := must[*cuda.Module](t)(cuda.Device(1).LoadModule([]byte(ptx)))
	ok(t, ones{kernel(t, module, "add_one"), o.a, o.b}.on(other))
	ok(t, module.Close())
	ok(t, module.Close())
	ok(t, pool.Close())
}

// TestFreeAsyncOfOthers refuses what a stream cannot free, and leaves it as it was.
func TestFreeAsyncOfOthers(t *testing.T) {
	f := load(t)
	st := newStream(t, 0, cuda.Blocking())
	m := must[*cuda.Memory](t)(cuda.AllocOf(0, []int32{1, 2}))
	freed := 0
	foreign := must[*cuda.Memory](t)(cuda.FromPointer(0, m.Pointer(), 8, func() error { freed++; return nil }))
	managed := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(8))
	f.calls()
	for _, m := range []*cuda.Memory{foreign, managed} {
		wantError(t, m.FreeAsync(st), tvmffi.ErrValue, "FreeAsync of memory on cuda:0", "call Free")
	}
	f.expect()
	if freed != 0 {
		t.Errorf("the function of the owner was called %d times by FreeAsync", freed)
	}
	ok(t, cuda.CopyOut(make([]int32, 2), foreign))
	ok(t, foreign.Free())
	ok(t, foreign.Free())
	if freed != 1 {
		t.Errorf("the function of the owner was called %d times", freed)
	}
	ok(t, managed.Free())
	at := m.Pointer()
	ok(t, m.FreeAsync(st)) // NVIDIA: in the order of a stream, too
	f.expectCall("cuMemFreeAsync " + hex(at.Address) + " " + hex(st.Pointer().Address))
}

var defaultPoolIsShared bool

// TestPeers launches on one device with memory of the other, with and without access.
func TestPeers(t *testing.T) {
	load(t)
	loadTVMFFI(t)
	for _, d := range []cuda.Device{0, 1} { // an access of an earlier test ends with the context
		ok(t, d.Release())
	}
	k := kernel(t, module(t, 1), "add_one")
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	to := frees[*cuda.Memory](t)(cuda.AllocOf(1, make([]float32, 4)))
	plain := frees[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2, 3, 4}))
	part := must[*cuda.Memory](t)(plain.Part(0, 16))
	tensor := must[*tvmffi.Tensor](t)(plain.Tensor(tvmffi.Float32, 4))
	defer tensor.Release()
	view := must[*cuda.Memory](t)(cuda.TensorMemory(tensor))
	pool := closes[*cuda.Pool](t)(cuda.Device(0).NewPool())
	st := newStream(t, 0, cuda.Blocking())
	pooled := frees[*cuda.Memory](t)(pool.Alloc(16, st))
	ok(t, cuda.CopyIn(pooled, []float32{1, 2, 3, 4}))
	const remedy = "copy it there first, or let cuda:1 use it by "
	refused := func(arg any, text string) {
		t.Helper()
		wantError(t, k.Launch(c, arg, to, 4), tvmffi.ErrValue, "argument 0: the ", "is on cuda:0", "on cuda:1", text)
	}
	accepted := func(arg any) {
		t.Helper()
		ok(t, cuda.CopyIn(to, make([]float32, 4)))
		ok(t, k.Launch(c, arg, to, 4))
		wantFloats(t, to, 2, 3, 4, 5)
	}
	refused(plain, remedy+"Device.EnablePeerAccess")
	refused(part, remedy+"Device.EnablePeerAccess")
	refused(view, remedy+"Device.EnablePeerAccess")
	refused(tensor, remedy+"Device.EnablePeerAccess or Pool.AllowAccess")
	refused(pooled, remedy+"AllowAccess of its pool")
	ok(t, cuda.Device(0).EnablePeerAccess(1)) // the other direction
	refused(plain, remedy)
	ok(t, cuda.Device(1).EnablePeerAccess(0))
	ok(t, cuda.Device(1).EnablePeerAccess(0))
	for _, arg := range []any{plain, part, view, tensor} {
		accepted(arg)
	}
	refused(pooled, remedy+"AllowAccess of its pool") // which the driver keeps apart
	ok(t, pool.AllowAccess(1))
	accepted(pooled)
	usual := frees[*cuda.Memory](t)(cuda.Device(0).AllocAsync(16, st))
	ok(t, cuda.CopyIn(usual, []float32{1, 2, 3, 4}))
	if !defaultPoolIsShared { // nothing ends that
		refused(usual, remedy+"AllowAccess of its pool")
	}
	defaultPoolIsShared = true
	ok(t, must[*cuda.Pool](t)(cuda.Device(0).DefaultPool()).AllowAccess(1))
	accepted(usual)
	if n := testing.AllocsPerRun(100, func() { ok(t, k.Launch(c, pooled, to, 4)) }); n != 0 && !raceEnabled {
		t.Errorf("a launch with memory of a peer allocates %v times", n)
	}
	ok(t, cuda.Device(1).Synchronize()) // Free waits for the device of the memory only
}

// TestSticky compares what is said about codes after which a device is lost.
func TestSticky(t *testing.T) {
	f := load(t)
	for code, name := range map[cuda.Code]string{
		214: "CUDA_ERROR_ECC_UNCORRECTABLE", 220: "CUDA_ERROR_NVLINK_UNCORRECTABLE", 226: "CUDA_ERROR_CONTAINED", 700: "CUDA_ERROR_ILLEGAL_ADDRESS",
		702: "CUDA_ERROR_LAUNCH_TIMEOUT", 709: "CUDA_ERROR_CONTEXT_IS_DESTROYED", 710: "CUDA_ERROR_ASSERT", 714: "CUDA_ERROR_HARDWARE_STACK_ERROR",
		715: "CUDA_ERROR_ILLEGAL_INSTRUCTION", 716: "CUDA_ERROR_MISALIGNED_ADDRESS", 717: "CUDA_ERROR_INVALID_ADDRESS_SPACE", 718: "CUDA_ERROR_INVALID_PC",
		719: "CUDA_ERROR_LAUNCH_FAILED", 721: "CUDA_ERROR_TENSOR_MEMORY_LEAK", 725: "", 726: "", 911: "CUDA_ERROR_EXTERNAL_DEVICE",
	} {
		f.failing("cuCtxSynchronize", int(code), 0)
		err := cuda.Device(0).Synchronize()
		var e *cuda.Error
		if !errors.As(err, &e) || !e.Sticky() || e.Name != name || !errors.Is(err, code) {
			t.Errorf("%d: %#v, want a sticky %q", int(code), err, name)
		}
		wantError(t, err, tvmffi.ErrRuntime, "no call on this device succeeds until the process ends")
		f.reset()
	}
	for _, code := range []cuda.Code{1, 2, 600, 701, 720, 900, 901, 999} {
		f.failing("cuCtxSynchronize", int(code), 0)
		var e *cuda.Error
		if err := cuda.Device(0).Synchronize(); !errors.As(err, &e) || e.Sticky() || strings.Contains(err.Error(), "until the process ends") {
			t.Errorf("%d: %#v is sticky", int(code), err)
		}
		f.reset()
	}
	for code := cuda.Code(900); code <= 908; code++ {
		if text := code.Error(); !strings.HasPrefix(text, "CUDA_ERROR_") {
			t.Errorf("%d is called %q", int(code), text)
		}
	}
}

// owned is what a tensor over memory of a device keeps alive.
type owned struct{ _ [64]byte }

// heldTensor returns a tensor and whether the collector has ended what it keeps.
//
//go:noinline
func heldTensor(t *testing.T, m *cuda.Memory) (*tvmffi.Tensor, func() bool) {
	o, ended := new(owned), new(atomic.Bool)
	runtime.AddCleanup(o, func(b *atomic.Bool) { b.Store(true) }, ended)
	tensor := must[*tvmffi.Tensor](t)(tvmffi.FromPointer(m.Pointer(), tvmffi.Float32, tvmffi.CUDA(0), o, 4))
	return tensor, func() bool {
		for range 50 {
			runtime.GC()
			if ended.Load() {
				return true
			}
			runtime.Gosched()
		}
		return false
	}
}

// TestKeep releases tensors that queued work uses.
func TestKeep(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	o := newOnes(t, 0)
	st := newStream(t, 0)
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}
	for name, wait := range map[string]func() error{
		"Synchronize":            st.Synchronize,
		"Synchronize of cuda:0":  cuda.Device(0).Synchronize,
		"the next Keep, a while": func() error { return errors.Join(cuda.CopyOut(make([]float32, 4), o.a), st.Synchronize(), st.Keep()) },
	} {
		tensor, ended := heldTensor(t, o.a)
		ok(t, o.k.Launch(c, tensor, o.b, 4))
		ok(t, st.Keep(tensor, 1, nil, o.b))
		tensor.Release()
		if ended() {
			t.Errorf("%s: the tensor has ended before the kernel", name)
		}
		ok(t, wait())
		if !ended() {
			t.Errorf("%s: the tensor is still kept", name)
		}
	}
	tensor, ended := heldTensor(t, o.a)
	view := must[*cuda.Memory](t)(cuda.TensorMemory(tensor))
	ok(t, cuda.Fill(view, float32(1), st))
	ok(t, st.Keep(view))
	wantError(t, cuda.Device(0).Release(), tvmffi.ErrValue, "in use")
	tensor.Release()
	if ended() {
		t.Error("the tensor of the view has ended before the kernel")
	}
	ok(t, st.Synchronize())
	runtime.KeepAlive(view)

	released, _ := heldTensor(t, o.a)
	released.Release()
	f.calls()
	wantError(t, st.Keep(1, released), tvmffi.ErrValue, "value 1 to keep: the tensor was released")
	var none *cuda.Stream
	wantError(t, none.Keep(1), tvmffi.ErrValue, "the stream is nil")
	wantError(t, new(cuda.Stream).Keep(1), tvmffi.ErrValue, "a zero Stream stands for nothing, in the call of Stream.Keep")
	f.expect()
	ok(t, st.Synchronize())
	if n := testing.AllocsPerRun(20, func() { ok(t, o.on(st)) }); n != 0 && !raceEnabled {
		t.Errorf("a launch allocates %v times", n)
	}
}

// TestKeepOfLostDevice lets values go when the device is lost.
func TestKeepOfLostDevice(t *testing.T) {
	f := load(t)
	m := must[*cuda.Module](t)(cuda.Device(0).LoadModule([]byte(ptx)))
	mem := must[*cuda.Memory](t)(cuda.Device(0).Alloc(16))
	st := must[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: st}
	ok(t, kernel(t, m, "crash").Launch(c))
	ok(t, st.Keep("a value"))
	wantError(t, cuda.Device(0).Synchronize(), cuda.ErrIllegalAddress)
	wantError(t, mem.Free(), cuda.ErrIllegalAddress) // and it is freed
	if l := cuda.Device(0).Live(); l.Allocations != 0 {
		t.Errorf("live: %+v", l)
	}
	f.reset()
	ok(t, errors.Join(m.Close(), st.Close()))
	ok(t, cuda.Device(0).Release()) // nothing is kept
}
