package main

import (
	"os"
	"time"
)

const (
	// progressDelay is how long a step may take before it shows on a terminal.
	progressDelay = time.Second
	// eraseLine goes to the start of the line and empties it.
	eraseLine = "\r\x1b[K"
)

// step runs f and returns how long it took. On a terminal, a step that takes more
// than progressDelay shows its title and a clock until it ends. A step without a
// title shows nothing, because the steps inside it do.
func (t *tool) step(title string, f func() error) (time.Duration, error) {
	start := time.Now()
	stop := func() {}
	if title != "" && isTerminal(t.err) && os.Getenv("TERM") != "dumb" {
		stop = t.showProgress(title, start)
	}
	err := f()
	stop()
	return time.Since(start), err
}

// showProgress keeps one line up to date until the function that it returns is
// called, which waits until the line is clean again.
func (t *tool) showProgress(title string, start time.Time) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		wait := time.NewTimer(progressDelay)
		defer wait.Stop()
		for shown := false; ; shown = true {
			select {
			case <-quit:
				if shown {
					t.notef(eraseLine)
				}
				return
			case <-wait.C:
				t.notef("%s%s ... %.0f s", eraseLine, title, time.Since(start).Seconds())
				wait.Reset(progressDelay)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
