package golib

import (
	"errors"
	"fmt"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/kind"
)

// NotFoundError says that there is nothing with a name.
//
//tvmffi:error base=KeyError
type NotFoundError struct {
	Name  string   `ffi:"name"`
	Tries int64    `ffi:"tries,default=1"`
	Near  []string `ffi:"near,optional"`
}

// Error names what is missing.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("nothing is called %s (tries: %d)", e.Name, e.Tries)
}

// LimitError is a limit that was passed.
//
//tvmffi:error golib.Limit base=ValueError
type LimitError int64

// Error names the limit.
func (e LimitError) Error() string { return fmt.Sprintf("more than %d", int64(e)) }

// errMissing is one certain error.
var errMissing error = &NotFoundError{Name: "missing", Tries: 2, Near: []string{"mist", "missive"}}

// Find finds nothing: missing is an error that IsMissing knows again, numbers pass a limit.
//
//tvmffi:export
func Find(name string) (string, error) {
	switch name {
	case "missing":
		return "", errMissing
	case "number":
		return "", fmt.Errorf("find a number: %w", LimitError(7))
	}
	return "", fmt.Errorf("find: %w", &NotFoundError{Name: name, Tries: 1})
}

// IsMissing reports whether a function of the host fails with the error of Find("missing").
//
//tvmffi:export
func IsMissing(f func() error) bool { return errors.Is(f(), errMissing) }

// Caught describes the error of a function of the host.
//
//tvmffi:export
func Caught(f func() error) string {
	err := f()
	var missing *NotFoundError
	var limit LimitError
	switch {
	case err == nil:
		return "nothing"
	case errors.As(err, &missing):
		return fmt.Sprintf("NotFoundError %s %d %q key=%v: %v", missing.Name, missing.Tries, missing.Near, errors.Is(err, tvmffi.ErrKey), err)
	case errors.As(err, &limit):
		return fmt.Sprintf("LimitError %d value=%v: %v", limit, errors.Is(err, tvmffi.ErrValue), err)
	}
	return fmt.Sprintf("os=%v arithmetic=%v: %v", errors.Is(err, kind.OS), errors.Is(err, kind.Arithmetic), err)
}

// Through returns the error of a function of the host: itself, or in the text of another.
//
//tvmffi:export
func Through(f func() error, wrap bool) error {
	err := f()
	if err != nil && wrap {
		return fmt.Errorf("through Go: %w", err)
	}
	return err
}
