//go:build (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package ccall

import (
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/crash"
)

// A report of a fault in C names the function that Go has called, and no call does anything for that: the handler finds
// the crossing by what the runtime and the trampolines keep for themselves. C runs on the stack of the g0, from
// g0.sched.sp down.
//
//   - asmcgocall keeps the g there, and how deep its own frame is in the stack of that goroutine. Above that frame are
//     its arguments, the trampoline and the Head. For the runtime they are pointers, so they are right
//     when a callback has moved the stack.
//   - A light call has a mark, and a callStack there, with the handle.
//
// A callback moves g0.sched.sp below the frames of C, and back when it returns. So this is always the innermost
// crossing. At first probeCrossing makes a crossing that looks for itself. If it does not find itself, because a release of Go
// keeps something else there, the reports name no function.

// Offsets in a g: g.m and g.sched.sp.
const (
	gM      = 48
	schedSP = 56
)

// crossingArgs is how far above the frame of asmcgocall its arguments are, or 0 if reports name no function.
var crossingArgs uintptr

// ReportFaults makes faults in C say where they are and what was called.
func ReportFaults() {
	probeCrossing()
	crash.Start(sayCall)
}

//go:linkname _crossingProbe tvmffi_crossingProbe
var _crossingProbe byte

// crossingProbe is what a crossing finds of itself.
type crossingProbe struct{ g0 uintptr }

var findCrossing = fillProbe //lint:ignore U1000 called by the assembly

//go:nosplit
//go:norace
//go:nocheckptr
func fillProbe(p *crossingProbe) {
	for crossingArgs = word; crossingArgs <= mostArgs; crossingArgs += word {
		if fn, arg := crossing(p.g0); fn == uintptr(unsafe.Pointer(&_crossingProbe)) && arg == uintptr(unsafe.Pointer(p)) {
			return
		}
	}
	crossingArgs = 0
}

// mostArgs is the last place at which probeCrossing looks for the arguments.
const mostArgs = 8 * word

// probeCrossing finds out crossingArgs.
func probeCrossing() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	crash.Open()
	defer crash.Close()
	var p crossingProbe
	cgocall(uintptr(unsafe.Pointer(&_crossingProbe)), unsafe.Pointer(&p)) // calls no callback, so p does not move
}

// crossing is the trampoline that a thread runs in an ordinary crossing, and its argument, or 0.
//
//go:nosplit
//go:norace
//go:nocheckptr
func crossing(g0 uintptr) (fn, arg uintptr) {
	frame := crash.Word(g0+schedSP)&^(unit-1) - crossingSize
	g := crash.Word(frame + crossingG)
	if g == 0 || crash.Word(g+gM) != crash.Word(g0+gM) {
		return 0, 0
	}
	args := crash.Word(g+stackHigh) - crash.Word(frame+crossingDepth) + crossingArgs
	return crash.Word(args), crash.Word(args + word)
}

// sayCall adds to a report of a fault what a thread does. Its result is where the stack of C that the crossing uses ends,
// or 0 if the thread is in no crossing.
//
//go:nosplit
//go:norace
//go:nocheckptr
func sayCall(g0 uintptr) (end uintptr) {
	end = crash.Word(g0 + schedSP)
	if handle, light := lightHandle(g0); light {
		sayFunction(handle, 0)
		return end
	}
	if crossingArgs == 0 {
		return end
	}
	switch fn, arg := crossing(g0); fn {
	case 0:
		return 0
	case callEntry:
		sayFunction(crash.Word(arg+unsafe.Offsetof(Head{}.Handle)), crash.Word(arg+unsafe.Offsetof(Head{}.Fn)))
	case dropEntry:
		crash.Text(", in the release of an object")
	case callAllEntry:
		crash.Text(", in one of several calls, as of released objects")
	default:
		crash.Text(", in a call of C")
	}
	return end
}

//go:nosplit
//go:norace
//go:nocheckptr
func sayFunction(handle, fn uintptr) {
	if known := nameOf(handle); known != nil && known.safeCall == crash.Word(handle+safeCallAt) {
		crash.Text(", in a call of ")
		crash.Text(*known.name)
	} else if fn != 0 {
		crash.Text(", in a call of the function at ")
		crash.Place(fn)
	} else {
		crash.Text(", in a call of a function without a name")
	}
}
