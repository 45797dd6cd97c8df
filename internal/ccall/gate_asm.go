//go:build (linux || darwin) && (amd64 || arm64) && !tvmffi_portable

package ccall

import "unsafe"

//go:linkname _gatedBlock tvmffi_gatedBlock
var _gatedBlock byte

//go:linkname _gatedAll tvmffi_gatedAll
var _gatedAll byte

//go:linkname _gatedDrop tvmffi_gatedDrop
var _gatedDrop byte

// callEntry, callAllEntry and dropEntry are the trampolines of Call, CallAll and Drop. With a
// gate, they are those that look whether it is closed.
var (
	callEntry    = uintptr(unsafe.Pointer(&_callBlock))
	callAllEntry = uintptr(unsafe.Pointer(&_callAll))
	dropEntry    = uintptr(unsafe.Pointer(&_drop))
)

func guard() {
	callEntry, callAllEntry = uintptr(unsafe.Pointer(&_gatedBlock)), uintptr(unsafe.Pointer(&_gatedAll))
	dropEntry = uintptr(unsafe.Pointer(&_gatedDrop))
}
