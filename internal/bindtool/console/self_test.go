package console

import "testing"

func TestWritingCommand(t *testing.T) {
	got := WritingCommand([]string{"gen", "--lib", "a.so", "--check", "--report", "r.json", "--report=x", "--out", "x"})
	if want := Command() + " gen --lib a.so --out x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
