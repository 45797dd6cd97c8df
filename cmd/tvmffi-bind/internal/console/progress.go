package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	// progressDelay is how long a step may take before it shows on a terminal.
	progressDelay = time.Second
	// logDelay is how long a step may take before it shows in a log.
	logDelay = 10 * time.Second
	// eraseLine goes to the start of the line and empties it.
	eraseLine = "\r\x1b[K"
)

// Step runs f and returns how long it took. On a terminal, a step that takes more
// than progressDelay shows its title and a clock until it ends. In a log, a step that
// takes more than logDelay writes a line, and another one at its end. A step without a
// title shows nothing, because the steps inside it do.
func (c *Console) Step(title string, f func() error) (time.Duration, error) {
	return c.StepOf(title, func() string { return "" }, f)
}

// StepOf is Step, and shows on a terminal how far the step is. Done is called now and then.
func (c *Console) StepOf(title string, done func() string, f func() error) (time.Duration, error) {
	start := time.Now()
	stop := func() {}
	switch {
	case title == "":
	case isTerminal(c.Err) && os.Getenv("TERM") != "dumb":
		stop = c.showProgress(title, done, start)
	default:
		stop = c.logProgress(title, start)
	}
	err := f()
	stop()
	return time.Since(start), err
}

// logProgress writes a line if the step is not over after logDelay. The func that it
// returns writes how long it took then.
func (c *Console) logProgress(title string, start time.Time) (stop func()) {
	shown := make(chan struct{})
	timer := time.AfterFunc(logDelay, func() {
		defer close(shown)
		c.Notef("%s ...\n", title)
	})
	return func() {
		if !timer.Stop() {
			<-shown
			c.Notef("%s took %.0f s\n", title, time.Since(start).Seconds())
		}
	}
}

// showProgress keeps one line up to date until the function that it returns is
// called, which waits until the line is clean again.
func (c *Console) showProgress(title string, done func() string, start time.Time) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		wait := time.NewTimer(progressDelay)
		defer wait.Stop()
		for shown := false; ; shown = true {
			select {
			case <-quit:
				if shown {
					_, _ = io.WriteString(c.Err, eraseLine)
				}
				return
			case <-wait.C:
				line := fmt.Sprintf("%s ... %s", title, strings.TrimPrefix(fmt.Sprintf("%s, %.0f s", done(), time.Since(start).Seconds()), ", "))
				_, _ = io.WriteString(c.Err, eraseLine+Visible(line))
				wait.Reset(progressDelay)
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}
