//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import "unsafe"

//go:linkname _gatedBlock tvmffi_gatedBlock
var _gatedBlock byte

//go:linkname _gatedAll tvmffi_gatedAll
var _gatedAll byte

// callEntry and callAllEntry are the trampolines of Call and CallAll. With a gate, they are
// those that look whether it is closed.
var (
	callEntry    = uintptr(unsafe.Pointer(&_callBlock))
	callAllEntry = uintptr(unsafe.Pointer(&_callAll))
)

func guard() {
	callEntry, callAllEntry = uintptr(unsafe.Pointer(&_gatedBlock)), uintptr(unsafe.Pointer(&_gatedAll))
}
