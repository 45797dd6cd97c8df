package cuda_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// copyBox does with slices what CopyBox does with memory.
func copyBox(dst, src []byte, d, s cuda.Region, x cuda.Extent) {
	for z := range x.Depth {
		for y := range x.Height {
			to, from := d.Offset+(z*d.Rows+y)*d.Pitch, s.Offset+(z*s.Rows+y)*s.Pitch
			copy(dst[to:to+x.Width], src[from:from+x.Width])
		}
	}
}

func TestCopyBox(t *testing.T) {
	load(t)
	st := newStream(t, 0, cuda.NonBlocking())
	host := must[*cuda.Host[byte]](t)(cuda.AllocHost[byte](0, 600))
	defer host.Free()
	from := map[string]cuda.Span{"here": onDevice(t, 0, numbered(600, 0)), "there": onDevice(t, 1, numbered(600, 0)), "host": host}
	for name, memory := range from {
		for _, c := range []struct {
			d, s cuda.Region
			x    cuda.Extent
		}{
			{cuda.Region{Offset: 5, Pitch: 16, Rows: 3}, cuda.Region{Offset: 33, Pitch: 20, Rows: 3}, cuda.Extent{Width: 7, Height: 3, Depth: 1}},
			{cuda.Region{Offset: 2, Pitch: 10, Rows: 5}, cuda.Region{Offset: 9, Pitch: 12, Rows: 6}, cuda.Extent{Width: 8, Height: 4, Depth: 3}},
			{cuda.Region{Pitch: 6, Rows: 4}, cuda.Region{Pitch: 6, Rows: 4}, cuda.Extent{Width: 6, Height: 4, Depth: 5}},
			{cuda.Region{Offset: 599, Pitch: 1, Rows: 1}, cuda.Region{Pitch: 1, Rows: 1}, cuda.Extent{Width: 1, Height: 1, Depth: 1}},
		} {
			copy(host.Slice(), numbered(600, 0))
			want := make([]byte, 600)
			copyBox(want, numbered(600, 0), c.d, c.s, c.x)
			m := filled(t, 0, make([]byte, 600))
			c.d.Memory, c.s.Memory = m, memory
			ok(t, cuda.CopyBox(c.d, c.s, c.x, st))
			wantBytes(t, m, st, want)
			// And to the host.
			to := must[*cuda.Host[byte]](t)(cuda.AllocHost[byte](0, 600))
			clear(to.Slice())
			c.d.Memory, c.s.Memory = to, m
			c.s.Offset, c.s.Pitch, c.s.Rows = c.d.Offset, c.d.Pitch, c.d.Rows
			ok(t, cuda.CopyBox(c.d, c.s, c.x, st))
			ok(t, st.Synchronize())
			if !slices.Equal(to.Slice(), want) {
				t.Errorf("from %s, %+v: the host does not have what the device has", name, c)
			}
			ok(t, to.Free())
			ok(t, m.Free())
		}
	}
}

func TestBadBoxes(t *testing.T) {
	f := load(t)
	st := newStream(t, 0)
	a, b := onDevice(t, 0, numbered(100, 0)), onDevice(t, 0, make([]byte, 100))
	freed := must[*cuda.Memory](t)(cuda.Device(0).Alloc(16))
	ok(t, freed.Free())
	host := must[*cuda.Host[byte]](t)(cuda.AllocHost[byte](0, 16))
	ok(t, host.Free())
	var none *cuda.Memory
	box := func(m cuda.Span, offset, pitch, rows int64) cuda.Region { return cuda.Region{m, offset, pitch, rows} }
	f.calls()
	for _, c := range []struct {
		d, s cuda.Region
		x    cuda.Extent
		text string
	}{
		{box(nil, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 4}, "the destination: the memory is nil"},
		{box(none, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 4}, "the destination: the memory is nil"},
		{box(b, 0, 0, 0), box(freed, 0, 0, 0), cuda.Extent{Width: 4}, "the source: the memory of 16 bytes on cuda:0 was freed"},
		{box(b, 0, 0, 0), box(host, 0, 0, 0), cuda.Extent{Width: 4}, "the source: the pinned host memory is nil or was freed"},
		{box(b, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: -1}, "one is negative"},
		{box(b, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 4, Height: -2}, "one is negative"},
		{box(b, -1, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 4}, "one is negative"},
		{box(b, 0, 8, 0), box(a, 0, 3, 0), cuda.Extent{Width: 4, Height: 2}, "the source: rows of 4 bytes do not fit in the pitch of 3 bytes"},
		{box(b, 0, 8, 0), box(a, 0, 8, 1), cuda.Extent{Width: 4, Height: 2, Depth: 2}, "planes of 2 rows do not fit in the 1 rows"},
		{box(b, 97, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 4}, "the destination: 1 planes of 1 rows of 4 bytes, with a pitch of 4 bytes, from 97 on are not inside the memory of 100 bytes"},
		{box(b, 0, 20, 0), box(a, 0, 33, 0), cuda.Extent{Width: 4, Height: 4}, "are not inside"},
		{box(b, 0, 8, 4), box(a, 0, 8, math.MaxInt64), cuda.Extent{Width: 4, Height: 2, Depth: 3}, "not inside"},
		{box(b, 0, math.MaxInt64, 0), box(a, 0, 0, 0), cuda.Extent{Width: 4, Height: 3}, "not inside"},
		{box(b, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: math.MaxInt64, Height: math.MaxInt64, Depth: math.MaxInt64}, "not inside"},
		{box(b, math.MaxInt64, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 1}, "not inside"},
		{box(a, 4, 10, 0), box(a, 0, 10, 0), cuda.Extent{Width: 5, Height: 3}, "overlap"},
		{box(a, 16, 10, 0), box(a, 0, 10, 0), cuda.Extent{Width: 5, Height: 3}, "overlap"},
		{box(a, 0, 10, 0), box(a, 12, 9, 0), cuda.Extent{Width: 3, Height: 3}, "overlap"},
	} {
		wantError(t, cuda.CopyBox(c.d, c.s, c.x, st), tvmffi.ErrValue, c.text)
	}
	f.expect() // nothing of this reached the driver
	ok(t, cuda.CopyBox(box(b, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{}, st))
	f.expect()
	ok(t, cuda.CopyBox(box(a, 5, 10, 0), box(a, 0, 10, 0), cuda.Extent{Width: 5, Height: 10}, st)) // columns side by side
	ok(t, cuda.CopyBox(box(b, 0, 1<<40, 0), box(a, 0, 1<<40, 0), cuda.Extent{Width: 8}, st))       // one row
	f.failing("cuDeviceGetAttribute", 999, 0)
	large := must[*cuda.Memory](t)(cuda.FromPointer(0, tvmffi.Pointer{Address: 1 << 44}, 1<<40, nil)) // no driver knows it
	wantError(t, cuda.CopyBox(box(large, 0, 1<<32, 0), box(a, 0, 0, 0), cuda.Extent{Width: 8, Height: 2}, st), cuda.ErrUnknown)
	wantError(t, cuda.CopyBox(box(large, 0, 1<<32, 0), box(a, 0, 0, 0), cuda.Extent{Width: 8, Height: 2}, st), tvmffi.ErrValue, "a pitch of 4294967296 bytes: cuda:0 takes 2147483647 at most")
	wantError(t, cuda.CopyBox(box(b, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 8}, newStream(t, 1)), tvmffi.ErrValue, "the stream is of cuda:1")
	f.failing("cuMemcpy2DAsync_v2", 999, 0)
	wantDriverError(t, cuda.CopyBox(box(b, 0, 0, 0), box(a, 0, 0, 0), cuda.Extent{Width: 8}, st), cuda.ErrUnknown, "cuMemcpy2DAsync")
	ok(t, st.Synchronize())
}

// fillBox does with a slice what FillBox does with memory.
func fillBox(dst []byte, d cuda.Region, x cuda.Extent, value []byte) {
	for z := range x.Depth {
		for y := range x.Height {
			for i := range x.Width {
				dst[d.Offset+(z*d.Rows+y)*d.Pitch+i] = value[i%int64(len(value))]
			}
		}
	}
}

func TestFillBox(t *testing.T) {
	f := load(t)
	st := newStream(t, 1, cuda.NonBlocking())
	box := func(offset, pitch, rows int64) cuda.Region { return cuda.Region{nil, offset, pitch, rows} }
	for _, c := range []struct {
		d cuda.Region
		x cuda.Extent
	}{
		{box(8, 24, 3), cuda.Extent{Width: 16, Height: 3, Depth: 1}},
		{box(0, 32, 4), cuda.Extent{Width: 8, Height: 3, Depth: 3}},
		{box(16, 16, 2), cuda.Extent{Width: 16, Height: 2, Depth: 7}},
		{box(0, 16, 13), cuda.Extent{Width: 8, Height: 13, Depth: 1}},
		{box(392, 8, 1), cuda.Extent{Width: 8, Height: 1, Depth: 1}},
	} {
		m := filled(t, 1, make([]byte, 400))
		want := make([]byte, 400)
		c.d.Memory = m
		check := func(err error, value []byte) {
			t.Helper()
			ok(t, err)
			fillBox(want, c.d, c.x, value)
			wantBytes(t, m, st, want)
		}
		check(cuda.FillBox(c.d, uint8(7), c.x, st), []byte{7})
		check(cuda.FillBox(c.d, int16(0x0102), c.x, st), []byte{2, 1})
		check(cuda.FillBox(c.d, float32(1), c.x, st), []byte{0, 0, 128, 63})
		check(cuda.FillBox(c.d, uint64(0x0807060504030201), c.x, st), numbered(8, 1))
		check(cuda.FillBox(c.d, uint64(0x0403020104030201), c.x, st), numbered(4, 1))
		ok(t, m.Free())
	}
	m := onDevice(t, 1, make([]byte, 64))
	host := must[*cuda.Host[byte]](t)(cuda.AllocHost[byte](1, 64))
	defer host.Free()
	f.calls()
	wide := cuda.Extent{Width: 8, Height: 2}
	wantError(t, cuda.FillBox(cuda.Region{m, 0, 60, 0}, 1.0, wide, st), tvmffi.ErrValue, "not inside")
	wantError(t, cuda.FillBox(cuda.Region{m, 0, 12, 0}, 1.0, wide, st), tvmffi.ErrValue, "with a pitch of 12 bytes: all three must be multiples of the 8 bytes of an element")
	wantError(t, cuda.FillBox(cuda.Region{m, 2, 16, 0}, float32(1), wide, st), tvmffi.ErrValue, "must be multiples of the 4 bytes of an element")
	wantError(t, cuda.FillBox(cuda.Region{m, 0, 16, 0}, float32(1), cuda.Extent{Width: 6}, st), tvmffi.ErrValue, "rows of 6 bytes")
	wantError(t, cuda.FillBox(cuda.Region{host, 0, 0, 0}, float32(1), wide, st), tvmffi.ErrValue, "of the host")
	wantError(t, cuda.FillBox(cuda.Region{}, float32(1), wide, st), tvmffi.ErrValue, "nil")
	wantError(t, cuda.FillBox(cuda.Region{m, 0, 0, 0}, float32(1), cuda.Extent{Width: -4}, st), tvmffi.ErrValue, "negative")
	f.expect()
	for _, name := range []string{"cuMemsetD2D32Async", "cuMemcpy2DAsync_v2"} {
		f.failing(name, 999, 0)
		wantError(t, cuda.FillBox(cuda.Region{m, 0, 16, 0}, uint64(1), cuda.Extent{Width: 8, Height: 3}, st), cuda.ErrUnknown)
	}
}
