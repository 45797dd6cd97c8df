package tvmffi

import (
	"io/fs"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// Error is an error of the library or of this runtime. An *Error may be used by several
// goroutines as long as none of them writes its fields.
type Error struct {
	// Kind is the kind that the library gave, such as "ValueError". It may be any text.
	Kind string
	// Message describes the error, without the kind.
	Message string
	// Backtrace lists the frames of all languages that the error passed through, the
	// most recent call first. Each frame is a line: File "x.cc", line 1, in f().
	Backtrace string

	state failure.FailureState
}

// The kinds of errors that the core of TVM-FFI uses. errors.Is(err, ErrValue) reports
// whether err is an error of that kind. Package kind has the other kinds of Python.
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
	// ErrSchema is the kind of the error that reports that a library differs from the
	// library from which the bindings were generated.
	ErrSchema error = kindError(failure.KindSchema)
	// ErrNotFound is the kind of the error that reports that no file of a library was
	// found. For such an error, errors.Is also reports true for fs.ErrNotExist.
	ErrNotFound error = kindError(failure.KindLibrary)
)

// kindError is the target with which errors.Is compares an Error.
type kindError string

// Error returns the kind.
func (k kindError) Error() string { return string(k) }

// KindError returns a target for errors.Is, which finds errors of the given kind. It is for
// the kinds that a library defines itself.
func KindError(kind string) error { return kindError(kind) }

// NewError returns an error of the given kind. If a Go callback returns it, the library
// raises an error of that kind.
func NewError(kind, message string) *Error { return &Error{Kind: kind, Message: message} }

// WrapError returns an error of the given kind with a cause, which Unwrap returns. If the
// cause is an *Error, the library receives it too.
func WrapError(kind, message string, cause error) *Error {
	return &Error{Kind: kind, Message: message, state: failure.FailureState{Cause: cause}}
}

// Error returns the kind and the message, such as "ValueError: n is negative".
func (e *Error) Error() string {
	if e == nil {
		return "a nil *tvmffi.Error: return nil where there is no error"
	}
	if e.Kind == "" {
		return e.Message
	}
	return e.Kind + ": " + e.Message
}

// Is reports whether target is the kind of e or a more general kind, or refers to the same
// error object of the library as e. errors.Is calls it.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	switch t := target.(type) {
	case kindError:
		return failure.KindIs(e.Kind, string(t))
	case *Error:
		o := e.failure().Native()
		return o != nil && o.Handle() == t.failure().Native().Handle()
	}
	return target == fs.ErrNotExist && failure.KindIs(e.Kind, failure.KindLibrary)
}

// Unwrap returns the error that caused e, or nil. The cause is the Go error that a callback
// returned, or the error that the library recorded as the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.state.Cause
}

// failure returns e as a record of package failure.
func (e *Error) failure() *failure.Failure { return (*failure.Failure)(unsafe.Pointer(e)) }

// An Error and its record have one layout.
const _ = -(unsafe.Sizeof(Error{}) ^ unsafe.Sizeof(failure.Failure{})) - (unsafe.Offsetof(Error{}.state) ^ unsafe.Offsetof(failure.Failure{}.FailureState))

// errorTypes converts between Errors and records of package failure.
type errorTypes struct{}

// Error returns f as an error.
func (errorTypes) Error(f *failure.Failure) error { return (*Error)(unsafe.Pointer(f)) }

// Failure returns err as a record, or nil if err is not an Error.
func (errorTypes) Failure(err error) *failure.Failure {
	e, _ := err.(*Error)
	return e.failure()
}

func init() { failure.Errors = errorTypes{} }
