// Package crosses is a Go library with the values of docs/CROSSES.md, for hosts in other languages.
package crosses

//go:generate go tool tvmffi-bind export

import (
	"errors"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Names returns the names of the rows whose values go somewhere by themselves, or of those with errors.
//
//tvmffi:export
func Names(raised bool) (names []string) {
	for _, g := range crosstest.Groups {
		for _, r := range g.Rows {
			if _, is := r.Value.(crosstest.Raised); is && raised || r.IsValue() && !raised {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

// Value returns the value of a row.
//
//tvmffi:export
func Value(row string) (any, error) {
	r, ok := crosstest.Find(row)
	if !ok {
		return nil, fmt.Errorf("there is no row %q", row)
	}
	x, _, err := r.Make() // the collector ends the reference of Go
	return x, err
}

// Returned returns the cell of what came back.
//
//tvmffi:export
func Returned(row string, x tvmffi.Any) string {
	r, _ := crosstest.Find(row)
	if text := crosstest.Text(x); text != r.Text() {
		return text
	}
	return crosstest.Same
}

// Raise ends with the error of a row.
//
//tvmffi:export
func Raise(row string) error {
	if r, ok := crosstest.Find(row); ok {
		if e, ok := r.Value.(crosstest.Raised); ok {
			return tvmffi.NewError(e.Kind, e.Message)
		}
	}
	return errors.New("there is no such row")
}

// Caught returns the cell of the error with which a function of the host ends.
//
//tvmffi:export
func Caught(row string, f func() error) string {
	r, _ := crosstest.Find(row)
	want, _ := r.Value.(crosstest.Raised)
	return crosstest.RaisedCell(want, f())
}
