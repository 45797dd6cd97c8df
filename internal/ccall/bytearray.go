package ccall

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// ByteArray calls a C function of one argument that returns a TVMFFIByteArray, in two registers. On Windows on amd64 the caller
// passes where it goes, before the argument. On Windows on arm64, for which there is no wheel, Go keeps the first register only.
func ByteArray(function, arg uintptr) abi.ByteArray {
	if runtime.GOOS == "windows" && runtime.GOARCH == "amd64" {
		out := new(abi.ByteArray) // SyscallN makes it escape
		purego.SyscallN(function, uintptr(unsafe.Pointer(out)), arg)
		return *out
	}
	data, size, _ := purego.SyscallN(function, arg)
	return abi.ByteArray{Data: data, Size: size}
}
