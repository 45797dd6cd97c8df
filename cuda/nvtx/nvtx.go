// Package nvtx names parts of a Go program for profilers such as Nsight Systems: marks, and
// ranges with a text, a colour, a category and a number, in domains.
//
//	defer nvtx.Start("load the model").End()
//
// Without a profiler each function returns at once: it costs about a nanosecond and
// allocates nothing, so a program can keep its ranges. The package needs neither CUDA nor a
// library of NVIDIA.
//
// # Profilers
//
// A profiler sets NVTX_INJECTION64_PATH to its library. The first call of this package loads that
// library. [Tool] says whether there is one, and what is wrong with it. Two more ways of NVTX are
// left out: a tool that is linked into the program, and one that the CUDA driver hands out.
//
// # Goroutines
//
// A range of [Start] belongs to the process: any goroutine ends it, and ranges may overlap.
// Ranges of [Push] are nested per OS thread, and a goroutine changes its thread at any time:
// use [Domain.Do], which stays on one thread, or call runtime.LockOSThread before Push and
// runtime.UnlockOSThread after Pop.
//
// # Texts
//
// Texts are UTF-8 and end at the first byte 0. The profiler copies them during the call.
//
// # Files
//
//	marks, ranges, domains        nvtx.go
//	the functions of a profiler   tool.go, environ_*.go
package nvtx

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Color is a colour as 0xAARRGGBB. With an alpha (AA) of 0 some profilers show nothing.
type Color uint32

// Payload is a number that a profiler shows with a mark or a range. The zero value is for
// none.
type Payload struct {
	kind int32
	bits uint64
}

// Int makes a payload.
func Int(v int64) Payload { return Payload{2, uint64(v)} }

// Uint makes a payload.
func Uint(v uint64) Payload { return Payload{1, v} }

// Float makes a payload.
func Float(v float64) Payload { return Payload{3, math.Float64bits(v)} }

// Event says what a profiler shows of a mark or a range.
type Event struct {
	Message  string
	Color    Color   // 0 lets the profiler choose
	Category uint32  // a number of the program, see NameCategory; 0 for none
	Payload  Payload // from Int, Uint or Float
}

// Domain separates the marks, ranges and categories of a library from those of others: a
// profiler can leave it out. A nil *Domain is the default domain. A Domain may be used from
// any goroutine.
type Domain struct {
	handle uintptr
	closed atomic.Bool
	// calls is held for reading during each call with the handle, which Close ends.
	calls sync.RWMutex
}

// NewDomain makes a domain. A program makes each of its domains once, for instance as a
// variable of a package, and rarely closes one.
func NewDomain(name string) *Domain {
	d := &Domain{}
	if listening() {
		d.handle = withText(name, func(text uintptr) uintptr { return call(core2, domainCreateA, text) })
	}
	return d
}

// Close ends the domain. What is marked in it later is dropped. A second call, and one for the
// default domain, does nothing.
func (d *Domain) Close() {
	if d == nil || d.closed.Swap(true) || d.handle == 0 {
		return
	}
	d.calls.Lock() // what has begun uses the handle still
	defer d.calls.Unlock()
	call(core2, domainDestroy, d.handle)
}

// call calls a function of the profiler with the handle of the domain, unless that is closed.
func (d *Domain) call(function int, first, second uintptr) uintptr {
	d.calls.RLock()
	defer d.calls.RUnlock()
	if d.closed.Load() {
		return 0
	}
	return call(core2, function, d.handle, first, second)
}

// off reports whether nobody sees what is marked in the domain.
func (d *Domain) off() bool { return !listening() || d != nil && d.closed.Load() }

// silent is what a call without a profiler comes to: it is compiled into the callers.
func silent() bool { return state.Load() == absent }

// Mark marks the moment.
func (d *Domain) Mark(e Event) {
	if !silent() {
		d.mark(&e)
	}
}

func (d *Domain) mark(e *Event) {
	if !d.off() {
		d.send(e, markEx, domainMarkEx)
	}
}

// Range is a range that [Start] or [Domain.Start] has begun. The zero value is for none.
type Range struct {
	id     uint64
	domain *Domain
}

// Start begins a range of the process, which any goroutine may end.
func (d *Domain) Start(e Event) Range {
	if silent() {
		return Range{}
	}
	return d.start(&e)
}

func (d *Domain) start(e *Event) Range {
	if d.off() {
		return Range{}
	}
	return Range{uint64(d.send(e, rangeStartEx, domainRangeStartEx)), d}
}

// End ends the range. It does nothing for a zero Range, which Start returns if no profiler
// is there; it is not to be called twice.
func (r Range) End() {
	if r.id != 0 {
		r.end()
	}
}

func (r Range) end() {
	switch {
	case r.domain.off():
	case r.domain == nil:
		call(core, rangeEnd, uintptr(r.id))
	default:
		r.domain.call(domainRangeEnd, uintptr(r.id), 0)
	}
}

// Push begins a range inside the ranges that the OS thread has pushed before. The goroutine
// must stay on its thread until Pop, by runtime.LockOSThread.
func (d *Domain) Push(e Event) {
	if !silent() {
		d.push(&e)
	}
}

func (d *Domain) push(e *Event) {
	if !d.off() {
		d.send(e, rangePushEx, domainRangePushEx)
	}
}

// Pop ends the range that the OS thread has pushed last in this domain.
func (d *Domain) Pop() {
	if !silent() {
		d.pop()
	}
}

func (d *Domain) pop() {
	switch {
	case d.off():
	case d == nil:
		call(core, rangePop)
	default:
		d.call(domainRangePop, 0, 0)
	}
}

// Do calls f in a range that is pushed, on one OS thread, also if f panics.
func (d *Domain) Do(e Event, f func()) {
	if d.off() {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.push(&e)
	defer d.pop()
	f()
}

// NameCategory names a category of the domain.
func (d *Domain) NameCategory(category uint32, name string) {
	if d.off() {
		return
	}
	withText(name, func(text uintptr) uintptr {
		if d == nil {
			return call(core, nameCategoryA, uintptr(category), text)
		}
		return d.call(domainNameCategoryA, uintptr(category), text)
	})
}

// Mark marks the moment in the default domain.
func Mark(message string) { (*Domain)(nil).Mark(Event{Message: message}) }

// Start begins a range in the default domain; see [Domain.Start].
func Start(message string) Range { return (*Domain)(nil).Start(Event{Message: message}) }

// Push begins a range of the OS thread in the default domain; see [Domain.Push].
func Push(message string) { (*Domain)(nil).Push(Event{Message: message}) }

// Pop ends the last range of the OS thread in the default domain; see [Domain.Pop].
func Pop() { (*Domain)(nil).Pop() }
