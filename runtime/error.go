package tvmffi

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// Error is an error of the library or of the runtime.
type Error struct {
	// Kind is the kind that the library gave, such as "ValueError"; any text.
	Kind string
	// Message says what went wrong.
	Message string
	// Backtrace lists the frames of all languages that the error passed through,
	// the most recent call first; one line each, File "x.cc", line 1, in f().
	Backtrace string

	state failure.FailureState
}

// The kinds of errors that the core of TVM-FFI uses; errors.Is compares an error
// with them by kind.
var (
	ErrValue     error = kindError("ValueError")
	ErrType      error = kindError("TypeError")
	ErrRuntime   error = kindError("RuntimeError")
	ErrIndex     error = kindError("IndexError")
	ErrKey       error = kindError("KeyError")
	ErrAttribute error = kindError("AttributeError")
	ErrAssertion error = kindError("AssertionError")
	ErrMemory    error = kindError("MemoryError")
	ErrOverflow  error = kindError("OverflowError")
	ErrInternal  error = kindError("InternalError")
	// ErrSchema is the kind of the error that a library differs from the one that
	// bindings were generated from.
	ErrSchema error = kindError(failure.KindSchema)
	// ErrNotFound is the kind of the error that a library could not be found.
	ErrNotFound error = kindError(failure.KindLibrary)
)

// kindError is the target that errors.Is compares an Error with.
type kindError string

// Error returns the kind.
func (k kindError) Error() string { return string(k) }

// KindError returns the target with which errors.Is finds errors of the given
// kind, for kinds that a library invents.
func KindError(kind string) error { return kindError(kind) }

// NewError returns an error of a kind. A Go callback that returns it makes the
// library raise that kind.
func NewError(kind, message string) *Error { return &Error{Kind: kind, Message: message} }

// WrapError returns an error of a kind with a cause, which Unwrap returns. The
// library gets the cause too, if it is an *Error.
func WrapError(kind, message string, cause error) *Error {
	return &Error{Kind: kind, Message: message, state: failure.FailureState{Cause: cause}}
}

// Error returns the kind and the message.
func (e *Error) Error() string {
	if e == nil {
		return "a nil *tvmffi.Error: return nil where there is no error"
	}
	if e.Kind == "" {
		return e.Message
	}
	return e.Kind + ": " + e.Message
}

// Is reports whether target names the kind of e, or is the same error of the
// library as e.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	switch t := target.(type) {
	case kindError:
		return string(t) == e.Kind
	case *Error:
		o := e.failure().Native()
		return o != nil && o.Handle() == t.failure().Native().Handle()
	}
	return false
}

// Unwrap returns the error that caused e: the Go error that a callback returned,
// or the cause that the library recorded.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.state.Cause
}

// failure returns the record that e is.
func (e *Error) failure() *failure.Failure { return (*failure.Failure)(unsafe.Pointer(e)) }

// An Error and its record have one layout.
const _ = -(unsafe.Sizeof(Error{}) ^ unsafe.Sizeof(failure.Failure{})) - (unsafe.Offsetof(Error{}.state) ^ unsafe.Offsetof(failure.Failure{}.FailureState))

// errorTypes makes an Error of a record of the machine and finds the record of one.
type errorTypes struct{}

// Error returns f as an error.
func (errorTypes) Error(f *failure.Failure) error { return (*Error)(unsafe.Pointer(f)) }

// Failure returns the record of err, nil if err is not an Error.
func (errorTypes) Failure(err error) *failure.Failure {
	e, _ := err.(*Error)
	return e.failure()
}

func init() { failure.Errors = errorTypes{} }
