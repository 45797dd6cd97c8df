//go:build linux || darwin

package whole

import (
	"os"
	"syscall"
)

// closesFirst says whether an open file has no new name. Here it has, and the lock lasts until then.
const closesFirst = false

// lock waits for a process that looks whether it may remove f. Where there is no lock, nobody else has one either.
func lock(f *os.File) {
	for syscall.Flock(int(f.Fd()), syscall.LOCK_EX) == syscall.EINTR {
	}
}

// removeLeft removes a file or folder of a process that has ended.
func removeLeft(path string) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return // another user's, or gone
	}
	switch syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) {
	case nil:
		_ = os.RemoveAll(path)
	case syscall.EWOULDBLOCK, syscall.EINTR: // it is being made
	default: // this file system has no such lock, or none for a folder
		removeOld(path)
	}
	_ = syscall.Close(fd)
}
