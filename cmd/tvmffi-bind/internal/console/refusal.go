package console

import "fmt"

// Refusal is an error that means "stale or refused", not "could not run".
type Refusal struct {
	Err   error
	Quiet bool // the command has already printed everything
}

// Error returns the text of the error that r marks.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the error that r marks.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse returns a refusal with a message in the form of [fmt.Errorf].
func Refuse(format string, args ...any) error {
	return &Refusal{Err: fmt.Errorf(format, args...)}
}

// RefuseQuietly returns a refusal of a command that has already printed its verdict.
func RefuseQuietly(format string, args ...any) error {
	return &Refusal{Err: fmt.Errorf(format, args...), Quiet: true}
}
