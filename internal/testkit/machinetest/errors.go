// Package machinetest has what the tests of the machine share: errors without package
// tvmffi, which stands above the machine, and waits for the collector. It stands on package
// failure, so the tests of ccall, capi and objects cannot use it. Only tests import it.
package machinetest

import "github.com/tvmffi-go/tvmffi/internal/failure"

// Error is a record of package failure as an error. The errors of the machine are of this
// type in a test that does not link package tvmffi.
type Error failure.Failure

// Error returns the kind and the message.
func (e *Error) Error() string { return e.Kind + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// errorTypes converts between Errors and records.
type errorTypes struct{}

// Error returns f as an error.
func (errorTypes) Error(f *failure.Failure) error { return (*Error)(f) }

// Failure returns err as a record, or nil if err is not an Error.
func (errorTypes) Failure(err error) *failure.Failure {
	e, _ := err.(*Error)
	return (*failure.Failure)(e)
}

// Package tvmffi sets its own types, before or after this.
func init() {
	if failure.Errors == nil {
		failure.Errors = errorTypes{}
	}
}
