// Package advice adds to an error what the user can do about it.
package advice

import "strings"

// Add returns err with a text behind it, after a semicolon. Errors of Windows end with a full stop, which would stand before it.
func Add(err error, text string) error { return &advised{err, text} }

type advised struct {
	err  error
	text string
}

// Error returns the text of the error and the one behind it.
func (e *advised) Error() string {
	text := e.err.Error()
	if !strings.HasSuffix(text, "..") { // as in "...", which leaves something out
		text = strings.TrimSuffix(text, ".")
	}
	return text + "; " + e.text
}

// Unwrap returns the error without the text behind it.
func (e *advised) Unwrap() error { return e.err }
