//go:build linux && (amd64 || arm64) && !tvmffi_portable

package ccall

// Allocator returns what SetAllocator has set.
func Allocator() (mallocAddress, freeAddress uintptr) { return malloc, free }
