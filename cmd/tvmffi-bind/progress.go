package main

import (
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// progressDelay is how long a step may take before it shows on a terminal.
const progressDelay = time.Second

// step runs f and returns how long it took. On a terminal, a step that takes more
// than progressDelay shows its title and a clock until it ends.
func (t *tool) step(title string, f func() error) (time.Duration, error) {
	start := time.Now()
	stop := func() {}
	if isTerminal(t.err) {
		stop = t.showProgress(title)
	}
	err := f()
	stop()
	return time.Since(start), err
}

// showProgress starts a spinner after progressDelay; the function it returns ends
// it and waits until the terminal is clean again.
func (t *tool) showProgress(title string) (stop func()) {
	w := progress.NewWriter()
	w.SetOutputWriter(t.err)
	w.SetAutoStop(false)
	w.SetUpdateFrequency(100 * time.Millisecond)
	w.Style().Visibility.Value = false
	w.Style().Visibility.Percentage = false
	tracker := &progress.Tracker{Message: title, RemoveOnCompletion: true}

	var rendering sync.WaitGroup
	timer := time.AfterFunc(progressDelay, func() {
		defer rendering.Done()
		w.AppendTracker(tracker)
		w.Render()
	})
	rendering.Add(1)
	return func() {
		if timer.Stop() {
			rendering.Done() // it never started
			return
		}
		tracker.MarkAsDone()
		for !w.IsRenderInProgress() {
			time.Sleep(time.Millisecond)
		}
		w.Stop()
		rendering.Wait()
	}
}
