//go:build linux && (amd64 || arm64) && !tvmffi_portable && !race && !msan && !asan

package ccall

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/crash"
)

// A light call is a crossing that the scheduler does not know of: for Go, the goroutine
// computes. Two events make it an ordinary crossing, in flight:
//
//   - Somebody wants the P: a collection, a stop of the world, or sysmon after 10 ms. Go asks by
//     SIGURG, and asks again until it gets the P. If the signal finds the thread in foreign code,
//     our handler calls entersyscall on behalf of the goroutine.
//   - The callee calls Go: the entry of callbacks does the same first.
//
// When the callee returns, the goroutine leaves the system call. docs/LIGHT.md has the reasons
// why this is sound, and what happens where it is not.

//lint:file-ignore U1000 read by the assembly

// Offsets in g and m of the Go runtime, which probeLight compares, with gM and schedSP: the pc behind schedSP, g.sched.bp,
// m.procid, m.incgo and m.ncgo. m.g0 is the first word.
const (
	schedPC = 64
	schedBP = 96
	mProcid = 64
	mInCgo  = 280
	mNCgo   = 328
)

// mark is what a thread knows of its light call. Only that thread uses it.
type mark struct {
	// g0 says whose mark it is. g is the goroutine in a light call, 0 outside; the bit upgraded
	// is set once the scheduler knows.
	g0, g uintptr
	// sp and link are registers of C, and base is g0.sched.sp, while upgrade runs.
	sp, link, base uintptr
	// seconds and nanoseconds are when a signal made the call an ordinary one.
	seconds, nanoseconds int64
	_                    uintptr
}

// A mark is in the place that its g0 hashes to: the low half of g0>>markDrop, times markHash,
// without all but the high markBits bits. Threads that find their place taken make ordinary calls.
const (
	markDrop  = 6
	markHash  = 0x1E3779B1
	markBits  = 12
	markRest  = 32 - markBits
	markShift = 6 // the logarithm of the size of a mark
)

var marks [1 << markBits]mark

const (
	upgraded    = 1
	upgradedBit = 0
	// redZone is what C may use below its stack pointer.
	redZone = 128
	// reserve is what entersyscall needs of the stack of C, with much to spare.
	reserve = 16 << 10
	// stackAlign is for the stack pointers that C gets.
	stackAlign = ^15
)

const (
	marksSize = unsafe.Sizeof(marks)
	// lastTicks is for how long lightWatch goes on after the last light call.
	lastTicks = 100

	sigurg     = 23
	eintr      = 4
	sigSetmask = 2 // SIG_SETMASK
)

const (
	second         = 1000000000
	clockMonotonic = 1
)

// How a light call went, which is Done where the scheduler never knew of it.
const (
	// Upgraded is a call that became an ordinary one in flight.
	Upgraded = 1 + iota
	// Late is Upgraded where the callee ran on for longer than brief, or called Go, or where the signal interrupted a system
	// call of it.
	Late
	// Unmarked says that no call was made, because the thread has no mark.
	Unmarked
)

//go:linkname _lightBlock tvmffi_lightBlock
var _lightBlock byte

//go:linkname _lightCallback tvmffi_lightCallback
var _lightCallback byte

//go:linkname _lightProbe tvmffi_lightProbe
var _lightProbe byte

//go:linkname _lightOff tvmffi_lightOff
var _lightOff byte

//go:linkname _lightTest tvmffi_lightTest
var _lightTest byte

//go:linkname _lightWatch tvmffi_lightWatch
var _lightWatch byte

//go:linkname _urgent tvmffi_urgent
var _urgent byte

var (
	// lightEntry is lightBlock or lightOff.
	lightEntry = uintptr(unsafe.Pointer(&_lightOff))
	// lightLow and lightSize are where the code of lightBlock is.
	lightLow, lightSize uintptr
	// goHandler is the handler of the runtime. nextHandler is one that came later, if it is more than 1.
	goHandler, nextHandler uintptr
	urgentAction           sigaction
	watchTick              = syscall.NsecToTimespec(10e6)
	upgrades               atomic.Uint64
)

func init() {
	lightLow = uintptr(unsafe.Pointer(&_lightBlock))
	lightSize = uintptr(size(lightLow))
	lightCallback = uintptr(unsafe.Pointer(&_lightCallback))
	trampolines = append(trampolines, trampoline{&_lightBlock, trampolines[0].rules})
}

// Asked reports whether the program has asked for light calls, and they were possible then. Light may be called from then on:
// it makes no call if there are no light calls any more.
func Asked() bool { return atomic.LoadUint32(&unusual.light) != 0 }

// LightCalls reports whether there are light calls.
func LightCalls() bool { return atomic.LoadUintptr(&lightEntry) == lightLow }

// Upgrades counts the calls of Light that became ordinary ones.
func Upgrades() uint64 { return upgrades.Load() }

// Light is Call as a light call. Unless it returns Done, Finish of the Way must follow.
//
// The assembly is called by the convention of Go, which passes h in the first register and needs
// no memory for it. Nothing moves the stack between the conversion of h and the call.
func Light(h *Head) (how uintptr) {
	Collect()
	entry := &lightEntry
	return (*(*func(uintptr) uintptr)(unsafe.Pointer(&entry)))(uintptr(unsafe.Pointer(h)))
}

// finish is the rest of Light. It reports whether an ordinary call would have been better.
func finish(h *Head, how uintptr) bool {
	if how != Unmarked {
		upgrades.Add(1)
		return how == Late
	}
	giveMark()
	Call(h)
	return !LightCalls()
}

// giveMark gives the thread its mark, unless another one has it. The goroutine may have come to
// another thread meanwhile, which does no harm.
func giveMark() {
	g0 := threadG0()
	atomic.CompareAndSwapUintptr(&marks[uint32(g0>>markDrop)*markHash>>markRest].g0, 0, g0)
}

// threadG0 is the address of the g0 of the thread.
func threadG0() uintptr

// lightHandle reports whether a thread is in a light call, and the Function object that it calls. It is for a handler
// of faults.
//
//go:nosplit
//go:norace
//go:nocheckptr
func lightHandle(g0 uintptr) (handle uintptr, light bool) {
	m := &marks[uint32(g0>>markDrop)*markHash>>markRest]
	if m.g0 != g0 || m.g == 0 {
		return 0, false
	}
	frame := crash.Word(g0+schedSP)&^(unit-1) - aboveLight - unsafe.Sizeof(callStack{})
	return crash.Word(frame + handleInFrame), true
}

// cgoState is m.incgo and m.ncgo of the thread.
func cgoState() (in, n uintptr)

// sigaction is the struct of the kernel.
type sigaction struct{ handler, flags, restorer, mask uintptr }

func setUrgent(fresh, old *sigaction) syscall.Errno {
	_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGURG), uintptr(unsafe.Pointer(fresh)), uintptr(unsafe.Pointer(old)), unsafe.Sizeof(old.mask), 0, 0)
	return e
}

// StartLight makes Light possible, and reports whether it is: the release of Go must be one that
// was tested, with the layouts that the assembly knows, and must preempt by signals. A process
// with a gate in front of its calls makes ordinary ones.
var StartLight = sync.OnceValue(func() bool {
	if hostThread != 0 || hosted() || !tested(runtime.Version()) || !asksBySignal() || !probeLight() {
		return false
	}
	create, err := purego.Dlsym(purego.RTLD_DEFAULT, "pthread_create")
	if err != nil || setUrgent(nil, &urgentAction) != 0 {
		return false
	}
	old := urgentAction
	if f := runtime.FuncForPC(old.handler); f == nil || !strings.HasSuffix(strings.ToLower(f.Name()), "sigtramp") {
		return false // somebody else has it
	}
	goHandler = old.handler
	urgentAction.handler, urgentAction.mask = uintptr(unsafe.Pointer(&_urgent)), ^uintptr(0)
	if setUrgent(&urgentAction, nil) != 0 {
		return false
	}
	if !tryLight() {
		return false
	}
	thread := new(uintptr)
	atomic.StoreUint32(&unusual.light, 1)
	atomic.StoreUintptr(&lightEntry, lightLow) // from here on other goroutines may make light calls
	if rc, _, _ := purego.SyscallN(create, uintptr(unsafe.Pointer(thread)), 0, uintptr(unsafe.Pointer(&_lightWatch)), uintptr(os.Getpid())); rc != 0 {
		atomic.StoreUintptr(&lightEntry, uintptr(unsafe.Pointer(&_lightOff)))
	}
	if lightStopped.Load() {
		StopLight()
	}
	return LightCalls()
})

var lightStopped atomic.Bool

// StopLight ends light calls for good. It is for a program in which C calls Go by other callbacks
// than Callback, which do not know of light calls.
func StopLight() {
	lightStopped.Store(true)
	atomic.StoreUintptr(&lightEntry, uintptr(unsafe.Pointer(&_lightOff)))
}

// tryLight makes a light call that asks for its own upgrade, and reports whether that came.
func tryLight() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	giveMark()
	h := Head{Fn: uintptr(unsafe.Pointer(&_lightTest)), Handle: uintptr(os.Getpid()), Word: uintptr(syscall.Gettid()), Mode: Value, RC: -1}
	entry := &lightLow // lightEntry may be off
	how := (*(*func(uintptr) uintptr)(unsafe.Pointer(&entry)))(uintptr(unsafe.Pointer(&h)))
	return (how == Upgraded || how == Late) && h.RC == 0
}

// hosted reports whether this is a library of Go in another program, which may have signals of its own.
func hosted() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-buildmode" && s.Value != "exe" && s.Value != "pie"
	})
}

// tested reports whether light calls were tested with a release of Go.
func tested(version string) bool {
	release, _, other := strings.Cut(version, " ") // with an experiment
	for _, known := range [2]string{"go1.26", "go1.27"} {
		if rest, ok := strings.CutPrefix(release, known); ok && !other && (rest == "" || rest[0] == '.') {
			return true
		}
	}
	return false
}

// asksBySignal reports whether the runtime asks for a P by signals. The runtime has read
// GODEBUG from the environment that the process began with.
func asksBySignal() bool {
	environment, err := os.ReadFile("/proc/self/environ")
	for _, setting := range strings.Split(string(environment), "\x00") {
		if value, ok := strings.CutPrefix(setting, "GODEBUG="); ok {
			if strings.Contains(value, "asyncpreemptoff=") || strings.Contains(value, "gccheckmark=") {
				return false
			}
		}
	}
	return err == nil
}

// probe is what lightProbe finds in an ordinary call.
type probe struct{ g, g0, m, mOfG0, sp, bp, low, high, inCgo, nCgo, procid uintptr }

// probeLight compares the layouts that the assembly knows with those of the runtime.
func probeLight() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := probe{g: getg()}
	cgocall(uintptr(unsafe.Pointer(&_lightProbe)), unsafe.Pointer(&p)) // calls no Go, so p does not move
	in, n := cgoState()
	return p.g == getg() && p.g0 != p.g && p.g0 == threadG0() && p.mOfG0 == p.m &&
		p.low < p.sp && p.sp <= p.bp+word && p.bp < p.high &&
		p.inCgo == 1 && in == 0 && p.nCgo == n+1 && p.procid == uintptr(syscall.Gettid())
}
