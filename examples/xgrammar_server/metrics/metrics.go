// Package metrics counts, and writes the numbers in the text format of Prometheus.
package metrics

import (
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// Counter is a number that grows. The zero Counter is ready for use by several goroutines.
type Counter struct{ n atomic.Int64 }

// Add adds n.
func (c *Counter) Add(n int) { c.n.Add(int64(n)) }

// Value returns the sum so far.
func (c *Counter) Value() int64 { return c.n.Load() }

// bounds are the upper ends of the buckets of a Histogram, in seconds.
var bounds = [...]float64{10e-6, 30e-6, 100e-6, 300e-6, 1e-3, 3e-3, 10e-3, 30e-3, 0.1, 0.3, 1, 3, 10, 30}

// Histogram counts durations. The zero Histogram is ready for use by several goroutines.
type Histogram struct {
	buckets [len(bounds) + 1]atomic.Int64
	nanos   atomic.Int64
}

// Since adds the time since start.
func (h *Histogram) Since(start time.Time) { h.Add(time.Since(start)) }

// Add adds a duration.
func (h *Histogram) Add(d time.Duration) {
	i := 0
	for i < len(bounds) && d.Seconds() > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.nanos.Add(int64(d))
}

// Writer writes numbers. It keeps the first error.
type Writer struct {
	to  io.Writer
	err error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Err returns the first error of the writes so far.
func (w *Writer) Err() error { return w.err }

func (w *Writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, format, args...)
	}
}

func (w *Writer) head(name, kind, help string) {
	w.printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Counter writes a number that grows.
func (w *Writer) Counter(name, help string, value int64) {
	w.head(name, "counter", help)
	w.printf("%s %d\n", name, value)
}

// Gauge writes a number that goes up and down.
func (w *Writer) Gauge(name, help string, value int64) {
	w.head(name, "gauge", help)
	w.printf("%s %d\n", name, value)
}

// Sample is one of several numbers of a name, with the value of the label.
type Sample struct {
	Label string
	Value int64
}

// Labelled writes several numbers that grow, which a label tells apart.
func (w *Writer) Labelled(name, help, label string, samples []Sample) {
	w.head(name, "counter", help)
	for _, s := range samples {
		w.printf("%s{%s=%q} %d\n", name, label, s.Label, s.Value)
	}
}

// Histogram writes the buckets, the sum and the number of durations.
func (w *Writer) Histogram(name, help string, h *Histogram) {
	w.head(name, "histogram", help)
	total := int64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
		end := "+Inf"
		if i < len(bounds) {
			end = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		w.printf("%s_bucket{le=%q} %d\n", name, end, total)
	}
	w.printf("%s_sum %g\n%s_count %d\n", name, time.Duration(h.nanos.Load()).Seconds(), name, total)
}

// Count returns the number of durations so far.
func (h *Histogram) Count() int64 {
	total := int64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
	}
	return total
}

// Sum returns the sum of the durations so far.
func (h *Histogram) Sum() time.Duration { return time.Duration(h.nanos.Load()) }
