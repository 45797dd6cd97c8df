package cuda_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda"
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

func TestCopies(t *testing.T) {
	load(t)
	type named float32
	roundTrip(t, true, false, true)
	roundTrip(t, int8(-1), 2, math.MinInt8)
	roundTrip(t, uint16(1), 65535)
	roundTrip(t, int32(-7), math.MaxInt32)
	roundTrip(t, uint64(1), math.MaxUint64)
	roundTrip(t, float32(1.5), float32(math.Inf(-1)))
	roundTrip(t, named(2.5))
	roundTrip(t, 1e300, -0.5)
	roundTrip(t, complex(1, -2), 3)
	roundTrip[int64](t)

	m := frees[*cuda.Memory](t)(cuda.AllocOf(0, []uint8{0, 1, 2, 3, 4, 5, 6, 7}))
	part := must[*cuda.Memory](t)(m.Part(2, 4))
	ok(t, cuda.CopyIn(part, []uint8{20, 30}))
	other := frees[*cuda.Memory](t)(cuda.Device(1).Alloc(8))
	ok(t, cuda.Copy(other, m, nil)) // to the other device
	same := frees[*cuda.Memory](t)(cuda.Device(1).Alloc(8))
	ok(t, cuda.Copy(same, other, nil))
	got := make([]uint8, 8)
	ok(t, cuda.CopyOut(got, same))
	if !slices.Equal(got, []uint8{0, 1, 20, 30, 4, 5, 6, 7}) {
		t.Errorf("the memory holds %v, want 20 and 30 at offset 2", got)
	}
	ok(t, part.Free()) // a view: nothing happens
	wantError(t, cuda.CopyIn(m, make([]uint8, 9)), tvmffi.ErrValue, "the slice has 9 bytes", "has 8")
	wantError(t, cuda.CopyOut(make([]int64, 2), m), tvmffi.ErrValue, "the slice has 16 bytes")
	wantError(t, cuda.Copy(part, m, nil), tvmffi.ErrValue, "the source has 8 bytes", "4")
	for _, c := range [][2]int64{{-1, 1}, {0, 9}, {8, 1}, {1, -1}, {math.MaxInt64, 1}, {1, math.MaxInt64}} {
		_, err := m.Part(c[0], c[1])
		wantError(t, err, tvmffi.ErrValue, "not inside")
	}
}

func TestFill(t *testing.T) {
	f := load(t)
	m := frees[*cuda.Memory](t)(cuda.Device(0).Alloc(8))
	read := func() []uint8 {
		got := make([]uint8, 8)
		ok(t, cuda.CopyOut(got, m))
		return got
	}
	ok(t, cuda.Fill(m, int8(-2), nil))
	if got := read(); !slices.Equal(got, slices.Repeat([]uint8{254}, 8)) {
		t.Errorf("the memory holds %v, want 254 in all bytes", got)
	}
	ok(t, cuda.Fill(m, uint16(0x0201), nil))
	if got := read(); !slices.Equal(got, slices.Repeat([]uint8{1, 2}, 4)) {
		t.Errorf("the memory holds %v, want 0x201 in all elements", got)
	}
	ok(t, cuda.Fill(m, float32(1), nil))
	if got := read(); !slices.Equal(got, []uint8{0, 0, 128, 63, 0, 0, 128, 63}) {
		t.Errorf("the memory holds %v, want float32(1) in both elements", got)
	}
	odd := must[*cuda.Memory](t)(m.Part(1, 4))
	f.calls()
	wantError(t, cuda.Fill(odd, uint32(1), nil), tvmffi.ErrValue, "not an array of elements of 4 bytes")
	f.expect()
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

func TestStreamsAndEvents(t *testing.T) {
	f := load(t)
	a := closes[*cuda.Stream](t)(cuda.Device(0).NewStream(cuda.Blocking()))
	b := must[*cuda.Stream](t)(cuda.Device(1).NewStream(cuda.Blocking()))
	from := closes[*cuda.Event](t)(cuda.Device(0).NewEvent(cuda.Timing()))
	to := closes[*cuda.Event](t)(cuda.Device(0).NewEvent(cuda.Timing(), cuda.BlockingSync()))
	plain := closes[*cuda.Event](t)(cuda.Device(0).NewEvent())
	got := only(f.calls(), "cuEventCreate")
	if len(got) != 3 || got[0].args != "0" || got[1].args != "1" || got[2].args != "2" {
		t.Errorf("the calls are %v, want arguments 0, 1, 2", got)
	}
	ok(t, from.Record(a))
	ok(t, to.Record(a))
	ok(t, to.Synchronize())
	if d := must[time.Duration](t)(cuda.Elapsed(from, to)); d != 1500*time.Microsecond {
		t.Errorf("elapsed %v, want 1.5ms", d)
	}
	ok(t, b.Wait(to)) // an event of the other device
	f.failing("cuEventQuery", 600, 0)
	if done := must[bool](t)(to.Done()); done {
		t.Error("done, but the driver says not ready")
	}
	if done := must[bool](t)(to.Done()); !done {
		t.Error("not done")
	}
	f.failing("cuStreamQuery", 600, 0)
	if done := must[bool](t)(a.Done()); done {
		t.Error("done, but the driver says not ready")
	}
	f.failing("cuStreamQuery", 700, 0)
	_, err := a.Done()
	wantDriverError(t, err, cuda.ErrIllegalAddress, "cuStreamQuery")
	_, err = cuda.Elapsed(from, plain)
	wantError(t, err, tvmffi.ErrValue, "cuda.Timing()")
	wantError(t, from.Record(b), tvmffi.ErrValue, "the stream is of cuda:1")
	ok(t, b.Close())
	ok(t, b.Close())
	wantError(t, b.Synchronize(), tvmffi.ErrValue, "the stream of cuda:1 is closed")
	wantError(t, b.Wait(to), tvmffi.ErrValue, "is closed")
	var none *cuda.Stream
	wantError(t, none.Synchronize(), tvmffi.ErrValue, "nil")
	wantError(t, a.Wait(nil), tvmffi.ErrValue, "nil")
	def := must[*cuda.Stream](t)(cuda.Device(1).DefaultStream())
	ok(t, def.Synchronize())
	ok(t, def.Close())
	ok(t, def.Synchronize())
	if def.Pointer().Address != 0 || def.Device() != 1 {
		t.Errorf("the default stream is %v of %s", def.Pointer(), def.Device())
	}
}
