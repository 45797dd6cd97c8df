package console

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStep_terminal runs steps whose output is a terminal: a clock shows after a second, and is gone at the end.
func TestStep_terminal(t *testing.T) {
	for _, c := range []struct {
		took        time.Duration
		title, term string
		want        string
	}{
		{900 * time.Millisecond, "building", "xterm", ""},
		{2500 * time.Millisecond, "building", "xterm", eraseLine + "building ... 1 MB, 1 s" + eraseLine + "building ... 1 MB, 2 s" + eraseLine},
		{2500 * time.Millisecond, "building", "dumb", ""},
		{2500 * time.Millisecond, "", "xterm", ""},
	} {
		t.Setenv("TERM", c.term)
		terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // which returns the echo of what is written
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			console := &Console{Err: terminal}
			if _, err := console.StepOf(c.title, func() string { return "1 MB" }, func() error { time.Sleep(c.took); return nil }); err != nil {
				t.Error(err)
			}
			console.Notef("end\n")
		})
		var text strings.Builder
		for part := make([]byte, 100); !strings.Contains(text.String(), "end\r\n"); {
			n, err := terminal.Read(part)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(part[:n])
		}
		terminal.Close()
		if got, want := text.String(), strings.ReplaceAll(c.want, eraseLine, "\r\n^[[K")+"end\r\n"; got != want {
			t.Errorf("a step %q of %s on %s shows %q, want %q", c.title, c.took, c.term, got, want)
		}
	}
}
