//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// seat is what a goroutine that ran a callback knows. Only that goroutine uses it: it
// belongs to the g, which the runtime gives to another goroutine when this one has ended.
type seat struct {
	g uintptr
	// number tells seats apart; 0 tells nothing.
	number uint64
	// current is the number of the callback that runs, 0 if none does. last is
	// the largest number that was used.
	current, last uint64
	// ofC says that C made the thread, and nothing of Go runs on it but callbacks. The g of such
	// a thread serves no goroutine of Go later.
	ofC bool
	_   [3]uint64 // the next one is of another cache line
}

// A Moment is the number of a seat and, in the low callbackBits, the number of a callback.
const callbackBits = 44

// A seat is in one of the seatTries places that follow the hash of its g: the low half of
// g>>seatShift, times seatHash, without its low seatDrop bits.
const (
	seatShift = 5
	seatHash  = 0x1E3779B1
	seatBits  = 10
	seatDrop  = 32 - seatBits
	seatTries = 4
)

var (
	// seats has each seat at the first place that was free, forever.
	seats [1 << seatBits]atomic.Pointer[seat]
	// moreSeats has those that found their places taken.
	moreSeats sync.Map // uintptr -> *seat
	// lastSeat is the last number of a seat.
	lastSeat atomic.Uint64
)

func placeOf(g uintptr, i uint32) *atomic.Pointer[seat] {
	return &seats[(uint32(g>>seatShift)*seatHash>>seatDrop+i)%(1<<seatBits)]
}

// firstSeat returns the seat in the first place of this goroutine, nil if the place is
// free, and &otherSeat if another goroutine has it.
func firstSeat() *seat

// seatHere returns the seat of this goroutine, nil if it has none.
func seatHere() *seat {
	s := firstSeat()
	if s != &otherSeat {
		return s
	}
	return seatOf(getg())
}

// otherSeat is what firstSeat returns for a place that another g has.
var otherSeat seat

// seatOf returns the seat of a g, nil if it has none.
func seatOf(g uintptr) *seat {
	for i := range uint32(seatTries) {
		s := placeOf(g, i).Load()
		if s == nil || s.g == g {
			return s
		}
	}
	if s, ok := moreSeats.Load(g); ok {
		return s.(*seat)
	}
	return nil
}

// newSeat makes the seat of a g that has none.
func newSeat(g uintptr) *seat {
	s := &seat{g: g, number: lastSeat.Add(1), ofC: ofC()}
	if s.number>>(64-callbackBits) != 0 {
		s.number = 0
	}
	for i := range uint32(seatTries) {
		if placeOf(g, i).CompareAndSwap(nil, s) {
			return s
		}
	}
	moreSeats.Store(g, s)
	return s
}

// Enter says that the callback begins on this goroutine. The assembly has done it if the
// seat is in the first place.
func (f *CallbackFrame) Enter() {
	if f.seat == 0 {
		f.enter()
	}
}

//go:norace
func (f *CallbackFrame) enter() {
	calledBack.Store(true)
	g := getg()
	s := seatOf(g)
	if s == nil {
		s = newSeat(g)
	}
	f.seat, f.outer = uintptr(unsafe.Pointer(s)), s.current
	s.last++
	s.current = s.last
}

// ofC reports whether only the runtime is below the callback that begins.
func ofC() bool {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for entry := false; ; {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, here):
		case !entry:
			entry = true // the func of SetCallback
		case !strings.HasPrefix(f.Function, "runtime."):
			return false
		}
		if !more {
			return true
		}
	}
}

// Outermost reports whether C called the callback, and no func of Go called what called it. It
// may be false even then.
func (f *CallbackFrame) Outermost() bool {
	return f.outer == 0 && (*seat)(pointer(f.seat)).ofC
}

// Leave says that the callback is over.
//
//go:norace
func (f *CallbackFrame) Leave() { (*seat)(pointer(f.seat)).current = f.outer }

// now is not inlined, so that Now is.
//
//go:norace
//go:noinline
func now() Moment {
	s := seatHere()
	if s == nil {
		return 0
	}
	return Moment(s.number<<callbackBits | s.current)
}

//go:norace
func (m Moment) inUse() bool {
	s := seatHere()
	if s == nil || s.current == 0 {
		return false
	}
	later := s.number != 0 && uint64(m)>>callbackBits == s.number && uint64(m)&(1<<callbackBits-1) >= s.current
	return !later
}
