package disco

import "syscall"

const supported = true

// threadID returns the number of the thread that runs the caller. A worker runs on one thread,
// and a callback stays on the thread that has called it.
func threadID() int { return syscall.Gettid() }

// widen lets a pipe hold a megabyte, if the system allows it. TVM writes a message at once, and
// takes it for granted that no signal interrupts it, which can happen only to a write that waits.
func widen(pipe uintptr) {
	const setPipeSize = 1031
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, pipe, setPipeSize, 1<<20)
}
