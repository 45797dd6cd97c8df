package cuda_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestPools(t *testing.T) {
	f := load(t)
	retain(t, f)
	pinThread(t, f)
	p := closes[*cuda.Pool](t)(cuda.Device(1).NewPool())
	f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 1", "cuMemPoolCreate 1 1 0", "cuCtxSetCurrent -1")
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
	_, err := p.Alloc(-1, st)
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

func TestHostCalls(t *testing.T) {
	f := load(t)
	st := closes[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	f.calls()
	var order []int
	for i := range 100 {
		call := must[*cuda.HostCall](t)(st.Call(func() error {
			order = append(order, i)
			if i%2 == 1 {
				return fmt.Errorf("call %d", i)
			}
			return nil
		}))
		<-call.Done()
		if err := call.Err(); (err != nil) != (i%2 == 1) || err != nil && err.Error() != fmt.Sprintf("call %d", i) {
			t.Errorf("call %d returned %v", i, err)
		}
	}
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Errorf("called in the order %v", order)
	}
	if n := len(only(f.calls(), "cuLaunchHostFunc")); n != 100 {
		t.Errorf("%d functions were queued", n)
	}
	panics := must[*cuda.HostCall](t)(st.Call(func() error { panic("of f") }))
	<-panics.Done()
	wantPanic(t, panics.Err(), "panic in a function that a stream called: of f", "TestHostCalls")

	_, err := st.Call(nil)
	wantError(t, err, tvmffi.ErrValue, "the function for the stream is nil")
	var none *cuda.Stream
	_, err = none.Call(func() error { return nil })
	wantError(t, err, tvmffi.ErrValue, "the stream is nil")
}
