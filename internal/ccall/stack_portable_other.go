//go:build !linux && !windows && (!(darwin && (amd64 || arm64)) || tvmffi_portable)

package ccall

// threadStack knows no stack.
func threadStack() (thread, low, high uintptr) { return 0, 0, 0 }
