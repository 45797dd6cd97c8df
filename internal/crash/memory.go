//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

import (
	"syscall"
	"unsafe"
)

// at makes a pointer of an address that is known to be good.
//
//go:nosplit
//go:norace
//go:nocheckptr
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// pipe has the ends of the pipe through which memory is read, if it is open.
var pipe struct {
	ends [2]int32
	open bool
}

//go:nosplit
//go:norace
//go:nocheckptr
func openPipe() {
	pipe.open = system(sysPipe2, uintptr(unsafe.Pointer(&pipe.ends)), syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0, 0) == 0
}

//go:nosplit
//go:norace
//go:nocheckptr
func closePipe() {
	if pipe.open {
		system(syscall.SYS_CLOSE, uintptr(pipe.ends[0]), 0, 0, 0)
		system(syscall.SYS_CLOSE, uintptr(pipe.ends[1]), 0, 0, 0)
	}
	pipe.open = false
}

// read copies n bytes, at most a page, and reports whether they are readable.
//
//go:nosplit
//go:norace
//go:nocheckptr
func read(to unsafe.Pointer, address, n uintptr) bool {
	if !pipe.open {
		return false
	}
	written := system(syscall.SYS_WRITE, uintptr(pipe.ends[1]), address, n, 0)
	return written > 0 && system(syscall.SYS_READ, uintptr(pipe.ends[0]), uintptr(to), uintptr(written), 0) == int(n)
}

// The place that word reads to. It must not be on the stack, which the compiler could not know to be written.
var wordRead uintptr

// word reads a word, and is 0 if that is not readable.
//
//go:nosplit
//go:norace
//go:nocheckptr
func word(address uintptr) uintptr {
	wordRead = 0
	if !read(unsafe.Pointer(&wordRead), address, 8) {
		return 0
	}
	return wordRead
}

// Word reads a word of memory, and is 0 if that is not readable. It is for the handler.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Word(address uintptr) uintptr { return word(address) }

// Open makes Word possible outside of the handler, until Close. No fault may happen meanwhile.
func Open() { openPipe() }

// Close ends what Open began.
func Close() { closePipe() }
