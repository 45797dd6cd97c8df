//go:build (amd64 || arm64) && !tvmffi_portable

package ccall

// findStacks leaves the bounds of threads that C made to the Go runtime, which knows them in
// programs with cgo.
func findStacks() {}
