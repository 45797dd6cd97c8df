package console

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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

// A terminal obeys nothing that comes from a library, a wheel or the name of a file.
func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain ä\n\ttext", "plain ä\n\ttext"},
		{"\x1b]0;title\x07\x1b[2J\x1b[31mred\r\n", `\u001b]0;title\u0007\u001b[2J\u001b[31mred\u000d` + "\n"},
		{"a\x00b\x7fc\u009b1md\u202ee", `a\u0000b\u007fc\u009b1md\u202ee`},
		{"\x9b2J\xff", "\ufffd2J\ufffd"},
	} {
		var out, err strings.Builder
		con := &Console{Out: &out, Err: &err}
		con.Notef("%s", c.text)
		con.Printf("%s", c.text)
		if Visible(c.text) != c.want || err.String() != c.want || out.String() != c.want {
			t.Errorf("%q: %q, note %q, output %q", c.text, Visible(c.text), err.String(), out.String())
		}
	}
	var out strings.Builder
	names := []string{"c\u009b1m\x7f", "a\u202eb", "<\x1b>"}
	var read []string
	if err := (&Console{Out: &out}).JSON(names); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.String()), &read); err != nil || !slices.Equal(read, names) || strings.ContainsFunc(out.String(), hidden) {
		t.Errorf("%q: %q, %v", out.String(), read, err)
	}
	long := "name " + strings.Repeat("n", 100_000) + " end\nnext"
	if got := Visible(long); len(got) > longest+100 || !strings.HasPrefix(got, "name nnn") || !strings.HasSuffix(got, " end\nnext") || !strings.Contains(got, "n ... 96010 more bytes ... n") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := Visible(strings.Repeat("\u00e4", longest)); !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
	if got := visible("\x1b[31mred\x1b[0m\x1b[8mgone\x1b[2J", true); got != "\x1b[31mred\x1b[0m"+`\u001b[8mgone\u001b[2J` {
		t.Errorf("painted: %q", got)
	}
}
