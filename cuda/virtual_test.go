package cuda_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const granule = 2 << 20 // of the driver without a GPU

// growing maps physical memory of one granule at each offset of new addresses.
func growing(t *testing.T, d cuda.Device, size int64, offsets ...int64) *cuda.Addresses {
	t.Helper()
	a := must[*cuda.Addresses](t)(d.Reserve(size))
	t.Cleanup(func() { ok(t, a.Close()) })
	for _, offset := range offsets {
		p := must[*cuda.Physical](t)(d.AllocPhysical(1))
		ok(t, a.Map(offset, p))
		ok(t, p.Close()) // the mapping keeps it
	}
	return a
}

// TestGrowingMemory lets memory grow in place while work is queued on it.
func TestGrowingMemory(t *testing.T) {
	f := load(t)
	least, best, err := cuda.Device(1).Granularity()
	if ok(t, err); least != granule || best != granule {
		t.Errorf("the granularity is %d and %d", least, best)
	}
	st := newStream(t, 1, cuda.NonBlocking())
	a := growing(t, 1, 3*granule-5, 0)
	if a.Size() != 3*granule {
		t.Errorf("%d bytes of addresses, want a multiple of the granularity", a.Size())
	}
	if l := cuda.Device(1).Live(); l.Addresses != 1 || l.Physical != 0 {
		t.Errorf("live are %+v", l)
	}
	first := must[*cuda.Memory](t)(a.Memory(0, granule))
	ok(t, cuda.Fill(first, uint8(3), st))
	p := must[*cuda.Physical](t)(cuda.Device(1).AllocPhysical(granule))
	if l := cuda.Device(1).Live(); l.Physical != 1 || p.Size() != granule || p.Device() != 1 {
		t.Errorf("live are %+v, the memory has %d bytes on %s", l, p.Size(), p.Device())
	}
	_, err = a.Memory(granule-1, 2)
	wantError(t, err, tvmffi.ErrValue, "nothing is mapped at 2097152")
	f.calls()
	ok(t, a.Map(granule, p))
	f.expectCall("cuMemSetAccess " + hex(first.Pointer().Address+granule) + " 2097152 1=3")
	ok(t, p.Close())
	both := must[*cuda.Memory](t)(a.Memory(0, 2*granule))
	if both.Pointer() != first.Pointer() {
		t.Error("the memory did not grow in place")
	}
	ok(t, cuda.CopyInAt(both, granule-2, []byte{1, 2, 3, 4}, st)) // across the two pieces
	got := make([]byte, 6)
	ok(t, cuda.CopyOutAt(got[:5], both, granule-3, st))
	if !slices.Equal(got, []byte{3, 1, 2, 3, 4, 0}) {
		t.Errorf("the memory holds %v", got)
	}
	ok(t, cuda.Fill(must[*cuda.Memory](t)(a.Memory(granule, granule)), uint64(5), st))
	ok(t, a.Unmap(granule)) // it waits for the fill
	wantError(t, cuda.Fill(both, uint8(0), st), tvmffi.ErrValue, "nothing is mapped at 2097152")
	ok(t, cuda.Fill(first, uint8(4), st))
	ok(t, first.Free()) // a view: nothing happens
	ok(t, cuda.CopyOutAt(got, first, 0, st))
	if got[5] != 4 {
		t.Errorf("the memory holds %v, want 4 in all bytes", got)
	}
	ok(t, cuda.Fill(first, uint8(5), st))
	ok(t, a.Close()) // it waits too
	ok(t, a.Close())
	wantError(t, cuda.Fill(first, uint8(0), st), tvmffi.ErrValue, "is closed")
	wantError(t, a.Map(0, p), tvmffi.ErrValue, "the physical memory of cuda:1 is closed")
}

// TestVirtualPeers lets both devices use one mapping.
func TestVirtualPeers(t *testing.T) {
	f := load(t)
	a := growing(t, 0, 2*granule, 0)
	k := kernel(t, module(t, 1), "add_one")
	there := newStream(t, 1, cuda.NonBlocking())
	launch := func(m *cuda.Memory) error {
		return k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: there}, m, m, int32(4))
	}
	wantError(t, launch(must[*cuda.Memory](t)(a.Memory(0, 64))), tvmffi.ErrValue, "the memory is on cuda:0", "by AllowAccess of its addresses")
	f.calls()
	ok(t, a.AllowAccess(1))
	ok(t, a.AllowAccess(1))
	if calls := only(f.calls(), "cuMemSetAccess"); len(calls) != 1 || !hasSuffix(calls[0].args, " 2097152 1=3") {
		t.Errorf("the calls are %v", calls)
	}
	p := must[*cuda.Physical](t)(cuda.Device(0).AllocPhysical(1))
	ok(t, a.Map(granule, p))
	ok(t, p.Close())
	m := must[*cuda.Memory](t)(a.Memory(0, 2*granule))
	f.expectCall("cuMemSetAccess " + hex(m.Pointer().Address+granule) + " 2097152 0=3 1=3")
	st := newStream(t, 0)
	ok(t, cuda.Fill(m, float32(1), st))
	ok(t, st.Synchronize())
	ok(t, launch(m))
	ok(t, a.Unmap(granule)) // it waits for both devices
	got := make([]float32, 5)
	ok(t, cuda.CopyOutAt(got, must[*cuda.Memory](t)(a.Memory(0, granule)), 0, st))
	if !slices.Equal(got, []float32{2, 2, 2, 2, 1}) {
		t.Errorf("the memory holds %v, want what the kernel of the other device wrote", got)
	}
	wantError(t, a.AllowAccess(9), tvmffi.ErrValue, "there is no device cuda:9")
}

func TestBadVirtual(t *testing.T) {
	f := load(t)
	d := cuda.Device(0)
	a := growing(t, d, 4*granule, granule)
	p := must[*cuda.Physical](t)(d.AllocPhysical(2 * granule))
	plain := must[*cuda.Physical](t)(d.AllocPhysical(1))
	var noPhysical *cuda.Physical
	var noAddresses *cuda.Addresses
	f.calls()
	for _, c := range []struct {
		err  error
		text string
	}{
		{a.Map(0, p), "memory of 4194304 bytes at 0: memory of 2097152 bytes is mapped at 2097152; unmap it first"},
		{a.Map(granule, plain), "is mapped at 2097152"},
		{a.Map(3*granule, p), "is not inside the 8388608 bytes of addresses"},
		{a.Map(-granule, p), "is not inside"},
		{a.Map(5, plain), "the offset 5 is not a multiple of the granularity of cuda:0, which is 2097152 bytes: see Device.Granularity"},
		{a.Map(math.MaxInt64, p), "is not inside"},
		{a.Map(0, nil), "nil"},
		{a.Map(0, noPhysical), "the physical memory is nil"},
		{noAddresses.Map(0, p), "the range of addresses is nil"},
		{a.Unmap(0), "no mapping begins at 0"},
	} {
		wantError(t, c.err, tvmffi.ErrValue, c.text)
	}
	for _, c := range [][2]int64{{0, 1}, {-1, 1}, {granule, -1}, {granule, granule + 1}, {1, math.MaxInt64}, {3 * granule, 1}} {
		_, err := a.Memory(c[0], c[1])
		wantError(t, err, tvmffi.ErrValue, "memory of")
	}
	for _, n := range []int64{0, -1} {
		_, err := d.AllocPhysical(n)
		wantError(t, err, tvmffi.ErrValue, "the size is not positive")
	}
	f.expect() // nothing of this reached the driver
	_, err := d.Reserve(math.MaxInt64)
	wantError(t, err, tvmffi.ErrValue, "too large")
	_, err = d.AllocPhysical(1 << 40)
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuMemCreate")
	_, err = plain.File()
	wantDriverError(t, err, cuda.ErrInvalidValue, "cuMemExportToShareableHandle")
	wantError(t, err, nil, "it must be made with cuda.PhysicalForFile()")
	f.failing("cuMemMap", 1, 0)
	wantDriverError(t, a.Map(2*granule, plain), cuda.ErrInvalidValue, "cuMemMap")
	f.failing("cuMemSetAccess", 999, 0)
	wantDriverError(t, a.Map(0, plain), cuda.ErrUnknown, "cuMemSetAccess")
	ok(t, a.Map(0, plain)) // nothing was left there
	f.failing("cuMemSetAccess", 999, 1)
	wantError(t, a.AllowAccess(1), cuda.ErrUnknown)
	ok(t, a.AllowAccess(1))
	f.failing("cuMemUnmap", 999, 0)
	wantDriverError(t, a.Unmap(0), cuda.ErrUnknown, "cuMemUnmap")
	f.failing("cuCtxSynchronize", 999, 0)
	wantDriverError(t, a.Unmap(0), cuda.ErrUnknown, "cuCtxSynchronize")
	f.failing("cuCtxSynchronize", 700, 0)
	wantDriverError(t, a.Unmap(0), cuda.ErrIllegalAddress, "cuCtxSynchronize")
	wantError(t, a.Unmap(0), tvmffi.ErrValue, "no mapping begins at 0") // a device that is lost does no work
	st := newStream(t, d, cuda.NonBlocking())
	graph := must[*cuda.Graph](t)(st.Capture(func() error {
		wantError(t, a.Unmap(granule), tvmffi.ErrValue, "inside Capture")
		wantError(t, a.Close(), tvmffi.ErrValue, "inside Capture")
		unmapped := make(chan error)
		go func() { unmapped <- a.Unmap(granule) }()
		wantError(t, <-unmapped, tvmffi.ErrValue, "a stream of cuda:0 is captured")
		return cuda.Fill(must[*cuda.Memory](t)(a.Memory(granule, 8)), uint8(1), st)
	}))
	ok(t, graph.Close())
	f.failing("cuMemAddressFree", 999, 0)
	wantDriverError(t, a.Close(), cuda.ErrUnknown, "cuMemAddressFree")
	ok(t, a.Close())
	ok(t, p.Close())
	ok(t, p.Close())
	ok(t, plain.Close())
	ok(t, noPhysical.Close())
	ok(t, noAddresses.Close())
	_, err = p.File()
	wantError(t, err, tvmffi.ErrValue, "is closed")
}

// TestMulticast compares calls and arguments. That a write reaches all devices can be seen on devices with NVSwitch alone.
func TestMulticast(t *testing.T) {
	f := load(t)
	least, best, err := cuda.Device(0).MulticastGranularity(2)
	if ok(t, err); least != granule || best != 2*granule {
		t.Errorf("the granularity is %d and %d", least, best)
	}
	f.calls()
	m := must[*cuda.Multicast](t)(cuda.NewMulticast(granule+1, 0, 1))
	f.expect("cuCtxGetCurrent", "cuCtxSetCurrent 0", "cuMulticastGetGranularity 2 0", "cuMulticastCreate 2 4194304", "cuMulticastAddDevice 10", "cuMulticastAddDevice 11", "cuCtxSetCurrent -1")
	if l := cuda.Device(0).Live(); l.Multicasts != 1 || m.Size() != 2*granule {
		t.Errorf("live are %+v, %d bytes", l, m.Size())
	}
	var parts [2]*cuda.Physical
	for d := range cuda.Device(2) {
		parts[d] = must[*cuda.Physical](t)(d.AllocPhysical(2 * granule))
		ok(t, m.Bind(granule, parts[d], 0, granule))
		f.expectCall("cuMulticastBindMem 2097152 0 2097152 0")
	}
	a := must[*cuda.Addresses](t)(cuda.Device(1).Reserve(2 * granule))
	ok(t, a.Map(0, m))
	x := must[*cuda.Memory](t)(a.Memory(granule, 64))
	st := newStream(t, 1)
	ok(t, cuda.Fill(x, uint8(1), st))
	f.calls()
	small := must[*cuda.Physical](t)(cuda.Device(0).AllocPhysical(1))
	f.calls()
	var none *cuda.Multicast
	for _, c := range []struct {
		err  error
		text string
	}{
		{m.Bind(3*granule, small, 0, granule), "are not inside the multicast memory of 4194304 bytes"},
		{m.Bind(0, small, 0, 0), "are not inside"},
		{m.Bind(0, small, 0, 100), "both must be multiples of 2097152"},
		{m.Bind(0, small, 0, 2*granule), "are not inside the physical memory of 2097152 bytes"},
		{m.Bind(0, small, 5, granule), "not inside the physical memory of 2097152 bytes, or not at a multiple"},
		{m.Bind(0, nil, 0, granule), "the physical memory is nil"},
		{none.Bind(0, small, 0, granule), "the multicast memory is nil"},
		{m.Unbind(0, -granule, granule), "are not inside"},
		{m.Unbind(3, 0, granule), "there is no device cuda:3"},
	} {
		wantError(t, c.err, tvmffi.ErrValue, c.text)
	}
	for _, devices := range [][]cuda.Device{{}, {0, 0}, {0, 2}} {
		_, err := cuda.NewMulticast(1, devices...)
		wantError(t, err, tvmffi.ErrValue)
	}
	_, err = cuda.NewMulticast(0, 0, 1)
	wantError(t, err, tvmffi.ErrValue, "not positive")
	f.expect() // nothing of this reached the driver
	wantDriverError(t, m.Bind(granule, small, 0, granule), cuda.ErrInvalidValue, "cuMulticastBindMem")
	alone := must[*cuda.Multicast](t)(cuda.NewMulticast(1, 1))
	wantError(t, alone.Bind(0, small, 0, granule), tvmffi.ErrValue, "cuda:0 is not a device of the multicast memory")
	ok(t, alone.Close())
	f.failing("cuMulticastAddDevice", 801, 1)
	_, err = cuda.NewMulticast(1, 0, 1)
	wantDriverError(t, err, cuda.ErrNotSupported, "cuMulticastAddDevice")
	ok(t, a.Close())
	for d := range cuda.Device(2) {
		f.calls()
		ok(t, m.Unbind(d, granule, granule))
		// After the work of both devices, which may use the memory.
		calls := f.calls()
		end := slices.IndexFunc(calls, func(c call) bool { return c.name == "cuMulticastUnbind" })
		if end < 0 || len(only(slices.Clone(calls[:end]), "cuCtxSynchronize")) != 2 {
			t.Errorf("calls %q, want two waits before the end", calls)
		}
		ok(t, parts[d].Close())
	}
	ok(t, small.Close())
	ok(t, m.Close())
	ok(t, m.Close())
	wantError(t, m.Unbind(0, 0, granule), tvmffi.ErrValue, "the multicast memory is closed")
}
