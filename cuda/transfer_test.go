package cuda_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// numbers returns n bytes that count up from first.
func numbered(n int, first byte) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = first + byte(i)
	}
	return s
}

// onDevice returns device memory with bytes in it, freed at the end of the test.
func onDevice(t *testing.T, d cuda.Device, bytes []byte) *cuda.Memory {
	t.Helper()
	m := filled(t, d, bytes)
	t.Cleanup(func() { ok(t, m.Free()) })
	return m
}

// filled returns device memory that holds bytes, for all streams.
func filled(t *testing.T, d cuda.Device, bytes []byte) *cuda.Memory {
	t.Helper()
	m := must[*cuda.Memory](t)(d.Alloc(int64(len(bytes))))
	ok(t, cuda.CopyInAt(m, 0, bytes, nil))
	return m
}

// wantBytes asserts what memory holds when a stream has done its work.
func wantBytes(t *testing.T, m *cuda.Memory, st *cuda.Stream, want []byte) {
	t.Helper()
	got := make([]byte, m.Size())
	ok(t, cuda.CopyOutAt(got, m, 0, st))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("byte %d of the memory is %d, want %d", i, got[i], want[i])
			return
		}
	}
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
