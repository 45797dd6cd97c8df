//go:build linux && (!amd64 || tvmffi_portable)

package dynlib

// shareFaults exists for amd64 only.
func shareFaults(*sigaction, uint64) {}
