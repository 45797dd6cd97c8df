package child

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// LimitMemory limits what this process may write to, unless n is 0: not the address space, of which Go reserves much more
// than it uses.
func LimitMemory(n int64) error {
	if n <= 0 {
		return nil
	}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)})
}

// memory returns what LimitMemory counts.
func memory() (pages int64) {
	text, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscanf(string(text), "%d %d %d %d %d %d", new(int64), new(int64), new(int64), new(int64), new(int64), &pages) // 0 if it is not known
	return pages * int64(os.Getpagesize())
}

// narrow starts this child once more, with three quarters of the stack. The C library chooses the size of the stacks of
// threads when a program starts.
func narrow(role, task string) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	const unlimited = 2 << 20 // what a thread gets then
	if limit.Cur > 1<<30 {
		limit.Cur = unlimited
	}
	limit.Cur = limit.Cur / 4 * 3
	if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	program, err := Program()
	if err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, append(os.Environ(), narrowed+"=1", order(program, role, task)))
}

// FindSocket returns the first descriptor of this process for which is reports true, -1 if there is none.
func FindSocket(is func(fd int) bool) int {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && is(fd) {
			return fd
		}
	}
	return -1
}
