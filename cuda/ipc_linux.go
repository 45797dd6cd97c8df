package cuda

import (
	"os"
	"syscall"
)

// noFiles is the error of a system without file descriptors for memory.
func noFiles(string) error { return nil }

// newFile makes a file of a descriptor that a function returns. Programs that this one starts
// do not get it unless they are given it: the driver does not see to that.
func newFile(name string, export func() (uintptr, error)) (*os.File, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := export()
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(int(fd))
	return os.NewFile(fd, name), nil
}
