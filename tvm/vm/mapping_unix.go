//go:build unix

package vm

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// mapFile maps a file. Writes to the memory stay in the process.
func mapFile(path string) (*mapping, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: it is not a file", path)
	}
	size := int(info.Size())
	if size == 0 { // which cannot be mapped
		return new(mapping), nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("%s: map %d bytes: %w", path, size, err)
	}
	m := &mapping{bytes: b, outside: true}
	runtime.AddCleanup(m, func(b []byte) { _ = unix.Munmap(b) }, b)
	return m, nil
}
