package vm

import "fmt"

// Error is an error of this package.
type Error struct {
	// Op is the operation, such as "load" or "call".
	Op string
	// Name is the file or the function.
	Name string
	// Err is the cause: a *tvmffi.Error if it comes from the virtual machine.
	Err error
}

// Error returns the text of the error, such as "vm: call main: the number of arguments is 1, expected 2: main(x, w)".
func (e *Error) Error() string { return fmt.Sprintf("vm: %s %s: %v", e.Op, e.Name, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail returns err as an *Error, and nil for nil.
func fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{op, name, err}
}
