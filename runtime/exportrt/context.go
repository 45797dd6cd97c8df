package exportrt

import (
	"context"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

// interval is the time between two questions to the host whether the call should end.
const interval = 50 * time.Millisecond

// Interruptible runs f, which uses the arguments a and sets the result, and cancels its
// context when the host is interrupted, such as by Ctrl-C in Python. A host reports that only
// on the thread that called Go, so f runs on another goroutine, with the streams and the
// allocator of that thread. Interruptible always waits for f, so the arguments stay valid
// until f returns.
//
// For the arguments of an asynchronous call, Interruptible only keeps f.
func Interruptible(a *bindrt.Args, f func(context.Context) error) error {
	if a.Later(f) {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	here := environment.SettingsHere()
	go func() {
		err := errGoexit
		defer func() {
			if p := recover(); p != nil {
				err = a.Recovered(p)
			}
			done <- err
		}()
		err = here.Apply(func() error { return f(ctx) })
	}()
	clock := time.NewTicker(interval)
	defer clock.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-clock.C:
			if err := env.CheckSignals(); err != nil {
				cancel(err)
				<-done
				return err // the host has set its own error and must raise it
			}
		}
	}
}

// errGoexit is the error of a func that ends its goroutine.
var errGoexit = failure.Errorf(failure.KindRuntime, "the Go function ended by runtime.Goexit")
