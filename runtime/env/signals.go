package env

import (
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ErrSignal is the kind of the error of [CheckSignals], and of a call whose error is
// with the host language: Python functions fail so after Ctrl-C. A callback that
// returns it makes the host raise the error that it has.
var ErrSignal = tvmffi.KindError(failure.KindSignal)

// CheckSignals reports whether the program that called Go wants the call to end: a
// Python program after Ctrl-C, which otherwise waits for the call. A long Go
// function that other languages call looks now and then, on the goroutine that
// was called, and returns the error as it is; Python then raises KeyboardInterrupt.
// Where nobody can interrupt, it returns nil.
func CheckSignals() error {
	if !capi.Attached() || core.CheckSignals() == 0 {
		return nil
	}
	return &tvmffi.Error{Kind: failure.KindSignal, Message: "the host was interrupted"}
}
