package cuda_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestCopyOnEither copies between devices on a stream of the source and on one of the destination.
func TestCopyOnEither(t *testing.T) {
	load(t)
	from, to := must[*cuda.Memory](t)(cuda.AllocOf(0, []float32{1, 2})), must[*cuda.Memory](t)(cuda.AllocOf(1, []float32{0, 0}))
	defer func() { ok(t, errors.Join(from.Free(), to.Free())) }()
	for d := range cuda.Device(2) {
		st := newStream(t, d)
		ok(t, cuda.CopyIn(to, []float32{0, 0}))
		ok(t, cuda.Copy(to, from, st))
		ok(t, st.Synchronize())
		wantFloats(t, to, 1, 2)
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
	bools := make([]bool, 8)
	ok(t, cuda.CopyOut(bools, same))
	if raw := unsafe.Slice((*byte)(unsafe.Pointer(&bools[0])), 8); !slices.Equal(raw, []byte{0, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("bools have the bytes %v", raw)
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

// TestCopyAbandons lets the wait of a copy fail: the device may still write to the slice, which stays in memory.
func TestCopyAbandons(t *testing.T) {
	f := load(t)
	const d = cuda.Device(0)
	m := frees[*cuda.Memory](t)(cuda.AllocOf(d, make([]byte, 1<<16)))
	ended := make(chan bool, 1)
	func() {
		s := make([]byte, 1<<16)
		runtime.AddCleanup(&s[0], func(int) { ended <- true }, 0)
		f.failing("cuStreamSynchronize", int(cuda.ErrUnknown), 0)
		wantError(t, cuda.CopyOut(s, m), cuda.ErrUnknown)
	}()
	if collected(ended, 50*time.Millisecond) {
		t.Error("the slice was collected")
	}
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

func TestCopyRange(t *testing.T) {
	f := load(t)
	st := newStream(t, 0)
	a, b := onDevice(t, 0, numbered(16, 0)), onDevice(t, 0, make([]byte, 16))
	there := onDevice(t, 1, numbered(8, 100))
	ok(t, cuda.CopyRange(b, 3, a, 5, 4, st))
	ok(t, cuda.CopyRange(b, 12, there, 2, 3, st)) // of the other device
	ok(t, cuda.CopyRange(a, 0, a, 8, 8, st))      // in one allocation
	wantBytes(t, b, st, []byte{0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0, 0, 102, 103, 104, 0})
	wantBytes(t, a, st, []byte{8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15})
	freed := must[*cuda.Memory](t)(cuda.Device(0).Alloc(16))
	ok(t, freed.Free())
	f.calls()
	ok(t, cuda.CopyRange(b, 16, a, 0, 0, st))
	wantError(t, cuda.CopyRange(a, 0, a, 7, 8, st), tvmffi.ErrValue, "overlap", "copy through other memory")
	wantError(t, cuda.CopyRange(a, 1, a, 0, 8, st), tvmffi.ErrValue, "overlap")
	wantError(t, cuda.CopyRange(b, 13, a, 0, 4, st), tvmffi.ErrValue, "the destination: the part of 4 bytes at 13 is not inside the memory of 16 bytes")
	wantError(t, cuda.CopyRange(b, 0, a, -1, 4, st), tvmffi.ErrValue, "the source", "at -1")
	wantError(t, cuda.CopyRange(b, 0, a, 1, math.MaxInt64, st), tvmffi.ErrValue, "not inside")
	wantError(t, cuda.CopyRange(b, 0, a, 0, -4, st), tvmffi.ErrValue, "-4 bytes")
	wantError(t, cuda.CopyRange(nil, 0, a, 0, 4, st), tvmffi.ErrValue, "the destination: the memory is nil")
	wantError(t, cuda.CopyRange(b, 0, freed, 0, 4, st), tvmffi.ErrValue, "the source", "was freed")
	f.expect() // nothing of this reached the driver
}

// TestCopySlices copies slices of Go on a stream that does not wait for the default one.
func TestCopySlices(t *testing.T) {
	f := load(t)
	st := newStream(t, 1)
	m := must[*cuda.Memory](t)(cuda.Device(1).AllocAsync(32, st))
	ok(t, cuda.Fill(m, uint8(9), st))
	src := []float32{1, 2, 3}
	ok(t, cuda.CopyInAt(m, 8, src, st))
	clear(src) // the call does not use it any more
	got := make([]float32, 3)
	nine := make([]bool, 1)
	ok(t, cuda.CopyOutAt(nine, m, 0, st))
	if raw := *(*byte)(unsafe.Pointer(&nine[0])); raw != 1 {
		t.Errorf("the byte 9 is a bool with the byte %d", raw)
	}
	ok(t, cuda.CopyOutAt(got, m, 8, st))
	if !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("copied %v, want [1 2 3]", got)
	}
	handle := hex(st.Pointer().Address)
	for _, c := range f.calls() {
		if (c.name == "cuMemcpyHtoDAsync_v2" || c.name == "cuMemcpyDtoHAsync_v2" || c.name == "cuStreamSynchronize") && !hasSuffix(c.args, handle) {
			t.Errorf("%s is not on the stream %s", c, handle)
		}
	}
	ok(t, cuda.CopyInAt(m, 32, []int8{}, st))
	ok(t, cuda.CopyOutAt([]int8(nil), m, 0, st))
	wantError(t, cuda.CopyInAt(m, 24, make([]int32, 3), st), tvmffi.ErrValue, "the part of 12 bytes at 24", "32 bytes")
	wantError(t, cuda.CopyOutAt(make([]int8, 1), m, -1, st), tvmffi.ErrValue, "not inside")
	wantError(t, cuda.CopyInAt(nil, 0, src, st), tvmffi.ErrValue, "nil")
	f.expect()
	other := newStream(t, 0, cuda.Blocking())
	wantError(t, cuda.CopyInAt(m, 0, src, other), tvmffi.ErrValue, "the stream is of cuda:0")
	graph, err := st.Capture(func() error { return cuda.CopyInAt(m, 0, src, st) })
	wantError(t, err, tvmffi.ErrValue, "inside Capture", "CopyInAsync")
	if graph != nil {
		t.Error("there is a graph")
	}
	for _, name := range []string{"cuStreamIsCapturing", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"} {
		f.failing(name, 999, 0)
		wantError(t, cuda.CopyInAt(m, 0, src, st), cuda.ErrUnknown)
	}
	ok(t, m.FreeAsync(st))
	wantError(t, cuda.CopyInAt(m, 0, src, st), tvmffi.ErrValue, "was freed")
}

func TestFill64(t *testing.T) {
	f := load(t)
	st := newStream(t, 0)
	m := onDevice(t, 0, numbered(40, 0))
	part := must[*cuda.Memory](t)(m.Part(8, 24))
	ok(t, cuda.Fill(part, uint64(0x0807060504030201), st))
	wantBytes(t, m, st, slices.Concat(numbered(8, 0), numbered(8, 1), numbered(8, 1), numbered(8, 1), numbered(8, 32)))
	f.calls()
	ok(t, cuda.Fill(m, 0.0, st)) // both halves are the same
	if calls := only(f.calls(), "cuMemsetD32Async"); len(calls) != 1 {
		t.Errorf("%d calls for a value with the same halves, want 1", len(calls))
	}
	ok(t, cuda.Fill(part, complex64(complex(1, -1)), st))
	got := make([]complex64, 5)
	ok(t, cuda.CopyOutAt(got, m, 0, st))
	if want := complex64(complex(1, -1)); !slices.Equal(got, []complex64{0, want, want, want, 0}) {
		t.Errorf("the memory holds %v", got)
	}
	odd := must[*cuda.Memory](t)(m.Part(4, 16))
	f.calls()
	wantError(t, cuda.Fill(odd, int64(1), st), tvmffi.ErrValue, "not an array of elements of 8 bytes")
	wantError(t, cuda.Fill(nil, int64(1), st), tvmffi.ErrValue, "nil")
	f.expect()
	ok(t, cuda.Fill(must[*cuda.Memory](t)(m.Part(0, 0)), int64(1), st))
	f.failing("cuMemsetD2D32Async", 999, 1)
	wantDriverError(t, cuda.Fill(m, int64(1), st), cuda.ErrUnknown, "cuMemsetD2D32Async")
}
