package console

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStep_log runs steps whose output is not a terminal, as in CI.
func TestStep_log(t *testing.T) {
	for took, want := range map[time.Duration]string{
		9 * time.Second:  "",
		75 * time.Second: "building ...\nbuilding took 75 s\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			c := &Console{Err: &log}
			if _, err := c.Step("building", func() error { time.Sleep(took); return nil }); err != nil {
				t.Fatal(err)
			}
			if log.String() != want {
				t.Errorf("a step of %s writes %q, want %q", took, log.String(), want)
			}
		})
	}
}
