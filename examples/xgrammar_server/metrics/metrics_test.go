package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWriter(t *testing.T) {
	var h Histogram
	h.Add(20 * time.Microsecond)
	h.Add(time.Hour)
	var c Counter
	c.Add(2)
	c.Add(3)
	var b strings.Builder
	w := NewWriter(&b)
	w.Counter("a_total", "Things.", c.Value())
	w.Labelled("b_total", "Parts.", "kind", []Sample{{`x"y`, 1}})
	w.Gauge("c", "Level.", -1)
	w.Histogram("d_seconds", "Time.", &h)
	for _, want := range []string{
		"# HELP a_total Things.\n# TYPE a_total counter\na_total 5\n", `b_total{kind="x\"y"} 1`, "# TYPE c gauge\nc -1\n",
		`d_seconds_bucket{le="1e-05"} 0`, `d_seconds_bucket{le="3e-05"} 1`, `d_seconds_bucket{le="30"} 1`, `d_seconds_bucket{le="+Inf"} 2`, "d_seconds_count 2\n", "d_seconds_sum 3600.00002\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q lacks %q", b.String(), want)
		}
	}
	if h.Count() != 2 || h.Sum() != time.Hour+20*time.Microsecond || w.Err() != nil {
		t.Errorf("%d, %v, %v", h.Count(), h.Sum(), w.Err())
	}
	broken := NewWriter(failing{})
	broken.Gauge("c", "Level.", 1)
	if broken.Err() == nil {
		t.Error("the error of the writer is lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }
