//go:build bindings

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
)

// progress prints a line for each batch.
type progress struct {
	out     io.Writer
	trials  int       // how many there will be
	start   time.Time // of the tuning
	flop    float64   // floating point operations of one call
	done    int       // trials so far
	errors  int
	example string  // the first error
	best    float64 // seconds of the fastest candidate
}

// begin prints the names of the columns and starts the clock.
func (p *progress) begin() {
	fmt.Fprintf(p.out, "%9s  %12s  %10s  %6s  %8s  %8s\n", "trials", "best GFLOPS", "time", "errors", "elapsed", "left")
	p.start, p.best = time.Now(), math.Inf(1)
}

// count adds the result of one trial.
func (p *progress) count(result *ms.RunnerResult) {
	p.done++
	p.best = min(p.best, median(result))
	if text := result.ErrorMsg(); text != nil { // an error of the builder too
		p.errors++
		if p.example == "" {
			p.example = *text
		}
	}
}

// print prints the line of a batch.
func (p *progress) print() {
	elapsed := time.Since(p.start)
	left := time.Duration(float64(elapsed) / float64(max(p.done, 1)) * float64(max(p.trials-p.done, 0)))
	fmt.Fprintf(p.out, "%4d/%4d  %12s  %10s  %6d  %8s  %8s\n", p.done, p.trials, gflops(p.flop, p.best), duration(p.best),
		p.errors, elapsed.Round(time.Second), left.Round(time.Second))
}

// gflops is a speed in units of 10⁹ floating point operations per second.
func gflops(flop, seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "-"
	}
	return fmt.Sprintf("%.2f", flop/seconds/1e9)
}

// duration is a time with a unit that suits it.
func duration(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "-"
	}
	return time.Duration(seconds * 1e9).Round(100 * time.Nanosecond).String()
}

// gist is the line of an error that says what happened. In an error of an RPC server it follows a line
// of TVM.
func gist(text string) string {
	if _, remote, found := strings.Cut(text, "Error caught from RPC call:\n"); found {
		text = remote
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
