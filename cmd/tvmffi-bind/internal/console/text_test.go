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
