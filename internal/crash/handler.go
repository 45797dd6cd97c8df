//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

import (
	"syscall"
	"unsafe"
)

const sigsegv = uint32(syscall.SIGSEGV) //lint:ignore U1000 read by the assembly

// fault is what the assembly knows of a fault. first is 1 for the first thread, and next is the handler that follows.
type fault struct {
	signal        uint32
	info, context uintptr
	g0            uintptr // 0 on a thread without a goroutine
	first         uintptr
	next          uintptr //lint:ignore U1000 used by the assembly
}

// claimed is 1 once a thread has the variables of the handler, and told once that has written.
var (
	claimed uint32 //lint:ignore U1000 read by the assembly
	told    uint32
)

// Offsets in a siginfo_t, and what they hold.
const (
	infoCode    = 8
	infoAddress = 16 // or the sender
	sentByKill  = -6 // SI_TKILL
)

// The linker allows 792 bytes of stack on a way of nosplit funcs, of which a signal stack has 32 kB. A program that is built
// for a debugger needs more. So long ways go through variables, behind which the linker begins anew.
var (
	placing     = place
	symbolizing = symbolize
	walking     = callers
)

// beyondStack is how far from the stack pointer a stack that is full may be written.
const beyondStack = 64 << 10

// tell is the handler in Go.
//
//go:nosplit
//go:norace
//go:nocheckptr
func tell(f *fault) {
	code := *(*int32)(at(f.info + infoCode))
	abort := f.signal == uint32(syscall.SIGABRT)
	if code <= 0 && !(abort && code == sentByKill && *(*int32)(at(f.info + infoAddress)) == int32(system(syscall.SYS_GETPID, 0, 0, 0, 0))) {
		if f.first != 0 {
			claimed = 0
		}
		return
	}
	if f.first == 0 {
		for tries := 0; told == 0 && tries < 400; tries++ {
			pause()
		}
		return
	}
	openPipe()
	pc, sp := *(*uintptr)(at(f.context + contextPC)), *(*uintptr)(at(f.context + contextSP))
	if low, high := textRange(); f.g0 != 0 && pc-low < high-low && (!pipe.open || running(f.g0) == 0) { // the runtime itself
		closePipe()
		text.n, claimed = 0, 0
		return
	}
	text.n = 0
	Text("tvmffi: ")
	Text(nameOf(f.signal))
	Text(" at ")
	if !pipe.open {
		Hex(pc)
		Text(", whose file is not known: there is no free file descriptor\n")
		flush()
		told = 1
		return
	}
	Place(pc)
	standard := image.size == 0 || isStandard()
	if !abort {
		Text(", address ")
		address := *(*uintptr)(at(f.info + infoAddress))
		Hex(address)
		if address-(sp-beyondStack) < 2*beyondStack && (!find(address) || !mapping.readable) {
			Text(" (the stack is full)")
		}
	}
	end := uintptr(0)
	if f.g0 == 0 {
		Text(", on a thread that C made")
	} else if end = running(f.g0); end == 0 {
		Text(", on a thread that C made, outside of Go's calls")
	}
	Text("\n")
	flush()
	if standard {
		walking(sp, end)
	}
	closePipe()
	told = 1
}

//go:nosplit
//go:norace
//go:nocheckptr
func nameOf(signal uint32) string {
	switch syscall.Signal(signal) {
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGBUS:
		return "SIGBUS"
	case syscall.SIGFPE:
		return "SIGFPE"
	case syscall.SIGILL:
		return "SIGILL"
	}
	return "SIGABRT"
}

var tick = syscall.Timespec{Nsec: 5e6}

// pause waits for a moment.
//
//go:nosplit
//go:norace
//go:nocheckptr
func pause() { system(sysNanosleep, uintptr(unsafe.Pointer(&tick)), 0, 0, 0) }

// system makes a system call. The result is negative if that fails.
func system(number, a, b, c, d uintptr) int

// textRange is where the code of Go is.
func textRange() (low, high uintptr)
