package exportrt

import (
	"context"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/environment"
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
	return environment.Wait(a, func() error { return f(ctx) }, func(done <-chan error) error {
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
	})
}

// Contained runs f, which uses the arguments a and sets the result, so that runtime.Goexit in f
// is an error of the call. As in Interruptible, f runs on another goroutine, for which
// Contained waits. The generator writes it for the funcs that may call runtime.Goexit.
func Contained(a *bindrt.Args, f func() error) error { return environment.Contained(a, f) }
