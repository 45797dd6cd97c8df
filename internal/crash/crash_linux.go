//go:build (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// The signals of faults. SIGABRT is the last one.
var signals = [...]uint32{uint32(syscall.SIGSEGV), uint32(syscall.SIGBUS), uint32(syscall.SIGFPE), uint32(syscall.SIGILL), uint32(syscall.SIGABRT)}

// The handlers behind ours. native is the handler of SIGSEGV on threads without a goroutine: Go's, or the first that
// Share gets. A second one does not replace it, because its library may be closed again.
var (
	//lint:ignore U1000 read by the assembly
	goHandler uintptr
	//lint:ignore U1000 read by the assembly
	native uintptr
)

// begin is tell, and running says what a thread does, and where its stack of C ends, for tell.
var (
	//lint:ignore U1000 read by the assembly
	begin   = tell
	running = func(uintptr) uintptr { return 0 }
)

// action is struct sigaction of the kernel.
type action struct{ handler, flags, restorer, mask uintptr }

func setAction(signal uint32, fresh, old *action) bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(fresh)), uintptr(unsafe.Pointer(old)), unsafe.Sizeof(old.mask), 0, 0)
	return errno == 0
}

// handlerAddress is the address of the handler.
func handlerAddress() uintptr

// threadG0 is the address of the g0 of the thread, and of the g0 of its m: they are the same if gM is right.
func threadG0() (g0, again uintptr)

// possible reports whether the handler may be installed.
var possible = sync.OnceValue(func() bool {
	info, ok := debug.ReadBuildInfo()
	library := !ok || slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-buildmode" && (s.Value == "c-shared" || s.Value == "c-archive")
	})
	g0, again := threadG0()
	return !library && g0 == again && syscall.Getuid() == syscall.Geteuid() && syscall.Getgid() == syscall.Getegid()
})

var installing sync.Mutex

// install puts the handler in front of Go's for one signal, if Go's is there.
func install(signal uint32) {
	var a action
	if !possible() || !setAction(signal, nil, &a) {
		return
	}
	f := runtime.FuncForPC(a.handler)
	if f == nil || !strings.HasSuffix(strings.ToLower(f.Name()), "sigtramp") || goHandler != 0 && goHandler != a.handler {
		return
	}
	if goHandler == 0 {
		goHandler = a.handler
	}
	if native == 0 {
		native = a.handler
	}
	a.handler = handlerAddress()
	setAction(signal, &a, nil)
}

// Share makes SIGSEGV on threads without a goroutine go to this handler, if no other got them before. Go's must be in place.
func Share(handler uintptr) {
	installing.Lock()
	defer installing.Unlock()
	if native == 0 || native == goHandler {
		native = handler
	}
	install(signals[0])
}

// Start makes faults in foreign code write their lines before Go's handler runs. The func f adds what the thread with
// this g0 does, by Text, Hex and Place. Its result is where the stack of C that a call from Go uses ends, or 0 if the thread
// is in no such call. It must be as the funcs of the handler are.
func Start(f func(g0 uintptr) (end uintptr)) {
	installing.Lock()
	defer installing.Unlock()
	running = f
	for _, s := range signals {
		install(s)
	}
}
