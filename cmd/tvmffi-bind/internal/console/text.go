package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
