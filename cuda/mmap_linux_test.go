package cuda_test

import "syscall"

// mapMemory returns memory that is not Go's.
func mapMemory(bytes int) ([]byte, error) {
	return syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// inherited reports whether programs that this one starts get a file.
func inherited(fd uintptr) bool {
	flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFD, 0)
	return flags&syscall.FD_CLOEXEC == 0
}

func unmapMemory(p []byte) { _ = syscall.Munmap(p) }
