package server

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// protect sets err to the result of f, which calls a model, in a goroutine that ends with it. A panic is an error, and so is an
// end of the goroutine, as by runtime.Goexit or by FailNow of a test. The log has where.
func protect(log *slog.Logger, what string, err *error, f func() error) {
	ended := false
	defer func() {
		if ended {
			return
		}
		how := "ended its goroutine"
		if r := recover(); r != nil {
			how = fmt.Sprintf("panicked: %v", r)
		}
		*err = fmt.Errorf("%s %s", what, how)
		log.Error("the model failed", "error", *err, "stack", string(debug.Stack()))
	}()
	*err = f()
	ended = true
}

// apart is protect in a goroutine of its own, for which it waits.
func apart(log *slog.Logger, what string, f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		protect(log, what, &err, f)
	}()
	<-done
	return err
}
