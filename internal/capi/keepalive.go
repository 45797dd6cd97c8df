package capi

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// KeepValue keeps a value that C looks at alive until here.
func KeepValue(v *abi.Any) { runtime.KeepAlive(v) }

// KeepAlive keeps a text and its description alive until here.
func KeepAlive(array *abi.ByteArray, s string) {
	runtime.KeepAlive(array)
	runtime.KeepAlive(s)
}
