package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 types", 1: "1 type", 2: "2 types"} {
		if got := Count(n, "type"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(wd), "other", "x.go")
	for path, want := range map[string]string{
		filepath.Join(wd, "a", "x.go"): "a/x.go",
		wd:                             ".",
		outside:                        outside,
	} {
		if got := Shown(path); got != want {
			t.Errorf("Shown(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestFirstAndLastLines(t *testing.T) {
	var lines []string
	for i := range 25 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	long, short := strings.Join(lines, "\n"), "one\ntwo"
	if got, want := FirstLines(long), strings.Join(lines[:20], "\n")+"\nand 5 more lines"; got != want {
		t.Errorf("FirstLines of 25 lines = %q, want %q", got, want)
	}
	if got := FirstLines(short); got != short {
		t.Errorf("FirstLines(%q) = %q, want it unchanged", short, got)
	}
	if got, want := LastLines(long+"\n"), "  "+strings.Join(lines[17:], "\n  "); got != want {
		t.Errorf("LastLines of 25 lines = %q, want %q", got, want)
	}
	if got := LastLines(" \n"); got != "" {
		t.Errorf("LastLines of an empty line = %q, want \"\"", got)
	}
}

// TestList: a long list ends with the number of its other lines and the flag that shows them.
func TestList(t *testing.T) {
	var lines []string
	for i := range mostListed + 3 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, ""},
		{lines[:2], "skipped:\n  line 0\n  line 1\n"},
		{lines[:mostListed], "skipped:\n  " + strings.Join(lines[:mostListed], "\n  ") + "\n"},
		{lines, "skipped:\n  " + strings.Join(lines[:mostListed], "\n  ") + "\n  and 3 more: --report shows them all\n"},
	} {
		var out strings.Builder
		(&Console{Err: &out}).List("skipped", "--report", c.lines)
		if out.String() != c.want {
			t.Errorf("%d lines: %q, want %q", len(c.lines), out.String(), c.want)
		}
	}
}
