package env

import (
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// ErrSignal is the kind of the error that [CheckSignals] returns. A call also returns it if
// the host language keeps the error itself, as Python does after Ctrl-C. If a callback
// returns such an error, the host raises the error that it keeps.
var ErrSignal = tvmffi.KindError(failure.KindSignal)

// CheckSignals returns an error if the host wants the current call of Go to end, such as a Python
// program after Ctrl-C. Otherwise it returns nil, also if no host can interrupt. A long Go
// function that other languages call should call CheckSignals regularly, on the goroutine on
// which it was called, and return the error unchanged; Python then raises KeyboardInterrupt.
func CheckSignals() error {
	if !capi.Attached() || environment.CheckSignals() == 0 {
		return nil
	}
	return &tvmffi.Error{Kind: failure.KindSignal, Message: "the host was interrupted"}
}
