package console

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with its noun, such as "1 type" or "2 types".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// mostListed is how many items of a list a person reads.
const mostListed = 12

// Few lists the first names of a long list.
func Few(names []string) string {
	if len(names) <= mostListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), len(names)-mostListed)
}

// List writes the first lines of a long list below a title to standard error, and nothing without
// lines. Flag is the one that shows all of them.
func (c *Console) List(title, flag string, lines []string) {
	if len(lines) == 0 {
		return
	}
	c.Notef("%s:\n", title)
	for _, line := range lines[:min(len(lines), mostListed)] {
		c.Notef("  %s\n", line)
	}
	if more := len(lines) - mostListed; more > 0 {
		c.Notef("  and %d more: %s shows them all\n", more, flag)
	}
}

// Shown returns path relative to the working directory if it lies below it.
func Shown(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return filepath.ToSlash(rel)
}

// mostLines is how much of a long list of errors FirstLines keeps.
const mostLines = 20

// FirstLines keeps a long list of errors readable: it returns the first 20 lines.
func FirstLines(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= mostLines {
		return text
	}
	return strings.Join(lines[:mostLines], "\n") + fmt.Sprintf("\nand %d more lines", len(lines)-mostLines)
}

// LastWords is how many lines LastLines returns at most.
const LastWords = 8

// LastLines returns the last lines of what a program printed, indented.
func LastLines(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "?"))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > LastWords {
		lines = lines[len(lines)-LastWords:]
	}
	return "  " + strings.Join(lines, "\n  ")
}

// ours matches a sequence that Paint writes, at the beginning of a text.
var ours = regexp.MustCompile(`^\x1b\[(0|1|2|31|32|33)m`)

// longest is how many bytes of a line Visible keeps.
const longest = 4000

// Visible returns a text that comes from a library, a wheel or the name of a file, and may hold anything, so that a
// terminal shows it and does not obey it: control characters, except tabs and new lines, and characters that
// change the direction of the text become escapes such as \u001b, which JSON has as well. The middle of a long line is left out.
func Visible(s string) string {
	s = visible(s, false)
	if len(s) <= longest {
		return s
	}
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		if n := len(line); n > longest {
			const end = longest / 5
			lines[i] = strings.ToValidUTF8(line[:longest-end], "") + fmt.Sprintf(" ... %d more bytes ... ", n-longest) + strings.ToValidUTF8(line[n-end:], "")
		}
	}
	return strings.Join(lines, "")
}

// visible writes escapes in place of control characters, except, perhaps, the sequences of Paint.
func visible(s string, painted bool) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case painted && ours.MatchString(s):
			n = len(ours.FindString(s))
			b.WriteString(s[:n])
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// hidden reports whether a terminal would obey a character: a control character, or one of the marks that change the
// direction of a text.
func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
