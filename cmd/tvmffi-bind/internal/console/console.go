package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Console is the standard streams of a command.
type Console struct {
	In  io.Reader
	Out io.Writer // for results
	Err io.Writer // for notes and progress

	lost   error // the first failure of Printf
	closed bool  // nobody reads standard output any more
}

// Printf writes to standard output, without control characters except those of Paint. Lost returns the error if that fails.
func (c *Console) Printf(format string, args ...any) {
	if err := c.write(visible(fmt.Sprintf(format, args...), c.paints())); err != nil && c.lost == nil {
		c.lost = err
	}
}

// write writes to standard output.
func (c *Console) write(text string) error {
	_, err := io.WriteString(c.Out, text)
	c.closed = c.closed || errors.Is(err, syscall.EPIPE)
	return err
}

// Closed reports whether the program that reads standard output has ended, as head does after its lines. That is not a
// failure: it has what it wanted.
func (c *Console) Closed() bool { return c.closed }

// Lost returns an error if something that was printed did not arrive.
func (c *Console) Lost() error {
	if c.lost != nil {
		return fmt.Errorf("standard output is incomplete: %w", c.lost)
	}
	return nil
}

// Notef writes a note for the user to standard error, as Visible makes it.
func (c *Console) Notef(format string, args ...any) {
	_, _ = io.WriteString(c.Err, Visible(fmt.Sprintf(format, args...)))
}

// JSON writes v to standard output for a program to read. No terminal obeys it: see Text.
func (c *Console) JSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return c.Text(b.Bytes())
}

// Text writes JSON to standard output. The package json leaves some control characters as they are; here they are escapes,
// which mean the same.
func (c *Console) Text(data []byte) error {
	return c.write(visible(string(data), false))
}

// Paint colours s if standard output is a terminal and NO_COLOR is not set.
func (c *Console) Paint(colour text.Color, s string) string {
	if !c.paints() {
		return s
	}
	return colour.Sprint(s)
}

func (c *Console) paints() bool { return isTerminal(c.Out) && os.Getenv("NO_COLOR") == "" }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
