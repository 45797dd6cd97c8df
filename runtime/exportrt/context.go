package exportrt

import (
	"context"
	"time"

	"github.com/tvmffi-go/tvmffi/runtime/env"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// interval is how often the host is asked whether a call shall end.
const interval = 50 * time.Millisecond

// Interruptible runs f, which takes a context, and ends the context when the host
// is interrupted, by Ctrl-C in Python. Hosts tell that only on the thread that
// called, so f runs on a goroutine of its own meanwhile; the arguments stay valid
// until it returns, and it is always waited for.
func Interruptible(f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		err := failure.Errorf(failure.KindRuntime, "the Go function ended by runtime.Goexit")
		defer func() {
			if p := recover(); p != nil {
				err = failure.Recovered(p)
			}
			done <- err
		}()
		err = f(ctx)
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
				return err // the host has set its error, so it must be raised
			}
		}
	}
}
