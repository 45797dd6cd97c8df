//go:build !linux || (!amd64 && !arm64) || tvmffi_portable || msan || asan

package crash

// Share does nothing: here all faults go to Go's handler.
func Share(uintptr) {}

// Start does nothing: here Go alone reports faults.
func Start(func(g0 uintptr) bool) {}
