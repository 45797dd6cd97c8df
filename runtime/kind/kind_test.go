package kind_test

import (
	"errors"
	"fmt"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/kind"
)

// TestKinds: a kind is a special case of the same kinds as the exception of Python.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		kind  string
		is    []error
		isNot []error
	}{
		{"ZeroDivisionError", []error{kind.ZeroDivision, kind.Arithmetic}, []error{kind.FloatingPoint, tvmffi.ErrOverflow, tvmffi.ErrRuntime}},
		{"OverflowError", []error{tvmffi.ErrOverflow, kind.Arithmetic}, []error{kind.ZeroDivision}},
		{"KeyError", []error{tvmffi.ErrKey, kind.Lookup}, []error{tvmffi.ErrIndex}},
		{"BrokenPipeError", []error{kind.BrokenPipe, kind.Connection, kind.OS}, []error{kind.ConnectionReset, kind.Timeout}},
		{"NotImplementedError", []error{kind.NotImplemented, tvmffi.ErrRuntime}, []error{kind.Recursion}},
		{"UnicodeError", []error{kind.Unicode, tvmffi.ErrValue}, []error{tvmffi.ErrType}},
		{"OSError", []error{kind.OS}, []error{kind.FileNotFound, kind.Connection}},
		{"own.Kind", []error{tvmffi.KindError("own.Kind")}, []error{tvmffi.ErrRuntime, kind.OS}},
	} {
		err := fmt.Errorf("outer: %w", tvmffi.NewError(c.kind, "message"))
		for _, target := range c.is {
			if !errors.Is(err, target) {
				t.Errorf("%s is not %v", c.kind, target)
			}
		}
		for _, target := range c.isNot {
			if errors.Is(err, target) {
				t.Errorf("%s is %v", c.kind, target)
			}
		}
	}
}

func Example() {
	// A Python callback returns such an error.
	err := fmt.Errorf("read: %w", tvmffi.NewError("FileNotFoundError", "there is no a.txt"))
	fmt.Println(errors.Is(err, kind.FileNotFound), errors.Is(err, kind.OS), errors.Is(err, kind.Timeout))
	// Output: true true false
}
