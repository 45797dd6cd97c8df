package console

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

// Step runs f and returns how long it took. On a terminal, a step that takes more
// than progressDelay shows its title and a clock until it ends. A step without a
// title shows nothing, because the steps inside it do.
func (c *Console) Step(title string, f func() error) (time.Duration, error) {
	start := time.Now()
	stop := func() {}
	if title != "" && isTerminal(c.Err) && os.Getenv("TERM") != "dumb" {
		stop = c.showProgress(title, start)
	}
	err := f()
	stop()
	return time.Since(start), err
}

// showProgress keeps one line up to date until the function that it returns is
// called, which waits until the line is clean again.
func (c *Console) showProgress(title string, start time.Time) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		wait := time.NewTimer(progressDelay)
		defer wait.Stop()
		for shown := false; ; shown = true {
			select {
			case <-quit:
				if shown {
					c.Notef(eraseLine)
				}
				return
			case <-wait.C:
				c.Notef("%s%s ... %.0f s", eraseLine, title, time.Since(start).Seconds())
				wait.Reset(progressDelay)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
