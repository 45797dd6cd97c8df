package core

import (
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
)

// Attach finds the C functions in the library. It returns the names of the
// required ones that are missing; then nothing is attached.
func Attach(h dynlib.Handle) (missing []string) {
	return capi.Attach(h, func() { ccall.SetCallback(callbackEntry) })
}
