package disco

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// failure is a failed call on its way from a worker to the controller.
type failure struct{ Function, Kind, Message, Backtrace string }

// MarshalJSON writes the texts as bytes, because JSON has no form for those that are not UTF-8.
func (f failure) MarshalJSON() ([]byte, error) {
	return json.Marshal([4][]byte{[]byte(f.Function), []byte(f.Kind), []byte(f.Message), []byte(f.Backtrace)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *failure) UnmarshalJSON(text []byte) error {
	var parts [4][]byte
	err := json.Unmarshal(text, &parts)
	*f = failure{string(parts[0]), string(parts[1]), string(parts[2]), string(parts[3])}
	return err
}

// failureKind is the kind of the errors that stand for failures in the registers of workers. The
// text of a failure is JSON.
const failureKind = "tvmffi.disco.failure"

func failed(function string, err error) failure {
	function = strings.TrimPrefix(function, commandPrefix)
	if e, ok := errors.AsType[*tvmffi.Error](err); ok {
		if e.Kind == "" {
			return failure{function, "", err.Error(), e.Backtrace}
		}
		// A text around the error has the kind inside, where it would be said twice.
		return failure{function, e.Kind, strings.Replace(err.Error(), e.Kind+": ", "", 1), e.Backtrace}
	}
	return failure{function, "RuntimeError", err.Error(), ""}
}

func (f failure) text() string {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // four strings always have a form
	}
	return string(text)
}

// value is stored in the register in place of the result.
func (f failure) value() *tvmffi.Error { return tvmffi.NewError(failureKind, f.text()) }

// failureIn returns the failure that a value stands for.
func failureIn(v tvmffi.Any) (failure, bool) {
	if v.TypeKey() != "ffi.Error" {
		return failure{}, false
	}
	e, ok := v.Value().(*tvmffi.Error)
	if !ok || e.Kind != failureKind {
		return failure{}, false
	}
	var f failure
	err := json.Unmarshal([]byte(e.Message), &f)
	return f, err == nil
}

func (f failure) of(worker int) *WorkerError {
	return &WorkerError{Worker: worker, Function: f.Function, Err: &tvmffi.Error{Kind: f.Kind, Message: f.Message, Backtrace: f.Backtrace}}
}

// WorkerError is an error of one worker. Err is a *tvmffi.Error with the kind and the text of a failed
// function, an *ExitError of a process that ended, or an error about the values of a call.
type WorkerError struct {
	// Worker is the number of the worker in its session.
	Worker int
	// Function is the name of the function that failed. It is empty if there was none.
	Function string
	// Err is the error itself.
	Err error
}

// Error names the worker, the function and the error.
func (e *WorkerError) Error() string {
	if e.Function == "" {
		return fmt.Sprintf("worker %d: %v", e.Worker, e.Err)
	}
	return fmt.Sprintf("worker %d: %s: %v", e.Worker, e.Function, e.Err)
}

// Unwrap returns Err.
func (e *WorkerError) Unwrap() error { return e.Err }

// ExitError says that the process of a worker, or the node that it was on, has ended before the
// session did.
type ExitError struct {
	// Status is how it ended, such as "signal: killed".
	Status string
	// Output is the end of the process's standard error.
	Output string
}

// Error gives the status and the last lines of output.
func (e *ExitError) Error() string {
	if e.Output == "" {
		return "the process has ended: " + e.Status
	}
	return fmt.Sprintf("the process has ended: %s; it wrote:\n%s", e.Status, strings.TrimRight(e.Output, "\n"))
}

// ErrClosed is the error of every use of a closed session.
var ErrClosed = errors.New("the session is closed")

var errClosed = errors.New("the collective operations have ended, because the session is closed")
