package gputest

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// mapped allocates physical memory and maps it at an offset.
func mapped(t *testing.T, a *cuda.Addresses, d cuda.Device, offset, bytes int64) {
	t.Helper()
	p, err := d.AllocPhysical(bytes)
	supported(t, "virtual memory", err)
	ok(t, a.Map(offset, p))
	ok(t, p.Close()) // the mapping keeps it
}

// TestVirtualMemory lets memory grow in place, uses it by kernels across the two pieces, and takes one away.
func TestVirtualMemory(t *testing.T) {
	for d, m := range prepare(t) {
		device, k := cuda.Device(d), kernel(t, m, "add_one")
		st := streamOn(t, device, cuda.NonBlocking())
		_, granule, err := device.Granularity()
		supported(t, "virtual memory", err)
		a, err := device.Reserve(3 * granule)
		supported(t, "virtual memory", err)
		t.Cleanup(func() { ok(t, a.Close()) })
		mapped(t, a, device, 0, granule)
		first, err := a.Memory(0, granule)
		ok(t, err)
		n := int(granule / 4)
		ok(t, cuda.CopyInAt(first, 0, ramp(n), st))
		ok(t, adds(k, st, first, first))
		if _, err := a.Memory(0, 2*granule); err == nil {
			t.Errorf("%s: memory of %d bytes, and %d are mapped", device, 2*granule, granule)
		}
		mapped(t, a, device, granule, granule)
		both, err := a.Memory(0, 2*granule)
		ok(t, err)
		if both.Pointer() != first.Pointer() {
			t.Errorf("%s: the memory did not grow in place", device)
		}
		second, err := a.Memory(granule, granule)
		ok(t, err)
		ok(t, cuda.Fill(second, float32(7), st))
		ok(t, adds(k, st, both, both)) // one kernel for both pieces
		got := make([]float32, 2*n)
		ok(t, cuda.CopyOutAt(got, both, 0, st))
		if want := append(plus(n, 2), slices.Repeat([]float32{8}, n)...); !slices.Equal(got, want) {
			t.Errorf("%s: the pieces begin with %v and %v, want %v and 8", device, got[:4], got[n:n+4], want[:4])
		}
		ok(t, a.Unmap(granule))
		if err := adds(k, st, both, both); err == nil {
			t.Errorf("%s: a kernel takes memory that is not mapped any more", device)
		}
		ok(t, adds(k, st, first, first))
		ok(t, st.Synchronize())
		wantNumbers(t, first, plus(n, 3))
	}
}

// TestVirtualPeers lets a kernel of one device use virtual memory of another one.
func TestVirtualPeers(t *testing.T) {
	modules := prepare(t)
	if len(modules) < 2 {
		unsupported(t, "this machine has one device")
	}
	can, err := cuda.Device(1).CanAccessPeer(0)
	ok(t, err)
	if !can {
		unsupported(t, "cuda:1 cannot use memory of cuda:0")
	}
	a, err := cuda.Device(0).Reserve(1)
	supported(t, "virtual memory", err)
	t.Cleanup(func() { ok(t, a.Close()) })
	mapped(t, a, 0, 0, 1)
	x, err := a.Memory(0, 4000)
	ok(t, err)
	ok(t, cuda.CopyIn(x, ramp(1000)))
	k, st := kernel(t, modules[1], "add_one"), streamOn(t, 1, cuda.NonBlocking())
	if err := adds(k, st, x, x); err == nil {
		t.Error("a kernel of cuda:1 takes memory that it may not use")
	}
	ok(t, a.AllowAccess(1))
	ok(t, adds(k, st, x, x))
	ok(t, st.Synchronize())
	wantNumbers(t, x, plus(1000, 1))
}

// TestMulticast writes on all devices by one kernel. The fake driver has no memory that does so: there it compares
// nothing but what the calls return.
func TestMulticast(t *testing.T) {
	modules := prepare(t)
	if len(modules) < 2 {
		unsupported(t, "this machine has one device")
	}
	var devices []cuda.Device
	for d := range modules {
		v, err := cuda.Device(d).Attribute(cuda.MulticastSupported)
		if onFake() == nil && (err != nil || v == 0) {
			unsupported(t, "multicast memory, which needs NVSwitch, on %s (%v)", cuda.Device(d), err)
		}
		devices = append(devices, cuda.Device(d))
	}
	_, size, err := cuda.Device(0).MulticastGranularity(len(devices))
	supported(t, "multicast memory", err)
	m, err := cuda.NewMulticast(size, devices...)
	supported(t, "multicast memory", err)
	t.Cleanup(func() { ok(t, m.Close()) })
	const n = 1000
	var each []*cuda.Memory
	for _, d := range devices {
		p, err := d.AllocPhysical(m.Size())
		ok(t, err)
		ok(t, m.Bind(0, p, 0, m.Size()))
		t.Cleanup(func() { ok(t, m.Unbind(d, 0, m.Size())) })
		a, err := d.Reserve(m.Size())
		ok(t, err)
		t.Cleanup(func() { ok(t, a.Close()) })
		ok(t, a.Map(0, p))
		ok(t, p.Close())
		x, err := a.Memory(0, 4*n)
		ok(t, err)
		ok(t, cuda.CopyIn(x, ramp(n)))
		each = append(each, x)
	}
	a, err := cuda.Device(0).Reserve(m.Size())
	ok(t, err)
	t.Cleanup(func() { ok(t, a.Close()) })
	ok(t, a.Map(0, m))
	all, err := a.Memory(0, 4*n)
	ok(t, err)
	module, err := loadFile(0, "multicast")
	ok(t, err)
	t.Cleanup(func() { ok(t, module.Close()) })
	st := streamOn(t, 0, cuda.NonBlocking())
	ok(t, kernel(t, module, "write_all").Launch(cuda.LaunchConfig{Grid: cuda.GridFor(n, 256), Block: cuda.Dim(256), Stream: st}, all, float32(3), int32(n)))
	ok(t, st.Synchronize())
	want := slices.Repeat([]float32{3}, n)
	if onFake() != nil {
		want = ramp(n)
	}
	for _, x := range each {
		wantNumbers(t, x, want)
	}
}
