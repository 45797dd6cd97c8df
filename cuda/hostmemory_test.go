//go:build linux

package cuda_test

import (
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// outside returns memory that is not Go's: an aligned part of pinned memory of the
// driver would be registered already, so it is mapped.
func outside(t *testing.T, bytes int) tvmffi.Pointer {
	t.Helper()
	p := must[[]byte](t)(syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	t.Cleanup(func() { ok(t, syscall.Munmap(p)) })
	return tvmffi.Pointer{Address: uintptr(unsafe.Pointer(&p[0]))}
}

func TestHostOptions(t *testing.T) {
	f := load(t)
	for _, c := range []struct {
		options []cuda.HostOption
		call    string
		mapped  bool
	}{
		{nil, "cuMemHostAlloc 32 1", true},
		{[]cuda.HostOption{cuda.HostMapped()}, "cuMemHostAlloc 32 3", true},
		{[]cuda.HostOption{cuda.HostWriteCombined()}, "cuMemHostAlloc 32 5", false},
		{[]cuda.HostOption{cuda.HostWriteCombined(), cuda.HostMapped()}, "cuMemHostAlloc 32 7", true},
	} {
		h := must[*cuda.Host[float64]](t)(cuda.AllocHost[float64](1, 4, c.options...))
		f.expectCall(c.call)
		if l := cuda.Device(1).Live(); l.Allocations != 1 || l.Bytes != 32 {
			t.Errorf("%+v for %s", l, c.call)
		}
		m, err := h.Mapped(0) // all devices can use it
		if c.mapped {
			ok(t, err)
			same := m.Pointer().Address == uintptr(unsafe.Pointer(&h.Slice()[0]))
			if combined := len(c.options) == 2; m.Size() != 32 || m.Device() != 0 || same == combined {
				t.Errorf("%s: mapped at %v of %s with %d bytes, at the address of the host: %t", c.call, m.Pointer(), m.Device(), m.Size(), same)
			}
		} else {
			wantError(t, err, tvmffi.ErrValue, "no address for kernels", "HostMapped")
		}
		ok(t, h.Free())
		if c.mapped {
			wantError(t, cuda.CopyIn(m, []float64{1}), tvmffi.ErrValue, "was freed")
		}
	}
	f.failing("cuMemHostGetDevicePointer_v2", 801, 0)
	_, err := cuda.AllocHost[int8](0, 8, cuda.HostMapped())
	wantDriverError(t, err, cuda.ErrNotSupported, "cuMemHostGetDevicePointer")
	_, err = cuda.AllocHost[int8](0, 8, cuda.HostReadOnly())
	wantError(t, err, tvmffi.ErrValue, "RegisterHost")
	empty := must[*cuda.Host[int8]](t)(cuda.AllocHost[int8](0, 0))
	ok(t, empty.Free())
}

func TestRegisterHost(t *testing.T) {
	f := load(t)
	p := outside(t, 1<<13)
	h := must[*cuda.Host[uint32]](t)(cuda.RegisterHost[uint32](1, p, 512))
	f.expectCall("cuMemHostRegister_v2 " + hex(p.Address) + " 2048 1")
	if l := cuda.Device(1).Live(); l.Allocations != 1 || l.Bytes != 2048 {
		t.Errorf("live %+v, want one allocation of 2048 bytes", l)
	}
	st := newStream(t, 1)
	copy(h.Slice(), []uint32{5, 6, 7})
	m := onDevice(t, 1, make([]byte, 2048))
	ok(t, cuda.CopyInAsync(m, h, st))
	got := make([]uint32, 3)
	ok(t, cuda.CopyOutAt(got, m, 0, st))
	if !slices.Equal(got, []uint32{5, 6, 7}) {
		t.Errorf("the device has %v, want [5 6 7]", got)
	}
	_, err := h.Mapped(1)
	wantError(t, err, tvmffi.ErrValue, "HostMapped")
	_, err = cuda.RegisterHost[uint32](1, tvmffi.Pointer{Address: p.Address + 2048}, 8) // on the same page
	wantDriverError(t, err, 712, "cuMemHostRegister")
	f.failing("cuMemHostUnregister", 999, 0)
	wantDriverError(t, h.Free(), cuda.ErrUnknown, "cuMemHostUnregister")
	ok(t, h.Free())
	if h.Slice() != nil {
		t.Error("a slice after Free")
	}
	f.reset()
	again := must[*cuda.Host[uint32]](t)(cuda.RegisterHost[uint32](1, tvmffi.Pointer{Address: p.Address + 4096}, 8, cuda.HostMapped()))
	if m := must[*cuda.Memory](t)(again.Mapped(0)); m.Pointer().Address != p.Address+4096 {
		t.Errorf("mapped at %v", m.Pointer())
	}
	ok(t, again.Free())
	unregister(t, f, p)
	_, err = cuda.RegisterHost[uint32](1, p, 8, cuda.HostReadOnly())
	wantDriverError(t, err, cuda.ErrNotSupported, "cuMemHostRegister")
	read := must[*cuda.Host[uint32]](t)(cuda.RegisterHost[uint32](0, p, 8, cuda.HostReadOnly()))
	f.expectCall("cuMemHostRegister_v2 " + hex(p.Address) + " 32 9")
	ok(t, read.Free())
	f.calls()
	for _, c := range []struct {
		p       tvmffi.Pointer
		n       int
		options []cuda.HostOption
		text    string
	}{
		{tvmffi.Pointer{}, 1, nil, "null pointer"},
		{tvmffi.Pointer{Address: p.Address + 2}, 1, nil, "not aligned for elements of 4 bytes"},
		{p, -1, nil, "-1 elements"},
		{p, 1 << 60, nil, "too large"},
		{p, 1, []cuda.HostOption{cuda.HostWriteCombined()}, "for AllocHost alone"},
	} {
		_, err := cuda.RegisterHost[uint32](1, c.p, c.n, c.options...)
		wantError(t, err, tvmffi.ErrValue, c.text)
	}
	f.expect() // nothing of this reached the driver
	f.failing("cuMemHostGetDevicePointer_v2", 999, 0)
	_, err = cuda.RegisterHost[uint32](1, p, 8, cuda.HostMapped())
	wantDriverError(t, err, cuda.ErrUnknown, "cuMemHostGetDevicePointer")
}

// unregister ends a registration of the fake whose Free was made to fail.
func unregister(t *testing.T, f *fake, p tvmffi.Pointer) {
	t.Helper()
	f.reset()
	h, err := dynlib.Open(os.Getenv("TVMFFI_CUDA_LIBRARY"))
	ok(t, err)
	address := must[uintptr](t)(h.Symbol("cuMemHostUnregister"))
	ok(t, cuda.WithDevice(0, func() error {
		if rc, _, _ := purego.SyscallN(address, p.Address); int32(rc) != 0 {
			t.Errorf("cuMemHostUnregister returns %d", int32(rc))
		}
		return nil
	}))
}

func TestPinHost(t *testing.T) {
	f := load(t)
	s := make([]float32, 1<<12)
	h := must[*cuda.Host[float32]](t)(cuda.PinHost(0, s, cuda.HostMapped()))
	s = nil
	for range 3 {
		runtime.GC() // it stays
	}
	st := newStream(t, 0)
	m := must[*cuda.Memory](t)(cuda.Device(0).AllocAsync(1<<14, st))
	ok(t, cuda.Fill(m, float32(2.5), st))
	ok(t, cuda.CopyOutAsync(h, m, st))
	ok(t, st.Synchronize())
	if got := h.Slice(); len(got) != 1<<12 || got[0] != 2.5 || got[1<<12-1] != 2.5 {
		t.Errorf("the slice begins with %v, want 2.5", got[:2])
	}
	ok(t, m.FreeAsync(st))
	_, err := cuda.PinHost(0, h.Slice())
	wantDriverError(t, err, cuda.ErrAlreadyPinned, "cuMemHostRegister")
	if text := err.Error(); !strings.Contains(text, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)") || !strings.Contains(text, "a page of the memory is pinned already") {
		t.Errorf("memory that is pinned already: %s", text)
	}
	ok(t, h.Free())
	ok(t, h.Free())
	empty := must[*cuda.Host[float32]](t)(cuda.PinHost(0, s))
	ok(t, empty.Free())
	f.failing("cuMemHostRegister_v2", 798, 0)
	_, err = cuda.PinHost(0, make([]float32, 64))
	wantDriverError(t, err, 798, "cuMemHostRegister")
	wantError(t, err, nil, "CUDA Error: 798: the driver does not describe this code, in cuMemHostRegister")
	f.failing("cuMemHostRegister_v2", 2, 0)
	_, err = cuda.PinHost(0, make([]float32, 64))
	wantDriverError(t, err, cuda.ErrOutOfMemory, "cuMemHostRegister")
	_, err = cuda.PinHost(9, make([]float32, 64))
	wantError(t, err, tvmffi.ErrValue, "there is no device cuda:9")
	runtime.GC() // what failed is not pinned any more: a pinner that is collected ends the program
	runtime.GC()
}

// TestPinHostUnregisterFails lets the end of a registration fail: the driver has the pages still, so the slice stays.
func TestPinHostUnregisterFails(t *testing.T) {
	f := load(t)
	s := make([]byte, 8192)
	at, address := weak.Make(&s[0]), uintptr(unsafe.Pointer(&s[0]))
	h := must[*cuda.Host[byte]](t)(cuda.PinHost(0, s))
	f.failing("cuMemHostUnregister", int(cuda.ErrInvalidValue), 0)
	wantError(t, h.Free(), cuda.ErrInvalidValue)
	s, h = nil, nil
	for range 3 {
		runtime.GC()
	}
	if at.Value() == nil {
		t.Error("the slice was collected while the driver has its pages")
	}
	unregister := func() {
		ok(t, cuda.WithDevice(0, func() error {
			if rc := driver.Call(driver.MemHostUnregister, address); rc != 0 {
				t.Errorf("cuMemHostUnregister returns %d", rc)
			}
			return nil
		}))
	}
	unregister()
	// The same in PinHost, after another mistake.
	s = make([]byte, 8192)
	at, address = weak.Make(&s[0]), uintptr(unsafe.Pointer(&s[0]))
	f.failing("cuMemHostGetDevicePointer_v2", int(cuda.ErrUnknown), 0)
	f.failing("cuMemHostUnregister", int(cuda.ErrInvalidValue), 0)
	_, err := cuda.PinHost(0, s, cuda.HostMapped())
	wantError(t, err, cuda.ErrUnknown, "cuMemHostGetDevicePointer", "cuMemHostUnregister")
	s = nil
	for range 3 {
		runtime.GC()
	}
	if at.Value() == nil {
		t.Error("the slice was collected while the driver has its pages")
	}
	unregister()
}

// TestPinnedSliceEnds pins a slice of Go: it is kept until Free and not longer.
func TestPinnedSliceEnds(t *testing.T) {
	load(t)
	ended := make(chan bool, 1)
	pin := func() *cuda.Host[byte] {
		s := make([]byte, 1<<16)
		runtime.AddCleanup(&s[0], func(int) { ended <- true }, 0)
		return must[*cuda.Host[byte]](t)(cuda.PinHost(0, s))
	}
	h := pin()
	if collected(ended, 50*time.Millisecond) {
		t.Error("the slice was collected before Free")
	}
	ok(t, h.Free())
	if !collected(ended, nativetest.Patience(5*time.Second)) {
		t.Error("the slice is there after Free")
	}
}

func init() { children["forgotten pin"] = forgottenPin }

// forgottenPin pins a slice and forgets the Host. The runtime ends a program that loses a pinner without Unpin.
func forgottenPin() error {
	if _, err := cuda.PinHost(0, make([]byte, 1<<16)); err != nil {
		return err
	}
	for range 5 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func TestForgottenPin(t *testing.T) {
	load(t)
	child(t, "forgotten pin", "TVMFFI_CUDA_LIBRARY="+os.Getenv("TVMFFI_CUDA_LIBRARY"))
}

func TestHostParts(t *testing.T) {
	load(t)
	st := newStream(t, 0, cuda.Blocking())
	h := must[*cuda.Host[int32]](t)(cuda.AllocHost[int32](0, 6))
	copy(h.Slice(), []int32{1, 2, 3, 4, 5, 6})
	part := must[*cuda.Host[int32]](t)(h.Part(2, 3))
	if part.Len() != 3 || !slices.Equal(part.Slice(), []int32{3, 4, 5}) {
		t.Errorf("the part holds %v, want [3 4 5]", part.Slice())
	}
	m := onDevice(t, 0, make([]byte, 24))
	ok(t, cuda.CopyInAsync(must[*cuda.Memory](t)(m.Part(4, 12)), part, st))
	ok(t, cuda.CopyOutAsync(must[*cuda.Host[int32]](t)(h.Part(0, 2)), must[*cuda.Memory](t)(m.Part(8, 8)), st))
	ok(t, st.Synchronize())
	if !slices.Equal(h.Slice(), []int32{4, 5, 3, 4, 5, 6}) {
		t.Errorf("the pinned memory holds %v, want [4 5 3 4 5 6]", h.Slice())
	}
	ok(t, part.Free()) // a view: nothing happens
	for _, c := range [][2]int{{-1, 1}, {0, 7}, {6, 1}, {1, -1}, {math.MaxInt, 1}} {
		_, err := h.Part(c[0], c[1])
		wantError(t, err, tvmffi.ErrValue, "not inside the pinned memory of 6 elements")
	}
	ok(t, h.Free())
	if part.Slice() != nil {
		t.Error("a part has a slice after Free")
	}
	wantError(t, cuda.CopyInAsync(m, part, st), tvmffi.ErrValue, "was freed")
	_, err := part.Part(0, 1)
	wantError(t, err, tvmffi.ErrValue, "was freed")
	var none *cuda.Host[int32]
	_, err = none.Part(0, 0)
	wantError(t, err, tvmffi.ErrValue, "nil")
}
