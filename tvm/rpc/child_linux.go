package rpc

import "golang.org/x/sys/unix"

// limitMemory limits the address space of this process.
func limitMemory(n int64) error {
	if n <= 0 {
		return nil
	}
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)})
}
