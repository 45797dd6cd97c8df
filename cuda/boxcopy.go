package cuda

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Span is memory of a device or pinned memory of the host: *[Memory] or *[Host].
type Span interface {
	// span returns where the memory is, and its device, which for memory of the host is the
	// one that it is counted for.
	span() (s *state, address uintptr, size int64, host bool, err error)
	// words returns the address for words on the device of s, or on its own one if s is nil.
	words(s *state) (at *state, address uintptr, bytes int64, err error)
}

func (m *Memory) span() (s *state, address uintptr, size int64, host bool, err error) {
	if address, err = m.at(nil); err != nil {
		return nil, 0, 0, false, err
	}
	return m.s, address, m.size, false, nil
}

func (h *Host[T]) span() (s *state, address uintptr, size int64, host bool, err error) {
	if address, err = h.hostPointer(); err != nil {
		return nil, 0, 0, true, err
	}
	return h.s, address, h.bytes(), true, nil
}

// Region is a box of bytes in memory: rows, and planes of rows. Numbers are bytes, but for
// Rows.
type Region struct {
	Memory Span
	Offset int64 // to the first byte
	Pitch  int64 // from one row to the next, 0 for rows without a gap
	Rows   int64 // from one plane to the next, in rows; 0 for planes without a gap
}

// Extent is the size of a box: bytes of a row, rows of a plane, and planes. A Height or
// Depth of 0 is 1.
type Extent struct{ Width, Height, Depth int64 }

// box is a Region that was checked.
type box struct {
	s       *state
	address uintptr // of the first byte
	host    bool
	managed bool // memory on no device
	pitch   uintptr
	rows    uintptr
	bytes   uintptr // from the first byte to the last one
}

// box checks that a region of an extent lies in its memory.
func (r Region) box(what string, x Extent) (b box, err error) {
	if r.Memory == nil {
		return b, valueError("%s: the memory is nil: set Region.Memory", what)
	}
	s, address, size, host, err := r.Memory.span()
	if err != nil {
		return b, in(what, err)
	}
	if r.Pitch == 0 {
		r.Pitch = x.Width
	}
	if r.Rows == 0 {
		r.Rows = x.Height
	}
	switch {
	case r.Offset < 0 || r.Pitch < 0 || r.Rows < 0:
		return b, valueError("%s: offset %d, pitch %d, rows %d: one is negative", what, r.Offset, r.Pitch, r.Rows)
	case r.Pitch < x.Width:
		return b, valueError("%s: rows of %d bytes do not fit in the pitch of %d bytes", what, x.Width, r.Pitch)
	case r.Rows < x.Height && x.Depth > 1:
		return b, valueError("%s: planes of %d rows do not fit in the %d rows from one to the next", what, x.Height, r.Rows)
	}
	// What does not count may be a number that the driver refuses.
	if x.Depth == 1 {
		r.Rows = x.Height
	}
	if x.Height == 1 && x.Depth == 1 {
		r.Pitch = x.Width
	}
	reach, fits := x.reach(r.Pitch, r.Rows)
	if !fits || r.Offset > size-reach {
		return b, valueError("%s: %d planes of %d rows of %d bytes, with a pitch of %d bytes, from %d on are not inside the memory of %d bytes: look at Offset, Pitch, Rows and the extent",
			what, x.Depth, x.Height, x.Width, r.Pitch, r.Offset, size)
	}
	m, _ := r.Memory.(*Memory)
	return box{s, address + uintptr(r.Offset), host, m != nil && m.managed, uintptr(r.Pitch), uintptr(r.Rows), uintptr(reach)}, nil
}

// place says where the box is, for the text about a copy.
func (b box) place() string {
	switch {
	case b.host:
		return "host"
	case b.managed:
		return "managed memory"
	}
	return b.s.device.String()
}

// text returns the size in words, such as "2 rows of 12 bytes". The extent was checked.
func (x Extent) text() string {
	text := fmt.Sprintf("%d bytes", x.Width)
	if x.Height > 1 {
		text = fmt.Sprintf("%d rows of %s", x.Height, text)
	}
	if x.Depth > 1 {
		text = fmt.Sprintf("%d planes of %s", x.Depth, text)
	}
	return text
}

// reach returns the bytes from the first to the last one, and whether they are a number of 63 bits.
func (x Extent) reach(pitch, rows int64) (int64, bool) {
	over, before := bits.Mul64(uint64(x.Depth-1), uint64(rows))
	before, carry := bits.Add64(before, uint64(x.Height-1), 0)
	over2, n := bits.Mul64(before, uint64(pitch))
	n, carry2 := bits.Add64(n, uint64(x.Width), 0)
	return int64(n), over|over2|carry|carry2 == 0 && n <= math.MaxInt64
}

// checked fills in what is 0; empty is a box without bytes.
func (x Extent) checked() (_ Extent, empty bool, err error) {
	if x.Width < 0 || x.Height < 0 || x.Depth < 0 {
		return x, false, valueError("a box of %d bytes, %d rows, %d planes: one is negative", x.Width, x.Height, x.Depth)
	}
	x.Height, x.Depth = max(x.Height, 1), max(x.Depth, 1)
	return x, x.Width == 0, nil
}

// overlaps reports whether boxes of one extent may have a byte in common. Boxes with one
// pitch in one plane are compared exactly, such as two columns of one matrix.
func (b box) overlaps(c box, x Extent) bool {
	if b.address >= c.address+c.bytes || c.address >= b.address+b.bytes {
		return false
	}
	if b.pitch != c.pitch || x.Depth > 1 {
		return true
	}
	apart := max(b.address, c.address) - min(b.address, c.address)
	// The rows and the bytes from the beginning of one box to that of the later one.
	below, right := apart/b.pitch, apart%b.pitch
	return right < uintptr(x.Width) && below < uintptr(x.Height) ||
		b.pitch-right < uintptr(x.Width) && below+1 < uintptr(x.Height)
}

// copy2D is CUDA_MEMCPY2D of CUDA 3.2 and later.
type copy2D struct {
	srcX, srcY                         uintptr
	srcType                            uint32
	srcHost, srcDevice, srcArray       uintptr
	srcPitch                           uintptr
	dstX, dstY                         uintptr
	dstType                            uint32
	dstHost, dstDevice, dstArray       uintptr
	dstPitch, widthInBytes, copyHeight uintptr
}

// copy3D is CUDA_MEMCPY3D, where the contexts must be 0, and CUDA_MEMCPY3D_PEER.
type copy3D struct {
	srcX, srcY, srcZ, srcLOD        uintptr
	srcType                         uint32
	srcHost, srcDevice, srcArray    uintptr
	srcContext, srcPitch, srcHeight uintptr
	dstX, dstY, dstZ, dstLOD        uintptr
	dstType                         uint32
	dstHost, dstDevice, dstArray    uintptr
	dstContext, dstPitch, dstHeight uintptr
	widthInBytes, height, depth     uintptr
}

// sort returns the CUmemorytype of a box, and its address as one of the host and of a device.
func (b box) sort() (kind uint32, host, device uintptr) {
	if b.host {
		return 1, b.address, 0
	}
	return 2, 0, b.address
}

// CopyBox copies a box of bytes, such as a part of a matrix or of a volume, in the order of a
// stream, without waiting. Each region is in device memory or in pinned memory of the host, and
// the two may be on different devices. Both must live until the stream has done the copy. The
// stream is one of the device of the destination, or of the source where only that is device
// memory. A pitch is at most what the device says ([MaxPitch]). The regions must not overlap.
func CopyBox(dst, src Region, size Extent, stream *Stream) (err error) {
	x, empty, err := size.checked()
	if err != nil {
		return err
	}
	to, err := dst.box("the destination", x)
	if err != nil {
		return err
	}
	from, err := src.box("the source", x)
	if err != nil || empty {
		return err
	}
	if to.overlaps(from, x) {
		return valueError("the source and the destination overlap: copy through other memory")
	}
	s := to.s
	if to.host && !from.host {
		s = from.s
	}
	if err := s.pitches(to, from, x); err != nil {
		return err
	}
	g, err := s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	h, err := g.stream(stream)
	if err != nil {
		return err
	}
	peer := !to.host && !from.host && to.s != from.s
	if peer {
		if _, err := from.s.acquire(); err != nil {
			return err
		}
		defer from.s.users.Add(-1)
	}
	err = g.copyBox(to, from, x, h, peer)
	runtime.KeepAlive(dst.Memory)
	runtime.KeepAlive(src.Memory)
	return about(err, "%d planes of %d rows of %d bytes to %s", x.Depth, x.Height, x.Width, s.device)
}

// pitches refuses what the driver calls an invalid value.
func (s *state) pitches(to, from box, x Extent) error {
	if x.Height*x.Depth == 1 || max(to.pitch, from.pitch) < math.MaxInt32 {
		return nil
	}
	most, err := s.attribute(MaxPitch)
	if err != nil {
		return err
	}
	if p := max(to.pitch, from.pitch); p > uintptr(most) {
		return valueError("a pitch of %d bytes: %s takes %d at most; copy row by row", p, s.device, most)
	}
	return nil
}

// copyBox calls the function for a box. The driver reads the structures during the call only.
func (g *guard) copyBox(to, from box, x Extent, stream uintptr, peer bool) error {
	width, height, depth := uintptr(x.Width), uintptr(x.Height), uintptr(x.Depth)
	if depth == 1 && !peer {
		c := &copy2D{srcPitch: from.pitch, dstPitch: to.pitch, widthInBytes: width, copyHeight: height}
		c.srcType, c.srcHost, c.srcDevice = from.sort()
		c.dstType, c.dstHost, c.dstDevice = to.sort()
		if height == 1 { // the pitch is not used, and may be larger than the driver takes
			c.srcPitch, c.dstPitch = width, width
		}
		return g.callGo(driver.Memcpy2DAsync, uintptr(unsafe.Pointer(c)), stream)
	}
	c := &copy3D{srcPitch: from.pitch, srcHeight: from.rows, dstPitch: to.pitch, dstHeight: to.rows, widthInBytes: width, height: height, depth: depth}
	c.srcType, c.srcHost, c.srcDevice = from.sort()
	c.dstType, c.dstHost, c.dstDevice = to.sort()
	f := driver.Memcpy3DAsync
	if peer {
		f = driver.Memcpy3DPeerAsync
		c.srcContext, c.dstContext = from.s.current(), to.s.current()
	}
	return g.callGo(f, uintptr(unsafe.Pointer(c)), stream)
}

// FillBox sets all elements of a box of device memory to a value, in the order of a stream of the
// device, without waiting. The width of the extent is in bytes and, like offset and pitch, a
// multiple of the size of T. The memory must live until the stream has filled it.
func FillBox[T Fillable](dst Region, value T, size Extent, stream *Stream) error {
	n, word := unsafe.Sizeof(value), uint64(0)
	switch p := unsafe.Pointer(&value); n {
	case 1:
		word = uint64(*(*uint8)(p))
	case 2:
		word = uint64(*(*uint16)(p))
	case 4:
		word = uint64(*(*uint32)(p))
	default:
		word = *(*uint64)(p)
	}
	return fillBox(dst, word, n, size, stream)
}

func fillBox(dst Region, word uint64, n uintptr, size Extent, stream *Stream) (err error) {
	x, empty, err := size.checked()
	if err != nil {
		return err
	}
	b, err := dst.box("the memory", x)
	if err != nil || empty {
		return err
	}
	if b.host {
		return valueError("the memory is of the host: fill Host.Slice in Go")
	}
	if (b.address|b.pitch|uintptr(x.Width))%n != 0 {
		return valueError("rows of %d bytes at %#x with a pitch of %d bytes: all three must be multiples of the %d bytes of an element", x.Width, b.address, b.pitch, n)
	}
	if b.rows == uintptr(x.Height) { // planes without a gap are rows
		x.Height, x.Depth = x.Height*x.Depth, 1
	}
	if err := b.s.pitches(b, b, x); err != nil {
		return err
	}
	g, err := b.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	h, err := g.stream(stream)
	if err != nil {
		return err
	}
	for z := range uintptr(x.Depth) {
		plane := b
		plane.address += z * b.rows * b.pitch
		if err := g.fillRows(plane, word, n, uintptr(x.Width), uintptr(x.Height), h); err != nil {
			return about(err, "%d rows of %d bytes on %s", x.Height, x.Width, b.s.device)
		}
	}
	runtime.KeepAlive(dst.Memory)
	return nil
}

// fillRows fills one plane. Elements of 8 bytes have no function: where their halves
// differ, the first row is filled and then copied to the rows below, to twice as many
// each time.
func (g *guard) fillRows(b box, word uint64, n, width, height, stream uintptr) error {
	f := driver.MemsetD2D32Async
	switch {
	case n == 1:
		f = driver.MemsetD2D8Async
	case n == 2:
		f = driver.MemsetD2D16Async
	case n == 8 && uint32(word) == uint32(word>>32):
		n = 4
	case n == 8:
		if err := g.fill64(b.address, word, width/8, stream); err != nil {
			return err
		}
		for done := uintptr(1); done < height; {
			more := min(done, height-done)
			to := b
			to.address += done * b.pitch
			if err := g.copyBox(to, b, Extent{int64(width), int64(more), 1}, stream, false); err != nil {
				return err
			}
			done += more
		}
		return nil
	}
	if height == 1 { // the pitch is not used, and may be larger than the driver takes
		b.pitch = width
	}
	return g.call(f, b.address, b.pitch, uintptr(uint32(word)), width/n, height, stream)
}

// Fillable is a Go type whose values [Fill] and [FillBox] take.
type Fillable interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~float32 | ~int64 | ~uint64 | ~float64 | ~complex64
}

func fill64(m *Memory, word uint64, stream *Stream) (err error) {
	address, err := m.at(nil)
	if err != nil {
		return err
	}
	if m.size%8 != 0 || address%8 != 0 {
		return valueError("memory of %d bytes at %#x is not an array of elements of 8 bytes", m.size, address)
	}
	if m.size == 0 {
		return nil
	}
	g, err := m.s.enter()
	if err != nil {
		return err
	}
	defer g.leave(&err)
	h, err := g.stream(stream)
	if err != nil {
		return err
	}
	err = g.fill64(address, word, uintptr(m.size/8), h)
	runtime.KeepAlive(m)
	return about(err, "%d bytes on %s", m.size, m.s.device)
}

// fill64 sets n elements of 8 bytes: the lower halves of all, then the upper ones, each as
// a column of words.
func (g *guard) fill64(address uintptr, word uint64, n, stream uintptr) error {
	if low, high := uint32(word), uint32(word>>32); low != high {
		if err := g.call(driver.MemsetD2D32Async, address, 8, uintptr(low), 1, n, stream); err != nil {
			return err
		}
		return g.call(driver.MemsetD2D32Async, address+4, 8, uintptr(high), 1, n, stream)
	}
	return g.call(driver.MemsetD32Async, address, uintptr(uint32(word)), 2*n, stream)
}
