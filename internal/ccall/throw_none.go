//go:build !(linux && (amd64 || arm64)) || tvmffi_portable

package ccall

// CatchesThrown is true where CatchThrown does what it says.
const CatchesThrown = false

// CatchThrown does nothing: here a C++ exception that leaves a call ends the process.
func CatchThrown(func(name string) (uintptr, error)) {}
