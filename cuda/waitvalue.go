package cuda

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/internal/driver"
)

// Word is a number that streams wait for and write.
type Word interface {
	~int32 | ~uint32 | ~int64 | ~uint64
}

func (m *Memory) words(s *state) (*state, uintptr, int64, error) {
	address, err := m.at(s)
	if err != nil {
		return nil, 0, 0, err
	}
	if m.managed {
		return nil, 0, 0, valueError("the memory is managed: streams wait for and write words of Alloc and AllocHost only")
	}
	return m.s, address, m.size, nil
}

func (h *Host[T]) words(*state) (*state, uintptr, int64, error) {
	address, err := h.devicePointer()
	if err != nil {
		return nil, 0, 0, err
	}
	return h.s, address, h.bytes(), nil
}

// Condition is when a stream that waits for a word goes on.
type Condition uint32

// The conditions. Where the word is that of the memory and the value that of the call:
const (
	WaitGreaterOrEqual Condition = 0 // word-value >= 0 as signed numbers, so that a counter may overflow
	WaitEqual          Condition = 1 // word == value
	WaitAnd            Condition = 2 // word&value != 0
	WaitNor            Condition = 3 // ^(word|value) != 0; see the attribute WaitValueNor
	// WaitFlush is added to one of the others: writes of other devices that came before
	// that of the word are visible too. See the attribute FlushRemoteWrites.
	WaitFlush Condition = 1 << 30
)

// WaitValue makes the work queued on the stream from now on wait until the word at an offset (in
// bytes) of the memory fulfils the condition. [WriteValue] may write the word, or a kernel, or in
// a *[Host] the program by sync/atomic. The memory must not be managed. The offset is a multiple
// of the size of the word; words of 8 bytes need the attribute WaitValue64. The memory must live
// until the wait has ended; a *[Host] needs an address on the device, see [HostMapped].
//
// The driver does not see who ends the wait. A wait that nobody ends blocks the stream
// forever, and Synchronize with it. Work that must come first may be behind the wait in a
// queue of the device: NVIDIA demands that such an order is expressed by events too. A
// capture records the wait.
func WaitValue[T Word](m Span, offset int64, value T, when Condition, stream *Stream) error {
	op := valueOp{driver.StreamWaitValue32, uintptr(when)}
	if unsafe.Sizeof(value) == 8 {
		op.f = driver.StreamWaitValue64
	}
	if c := when &^ WaitFlush; c > WaitNor {
		return valueError("wait for a word: the condition is %#x: it must be WaitGreaterOrEqual, WaitEqual, WaitAnd or WaitNor, with WaitFlush or without", uint32(when))
	}
	return op.run(m, offset, uintptr(value), int64(unsafe.Sizeof(value)), stream)
}

// WriteValue writes the word at an offset (in bytes) of the memory when the work queued on
// the stream before is done. Whoever sees the word sees the writes of that work too. Offset,
// size and captures are as for [WaitValue].
func WriteValue[T Word](m Span, offset int64, value T, stream *Stream) error {
	op := valueOp{f: driver.StreamWriteValue32}
	if unsafe.Sizeof(value) == 8 {
		op.f = driver.StreamWriteValue64
	}
	return op.run(m, offset, uintptr(value), int64(unsafe.Sizeof(value)), stream)
}

// valueOp is one of the four functions, with its flags.
type valueOp struct {
	f     driver.Func
	flags uintptr
}

func (op valueOp) run(m Span, offset int64, value uintptr, size int64, stream *Stream) (err error) {
	if m == nil {
		return valueError("the memory of the word is nil: pass a *Memory or a *Host")
	}
	var on *state
	if stream != nil {
		on = stream.s
	}
	s, address, bytes, err := m.words(on)
	if err != nil {
		return err
	}
	if on != nil {
		s = on
	}
	if offset < 0 || offset > bytes-size {
		return valueError("the word of %d bytes at %d is not inside the memory of %d bytes", size, offset, bytes)
	}
	if address += uintptr(offset); address%uintptr(size) != 0 {
		return valueError("the word of %d bytes at %#x is not aligned: the address must be a multiple of %d", size, address, size)
	}
	if err := op.supported(s, size); err != nil {
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
	if err := s.usable(h); err != nil {
		return err
	}
	if err := g.call(op.f, h, address, value, op.flags); err != nil {
		return about(err, "the word of %d bytes at %#x on %s", size, address, s.device)
	}
	return nil
}

// supported refuses what the device cannot do, by the attributes that NVIDIA has for it.
func (op valueOp) supported(s *state, size int64) error {
	when := Condition(op.flags)
	for _, need := range []struct {
		needed    bool
		attribute Attribute
		what      string
	}{
		{size == 8, WaitValue64, "words of 8 bytes: use words of 4"},
		{when&^WaitFlush == WaitNor, WaitValueNor, "the condition WaitNor: use another"},
		{when&WaitFlush != 0, FlushRemoteWrites, "WaitFlush: leave it out if no other device writes"},
	} {
		if !need.needed {
			continue
		}
		if v, err := s.attribute(need.attribute); err != nil || v == 0 {
			if err != nil {
				return err
			}
			return valueError("streams of %s do not support %s", s.device, need.what)
		}
	}
	return nil
}
