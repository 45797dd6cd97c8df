package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fakeMark begins each line of a log of the fake driver, so that no line of it can be taken for a result of a GPU.
const fakeMark = "FAKE DRIVER, not a GPU | "

// log is the log of a run: each line goes to the file and to the output.
type log struct {
	file   string
	to     io.Writer
	opened *os.File
	mark   string
	failed error // to write
}

// newLog begins the log of a day. A second run of that day gets a name of its own.
func newLog(dir string, fake bool, out io.Writer, now time.Time) (*log, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := new(log)
	kind := "gpu"
	if fake {
		kind, l.mark = "fake-driver", fakeMark
	}
	for n := 1; l.opened == nil; n++ {
		name := now.Format(time.DateOnly) + "-" + kind
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		l.file = filepath.Join(dir, name+".md")
		f, err := os.OpenFile(l.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil && !os.IsExist(err) {
			return nil, err
		}
		l.opened = f
	}
	l.to = io.MultiWriter(l.opened, out)
	return l, nil
}

// printf writes lines.
func (l *log) printf(format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		if _, err := fmt.Fprintf(l.to, "%s%s\n", l.mark, line); err != nil && l.failed == nil {
			l.failed = err
		}
	}
}

// close ends the log; the error is the first one of writing it.
func (l *log) close() error {
	if err := l.opened.Close(); err != nil && l.failed == nil {
		l.failed = err
	}
	return l.failed
}

// lines is a writer that hands on whole lines.
type lines struct {
	rest []byte
	to   func(line string)
}

// Write hands on the lines that p completes.
func (w *lines) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.to(strings.TrimRight(string(line), "\r"))
		w.rest = rest
	}
}

// end hands on what has no end of a line.
func (w *lines) end() {
	if len(w.rest) > 0 {
		w.to(string(w.rest))
		w.rest = nil
	}
}
