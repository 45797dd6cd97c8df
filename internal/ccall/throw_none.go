//go:build !(linux && (amd64 || arm64)) || tvmffi_portable

package ccall

// CatchesThrown is true on platforms where CatchThrown has an effect.
const CatchesThrown = false

// CatchThrown does nothing: here a C++ exception that leaves a call ends the process.
func CatchThrown(func(name string) (uintptr, error)) {}
