package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// free frees memory of the fake whose Free was made to fail.
func free(t *testing.T, f *fake, address uintptr) {
	t.Helper()
	h := must[dynlib.Handle](t)(dynlib.Open(must[string](t)(cuda.DriverPath())))
	end := must[uintptr](t)(h.Symbol("cuMemFree_v2"))
	ok(t, cuda.WithDevice(0, func() error {
		if rc, _, _ := purego.SyscallN(end, address); rc != 0 {
			t.Errorf("cuMemFree failed with %d", rc)
		}
		return nil
	}))
	f.reset()
}

// TestNothing asks memory that is not there.
func TestNothing(t *testing.T) {
	load(t)
	m := must[*cuda.Memory](t)(cuda.Device(0).Alloc(64))
	part := must[*cuda.Memory](t)(m.Part(8, 8))
	if a, b := m.Pointer().Address, part.Pointer().Address; a == 0 || b != a+8 {
		t.Errorf("the memory is at %#x, its part at %#x", a, b)
	}
	ok(t, m.Free())
	var none *cuda.Memory
	for _, gone := range []*cuda.Memory{m, part, none, {}} {
		if p := gone.Pointer(); p.Address != 0 {
			t.Errorf("the pointer is %#x, want null", p.Address)
		}
	}
	var host *cuda.Host[float32]
	if m.Size() != 64 || none.Size() != 0 || host.Len() != 0 {
		t.Errorf("the sizes are %d, %d and %d, want 64, 0 and 0", m.Size(), none.Size(), host.Len())
	}
}

func roundTrip[T cuda.Scalar](t *testing.T, values ...T) {
	t.Helper()
	m := frees[*cuda.Memory](t)(cuda.AllocOf(1, values))
	got := make([]T, len(values))
	ok(t, cuda.CopyOut(got, m))
	if !slices.Equal(got, values) {
		t.Errorf("%v, want %v", got, values)
	}
}

func TestAllocErrors(t *testing.T) {
	f := load(t)
	_, err := cuda.Device(0).Alloc(1 << 40)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuMemAlloc")
	wantError(t, err, nil, "CUDA Error: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory, in cuMemAlloc for 1099511627776 bytes on cuda:0; free memory")
	_, err = cuda.Device(0).Alloc(-1)
	wantError(t, err, tvmffi.ErrValue, "-1 bytes")
	empty := must[*cuda.Memory](t)(cuda.Device(0).Alloc(0))
	ok(t, cuda.CopyIn(empty, []int32{}))
	ok(t, cuda.Fill(empty, uint8(1), nil))
	ok(t, empty.Free())

	m := must[*cuda.Memory](t)(cuda.Device(0).Alloc(16))
	part := must[*cuda.Memory](t)(m.Part(0, 8))
	if l := cuda.Device(0).Live(); l.Allocations != 1 || l.Bytes != 16 {
		t.Errorf("live on cuda:0: %+v, want 1 allocation of 16 bytes", l)
	}
	ok(t, m.Free())
	f.calls()
	ok(t, m.Free())
	for _, bad := range []*cuda.Memory{m, part} {
		wantError(t, cuda.CopyIn(bad, []uint8{1}), tvmffi.ErrValue, "was freed")
		wantError(t, cuda.CopyOut(make([]uint8, 1), bad), tvmffi.ErrValue, "was freed")
		wantError(t, cuda.Fill(bad, uint8(1), nil), tvmffi.ErrValue, "was freed")
		_, err := bad.Part(0, 1)
		wantError(t, err, tvmffi.ErrValue, "was freed")
	}
	wantError(t, cuda.CopyIn(nil, []uint8{1}), tvmffi.ErrValue, "nil")
	f.expect() // nothing of this reached the driver

	// A copy that fails leaves nothing behind.
	f.failing("cuMemcpyHtoDAsync_v2", 1, 0)
	_, err = cuda.AllocOf(0, []int32{1})
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuMemcpyHtoDAsync")
}

func TestForeignMemory(t *testing.T) {
	load(t)
	m := must[*cuda.Memory](t)(cuda.AllocOf(0, []int32{1, 2}))
	freed := 0
	sentinel := errors.New("of the owner")
	x := must[*cuda.Memory](t)(cuda.FromPointer(0, m.Pointer(), 8, func() error { freed++; return sentinel }))
	got := make([]int32, 2)
	ok(t, cuda.CopyOut(got, x))
	if err := x.Free(); err != sentinel || freed != 1 || got[1] != 2 {
		t.Errorf("Free returns %v, freed %d times, read %v: want %v, once, 2 as second element", err, freed, got, sentinel)
	}
	ok(t, x.Free())
	ok(t, m.Free())
	_, err := cuda.FromPointer(0, tvmffi.Pointer{}, 8, nil)
	wantError(t, err, tvmffi.ErrValue, "no such range")
}

func TestPinnedAndAsync(t *testing.T) {
	f := load(t)
	st := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Priority(-3)))
	f.expectCall("cuStreamCreateWithPriority 1 -3")
	h := must[*cuda.Host[float32]](t)(cuda.AllocHost[float32](1, 4))
	copy(h.Slice(), []float32{1, 2, 3, 4})
	m := must[*cuda.Memory](t)(cuda.Device(1).AllocAsync(16, st))
	ok(t, cuda.CopyInAsync(m, h, st))
	ok(t, st.Synchronize()) // the memory must not change before the copy is done
	clear(h.Slice())
	ok(t, cuda.CopyOutAsync(h, m, st))
	ok(t, st.Synchronize())
	if !slices.Equal(h.Slice(), []float32{1, 2, 3, 4}) {
		t.Errorf("the pinned memory holds %v, want [1 2 3 4]", h.Slice())
	}
	ok(t, m.FreeAsync(st))
	ok(t, m.FreeAsync(st))
	handle := hex(st.Pointer().Address)
	for _, c := range f.calls() {
		switch c.name {
		case "cuMemAllocAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemFreeAsync":
			if !hasSuffix(c.args, " "+handle) {
				t.Errorf("%s is not on the stream %s", c, handle)
			}
		}
	}
	wantError(t, cuda.CopyInAsync(m, h, st), tvmffi.ErrValue, "was freed")
	small := frees[*cuda.Memory](t)(cuda.Device(1).Alloc(8))
	wantError(t, cuda.CopyInAsync(small, h, st), tvmffi.ErrValue, "16 bytes", "8")
	there := frees[*cuda.Memory](t)(cuda.Device(0).Alloc(16))
	wantError(t, cuda.CopyInAsync(there, h, st), tvmffi.ErrValue, "the stream is of cuda:1, the operation on cuda:0")
	ok(t, h.Free())
	ok(t, h.Free())
	if h.Slice() != nil {
		t.Error("a slice after Free")
	}
	wantError(t, cuda.CopyInAsync(there, h, nil), tvmffi.ErrValue, "was freed")
	f.failing("cuMemHostAlloc", 2, 0)
	_, err := cuda.AllocHost[int8](0, 3)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuMemHostAlloc")
	_, err = cuda.AllocHost[int8](0, -3)
	wantError(t, err, tvmffi.ErrValue, "-3 elements")

	managed := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(32))
	f.expectCall("cuMemAllocManaged 32 1")
	ok(t, managed.Free())
}

// TestFreeAsyncLost frees memory of a device that is lost: the memory ends with the device, so it does not count any more.
func TestFreeAsyncLost(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	st := newStream(t, d)
	m := must[*cuda.Memory](t)(d.AllocAsync(8, st))
	address := m.Pointer().Address
	f.failing("cuMemFreeAsync", int(cuda.ErrIllegalAddress), 0)
	wantError(t, m.FreeAsync(st), cuda.ErrIllegalAddress, "memory of 8 bytes on cuda:0")
	if n := d.Live().Allocations; n != 0 {
		t.Errorf("%d allocations are live, want none", n)
	}
	if p := m.Pointer(); p.Address != 0 {
		t.Errorf("the address is %#x", p.Address)
	}
	ok(t, cuda.WithDevice(d, func() error { // which is not lost in truth
		if rc := driver.Call(driver.MemFree, address); rc != 0 {
			t.Errorf("cuMemFree: %d", rc)
		}
		return nil
	}))
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

// TestForeignPlaces gives FromPointer and TensorMemory memory that is not what they say.
func TestForeignPlaces(t *testing.T) {
	f := load(t)
	loadTVMFFI(t)
	m := onDevice(t, 1, numbered(64, 0))
	address := m.Pointer().Address
	called := 0
	free := func() error { called++; return nil }
	_, err := cuda.FromPointer(0, m.Pointer(), 8, free)
	wantError(t, err, tvmffi.ErrValue, "is on cuda:1, not on cuda:0")
	_, err = cuda.FromPointer(1, tvmffi.Pointer{Address: address + 60}, 8, free)
	wantError(t, err, tvmffi.ErrValue, "of 8 bytes on cuda:1: its allocation ends after 4 bytes")
	part := must[*cuda.Memory](t)(cuda.FromPointer(1, tvmffi.Pointer{Address: address + 60}, 4, free))
	wantBytes(t, part, nil, []byte{60, 61, 62, 63})
	ok(t, part.Free())
	empty := must[*cuda.Memory](t)(cuda.FromPointer(0, m.Pointer(), 0, nil))
	ok(t, empty.Free())
	unknown := must[*cuda.Memory](t)(cuda.FromPointer(0, tvmffi.Pointer{Address: 1 << 44}, 8, nil)) // of another driver
	ok(t, unknown.Free())
	if called != 1 {
		t.Errorf("the owner was called %d times, want once", called)
	}
	managed := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(16))
	there := must[*cuda.Memory](t)(cuda.FromPointer(1, managed.Pointer(), 16, nil))
	if s := must[[]byte](t)(cuda.ManagedSlice[byte](there)); len(s) != 16 {
		t.Errorf("the slice has %d bytes, want 16", len(s))
	}
	lie := must[*tvmffi.Tensor](t)(tvmffi.FromPointer(m.Pointer(), tvmffi.Uint8, tvmffi.CUDA(0), nil, 8))
	defer lie.Release()
	_, err = cuda.TensorMemory(lie)
	wantError(t, err, tvmffi.ErrValue, "the tensor: the memory", "is on cuda:1, not on cuda:0")
	x := must[*tvmffi.Tensor](t)(managed.Tensor(tvmffi.Uint8, 16))
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	must[[]byte](t)(cuda.ManagedSlice[byte](v)) // it is known to be managed
	x.Release()
	ok(t, managed.Free())
	f.failing("cuPointerGetAttributes", 999, 0)
	_, err = cuda.FromPointer(1, m.Pointer(), 8, free)
	wantDriverError(t, err, cuda.ErrUnknown, "cuPointerGetAttributes")
}

func TestPools(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	p := closes[*cuda.Pool](t)(cuda.Device(1).NewPool())
	f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1", "cuMemPoolCreate 1 1 0", "cuCtxSetCurrent -1")
	_, err := cuda.Device(0).NewPool(cuda.PoolMaxSize(-1))
	wantError(t, err, tvmffi.ErrValue, "a memory pool on cuda:0: the limit of -1 bytes is negative: pass 0 for none")
	limited := must[*cuda.Pool](t)(cuda.Device(0).NewPool(cuda.PoolMaxSize(1 << 20)))
	f.expectCall("cuMemPoolCreate 1 0 1048576")
	if l := cuda.Device(1).Live(); l.Pools != 1 || p.Device() != 1 {
		t.Errorf("%+v, on %s", l, p.Device())
	}
	st := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	m := must[*cuda.Memory](t)(p.Alloc(64, st))
	f.expectCall("cuMemAllocFromPoolAsync 64 " + hex(st.Pointer().Address))
	ok(t, cuda.CopyIn(m, []uint8{1, 2}))
	read := func(p *cuda.Pool, a cuda.PoolAttribute) int64 { return must[int64](t)(p.Attribute(a)) }
	if used, high, reserved := read(p, cuda.PoolUsed), read(p, cuda.PoolUsedHigh), read(p, cuda.PoolReserved); used != 64 || high != 64 || reserved != 64 {
		t.Errorf("used %d, high %d, reserved %d", used, high, reserved)
	}
	shared := must[*cuda.Pool](t)(cuda.Device(1).DefaultPool())
	if n := read(shared, cuda.PoolUsed); n != 0 {
		t.Errorf("the default pool has %d bytes of another pool", n)
	}
	n := must[*cuda.Memory](t)(cuda.Device(1).AllocAsync(32, st))
	if used := read(shared, cuda.PoolUsed); used != 32 {
		t.Errorf("AllocAsync took %d bytes of the default pool", used)
	}
	ok(t, n.Free())
	ok(t, m.FreeAsync(st))
	ok(t, st.Synchronize())
	if used, high := read(p, cuda.PoolUsed), read(p, cuda.PoolUsedHigh); used != 0 || high != 64 {
		t.Errorf("used %d, high %d after FreeAsync", used, high)
	}
	ok(t, p.SetAttribute(cuda.PoolUsedHigh, 0))
	ok(t, p.SetAttribute(cuda.PoolReuseOpportunistic, 0))
	ok(t, p.SetAttribute(cuda.PoolReleaseThreshold, 1<<40))
	f.expectCall("cuMemPoolSetAttribute 4 1099511627776")
	if on, follow, threshold := read(p, cuda.PoolReuseOpportunistic), read(p, cuda.PoolReuseFollowEvents), read(p, cuda.PoolReleaseThreshold); on != 0 || follow != 1 || threshold != 1<<40 {
		t.Errorf("reuse %d, %d, threshold %d", on, follow, threshold)
	}
	ok(t, p.Trim(16))
	f.expectCall("cuMemPoolTrimTo 16")
	if n := read(p, cuda.PoolReserved); n != 16 {
		t.Errorf("%d bytes are reserved after Trim", n)
	}
	ok(t, p.AllowAccess(0))
	f.expectCall("cuMemPoolSetAccess 1 0 3 1")

	// Memory from a pool outlives the pool.
	late := must[*cuda.Memory](t)(limited.Alloc(16, nil))
	ok(t, limited.Close())
	ok(t, limited.Close())
	ok(t, cuda.CopyIn(late, []int32{1}))
	ok(t, late.Free())
	ok(t, shared.Close())
	ok(t, shared.Trim(0)) // nothing happened: the pool is not ours

	empty := must[*cuda.Memory](t)(p.Alloc(0, st))
	ok(t, empty.Free())
	f.calls()
	_, err = p.Alloc(-1, st)
	wantError(t, err, tvmffi.ErrValue, "-1 bytes")
	_, err = limited.Alloc(16, nil)
	wantError(t, err, tvmffi.ErrValue, "the memory pool of cuda:0 is closed")
	var none *cuda.Pool
	_, err = none.Alloc(16, nil)
	wantError(t, err, tvmffi.ErrValue, "nil", "DefaultPool")
	wantError(t, p.SetAttribute(cuda.PoolReleaseThreshold, -1), tvmffi.ErrValue, "-1 is negative")
	wantError(t, p.AllowAccess(7), tvmffi.ErrValue, "there is no device cuda:7")
	f.expect() // nothing of this reached the driver
	there := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	_, err = p.Alloc(16, there)
	wantError(t, err, tvmffi.ErrValue, "the stream is of cuda:0, the operation on cuda:1")
	wantDriverError(t, p.SetAttribute(cuda.PoolUsed, 1), cuda.ErrInvalidValue, "cuMemPoolSetAttribute")
	_, err = p.Attribute(99)
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuMemPoolGetAttribute")
	wantError(t, err, nil, "attribute 99 of the memory pool of cuda:1")
	_, err = p.Alloc(1<<40, st)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuMemAllocFromPoolAsync")
	if _, set, err := cuda.CurrentDevice(); err != nil || set {
		t.Errorf("a device is left current: %v", err)
	}
}

func TestManagedSlice(t *testing.T) {
	load(t)
	m := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(10))
	s := must[[]float32](t)(cuda.ManagedSlice[float32](m))
	if len(s) != 2 {
		t.Fatalf("%d elements", len(s))
	}
	copy(s, []float32{1, 2})
	got := make([]float32, 2)
	ok(t, cuda.CopyOut(got, m))
	if !slices.Equal(got, s) {
		t.Errorf("the device has %v", got)
	}
	odd := must[*cuda.Memory](t)(m.Part(1, 8))
	_, err := cuda.ManagedSlice[float32](odd)
	wantError(t, err, tvmffi.ErrValue, "not aligned for elements of 4 bytes")
	ok(t, m.Free())
	_, err = cuda.ManagedSlice[uint8](m)
	wantError(t, err, tvmffi.ErrValue, "was freed")
	plain := frees[*cuda.Memory](t)(cuda.Device(0).Alloc(8))
	_, err = cuda.ManagedSlice[uint8](plain)
	wantError(t, err, tvmffi.ErrValue, "is not managed", "AllocManaged")
}

// TestReleasedTensor uses memory of a tensor after the release of the tensor.
func TestReleasedTensor(t *testing.T) {
	loadTVMFFI(t)
	const d = cuda.Device(0)
	st := newStream(t, d, cuda.Blocking())
	m := frees[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1, 2}))
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 2))
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	ok(t, cuda.Fill(v, float32(3), st))
	ok(t, st.Synchronize())
	x.Release()
	for name, err := range map[string]error{
		"Keep": st.Keep(v), "Fill": cuda.Fill(v, float32(4), st), "CopyIn": cuda.CopyIn(v, []float32{5, 6}), "CopyOut": cuda.CopyOut(make([]float32, 2), v),
	} {
		if err == nil {
			t.Errorf("%s takes memory of a tensor that was released", name)
			continue
		}
		wantError(t, err, nil, "released")
	}
}

// TestPartOfTensor launches on another device with a part of the memory of a tensor.
func TestPartOfTensor(t *testing.T) {
	loadTVMFFI(t)
	m0 := module(t, 0)
	k := kernel(t, m0, "add_one")
	pool := closes[*cuda.Pool](t)(cuda.Device(1).NewPool())
	ok(t, pool.AllowAccess(0))
	far := newStream(t, 1, cuda.Blocking())
	m := must[*cuda.Memory](t)(pool.Alloc(32, far))
	ok(t, cuda.Fill(m, float32(1), far))
	ok(t, far.Synchronize())
	x := must[*tvmffi.Tensor](t)(m.Tensor(tvmffi.Float32, 8))
	defer x.Release()
	v := must[*cuda.Memory](t)(cuda.TensorMemory(x))
	part := must[*cuda.Memory](t)(v.Part(8, 16))
	c := cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32)}
	ok(t, k.Launch(c, v, v, 4))
	ok(t, k.Launch(c, part, part, 4))
	ok(t, cuda.Device(0).Synchronize())
	ok(t, m.Free())
}

func init() { children["FreeAsync twice"] = freeAsyncTwice }

// TestFreeAsyncOfGoroutines frees memory on two goroutines at once: it is freed once.
func TestFreeAsyncOfGoroutines(t *testing.T) { slowly(t, "FreeAsync twice", "cuCtxGetCurrent=3") }

func freeAsyncTwice() error {
	const d = cuda.Device(0)
	st := need(d.NewStream(cuda.Blocking()))
	for range 5 {
		m := need(d.AllocAsync(16, st))
		var all sync.WaitGroup
		var failed [3]error
		for i := range failed {
			all.Go(func() { failed[i] = m.FreeAsync(st) })
		}
		all.Wait()
		needs(errors.Join(failed[:]...))
	}
	if l := d.Live(); l.Allocations != 0 {
		return fmt.Errorf("%+v is live", l)
	}
	return errors.Join(st.Synchronize(), st.Close())
}
