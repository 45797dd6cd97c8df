package cuda_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestAbout(t *testing.T) {
	f := load(t)
	m := onDevice(t, 1, make([]byte, 64))
	pool := must[*cuda.Pool](t)(cuda.Device(0).NewPool(cuda.PoolForFile()))
	defer pool.Close()
	pooled := must[*cuda.Memory](t)(pool.Alloc(32, nil))
	managed := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(48))
	host := must[*cuda.Host[byte]](t)(cuda.AllocHost[byte](1, 16))
	at := func(p uintptr) tvmffi.Pointer { return tvmffi.Pointer{Address: p} }
	h := uintptr(unsafe.Pointer(&host.Slice()[0]))
	d, p, g := m.Pointer().Address, pooled.Pointer().Address, managed.Pointer().Address
	for _, c := range []struct {
		name string
		p    uintptr
		want cuda.PointerInfo
	}{
		{"inside memory", d + 63, cuda.PointerInfo{Kind: cuda.OnDeviceMemory, Device: 1, Base: at(d), Size: 64, OnDevice: at(d + 63), ForIPC: true}},
		{"a pool", p, cuda.PointerInfo{Kind: cuda.OnDeviceMemory, Device: 0, Base: at(p), Size: 32, OnDevice: at(p), ForFile: true}},
		{"managed", g, cuda.PointerInfo{Kind: cuda.OnDeviceMemory, Device: 0, Managed: true, Base: at(g), Size: 48, OnDevice: at(g), OnHost: at(g)}},
		{"host", h + 4, cuda.PointerInfo{Kind: cuda.OnHostMemory, Device: 1, Base: at(h), Size: 16, OnDevice: at(h + 4), OnHost: at(h + 4)}},
		{"Go", uintptr(unsafe.Pointer(new([8]int))), cuda.PointerInfo{Device: -1}},
		{"null", 0, cuda.PointerInfo{Device: -1}},
	} {
		for dev := range cuda.Device(2) {
			if got := must[cuda.PointerInfo](t)(dev.About(at(c.p))); got != c.want {
				t.Errorf("%s asked on %s: %+v, want %+v", c.name, dev, got, c.want)
			}
		}
	}
	for k, want := range map[cuda.PointerKind]string{cuda.UnknownMemory: "unknown", cuda.OnHostMemory: "host", cuda.OnDeviceMemory: "device"} {
		if k.String() != want {
			t.Errorf("%d is %q, want %q", k, k, want)
		}
	}
	_, err := cuda.Device(5).About(at(1))
	wantError(t, err, tvmffi.ErrValue, "there is no device cuda:5")
	for _, code := range []int{1, 201} { // what some drivers say of unknown memory
		f.failing("cuPointerGetAttributes", code, 0)
		if info := must[cuda.PointerInfo](t)(cuda.Device(0).About(at(d))); info.Kind != cuda.UnknownMemory {
			t.Errorf("%+v after error %d", info, code)
		}
	}
	f.failing("cuPointerGetAttributes", 700, 0)
	_, err = cuda.Device(0).About(at(d))
	wantDriverError(t, err, cuda.ErrIllegalAddress, "cuPointerGetAttributes")
	wantError(t, err, nil, "the address 0x")
	ok(t, host.Free())
	ok(t, managed.Free())
	ok(t, pooled.FreeAsync(nil))
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

func TestManagedMemory(t *testing.T) {
	f := load(t)
	m := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(1 << 16))
	st := newStream(t, 0, cuda.NonBlocking())
	if info := must[cuda.ManagedInfo](t)(m.ManagedInfo()); info.ReadMostly || info.HasPreferred || info.HasPrefetch || len(info.AccessedBy) != 0 {
		t.Errorf("new memory has %+v", info)
	}
	f.calls()
	ok(t, m.Prefetch(0, st))
	f.expectCall("cuMemPrefetchAsync " + hex(m.Pointer().Address) + " 65536 10 " + hex(st.Pointer().Address))
	ok(t, m.Advise(cuda.AdviseReadMostly, 0))
	ok(t, m.Advise(cuda.AdvisePreferred, cuda.OnHost))
	f.expectCall("cuMemAdvise " + hex(m.Pointer().Address) + " 65536 3 -1")
	ok(t, m.Advise(cuda.AdviseAccessedBy, 0))
	ok(t, m.Advise(cuda.AdviseAccessedBy, cuda.OnHost))
	info := must[cuda.ManagedInfo](t)(m.ManagedInfo())
	if !info.ReadMostly || !info.HasPreferred || info.Preferred != cuda.OnHost || !info.HasPrefetch || info.Prefetched != 0 || !slices.Equal(info.AccessedBy, []cuda.Device{cuda.OnHost, 0}) {
		t.Errorf("the memory has %+v", info)
	}
	half := must[*cuda.Memory](t)(m.Part(0, 1<<15))
	ok(t, half.Prefetch(cuda.OnHost, st))
	ok(t, half.Advise(cuda.UnadviseReadMostly, 0))
	ok(t, half.Advise(cuda.UnadvisePreferred, 0))
	ok(t, half.Advise(cuda.UnadviseAccessedBy, 0))
	if info := must[cuda.ManagedInfo](t)(m.ManagedInfo()); info.ReadMostly || info.HasPreferred || info.HasPrefetch || !slices.Equal(info.AccessedBy, []cuda.Device{cuda.OnHost}) {
		t.Errorf("memory whose half is different has %+v", info)
	}
	if info := must[cuda.ManagedInfo](t)(half.ManagedInfo()); !info.HasPrefetch || info.Prefetched != cuda.OnHost {
		t.Errorf("the half has %+v", info)
	}
	wantDriverError(t, m.Prefetch(1, st), cuda.ErrInvalidDevice, "cuMemPrefetchAsync") // without concurrent access
	wantError(t, m.Advise(cuda.AdvisePreferred, 1), cuda.ErrInvalidDevice, "65536 managed bytes and cuda:1")
	plain := onDevice(t, 0, make([]byte, 8))
	ok(t, st.Synchronize())
	f.calls()
	wantError(t, m.Prefetch(7, st), tvmffi.ErrValue, "there is no device cuda:7")
	wantError(t, m.Advise(cuda.AdvisePreferred, -2), tvmffi.ErrValue, "there is no device")
	wantError(t, m.Advise(0, 0), tvmffi.ErrValue, "advice 0: it is from 1 to 6")
	wantError(t, m.Advise(7, 0), tvmffi.ErrValue, "advice 7")
	wantError(t, plain.Prefetch(0, st), tvmffi.ErrValue, "not managed", "AllocManaged")
	wantError(t, plain.Advise(cuda.AdviseReadMostly, 0), tvmffi.ErrValue, "not managed")
	_, err := plain.ManagedInfo()
	wantError(t, err, tvmffi.ErrValue, "not managed")
	var none *cuda.Memory
	wantError(t, none.Prefetch(0, st), tvmffi.ErrValue, "nil")
	empty := must[*cuda.Memory](t)(cuda.Device(0).AllocManaged(0))
	ok(t, empty.Prefetch(0, st))
	ok(t, empty.Advise(cuda.AdviseReadMostly, 0))
	f.expect()
	for skip := range 4 {
		f.failing("cuMemRangeGetAttribute", 999, skip)
		_, err = m.ManagedInfo()
		wantDriverError(t, err, cuda.ErrUnknown, "cuMemRangeGetAttribute")
	}
	ok(t, m.Free())
	wantError(t, m.Prefetch(0, st), tvmffi.ErrValue, "was freed")
}
