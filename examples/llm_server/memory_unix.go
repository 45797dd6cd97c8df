//go:build unix

package main

import (
	"fmt"
	"runtime"
	"syscall"
)

// region is memory outside of the Go heap. The collector frees it.
type region struct{ bytes []byte }

// zeros returns memory that the system gives page by page, when each is first written. Go would clear the memory itself where a part of
// it was in use before, and so write every page.
func zeros(size int64) (*region, error) {
	bytes, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("get %d bytes of memory: %w", size, err)
	}
	r := &region{bytes}
	runtime.AddCleanup(r, func(bytes []byte) { _ = syscall.Munmap(bytes) }, bytes)
	return r, nil
}
