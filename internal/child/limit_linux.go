package child

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// LimitMemory limits what this process may write to, unless n is 0: not the address space, of which Go reserves much more
// than it uses.
func LimitMemory(n int64) error {
	if n <= 0 {
		return nil
	}
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)})
}

// memory returns what LimitMemory counts.
func memory() (pages int64) {
	text, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscanf(string(text), "%d %d %d %d %d %d", new(int64), new(int64), new(int64), new(int64), new(int64), &pages) // 0 if it is not known
	return pages * int64(os.Getpagesize())
}

// narrow starts this program once more, with three quarters of the stack. The C library chooses the size of the stacks of
// threads when a program starts.
func narrow(environment ...string) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	const unlimited = 2 << 20 // what a thread gets then
	if limit.Cur > 1<<30 {
		limit.Cur = unlimited
	}
	limit.Cur = limit.Cur / 4 * 3
	if err := unix.Setrlimit(unix.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(program, os.Args, append(os.Environ(), environment...))
}
