package core

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// keepAlive keeps a text and its description alive until here.
func keepAlive(array *abi.ByteArray, s string) {
	runtime.KeepAlive(array)
	runtime.KeepAlive(s)
}
