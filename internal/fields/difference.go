package fields

import (
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// Difference is an item that the loaded library has otherwise than the bindings expect, or
// not at all. It is the cause of the error for that item.
type Difference struct {
	Item, Want, Got string
	Cause           error
}

// Error returns one line of the error of Check.
func (d *Difference) Error() string { return d.Item + ": expected " + d.Want + ", found " + d.Got }

// Unwrap returns the cause.
func (d *Difference) Unwrap() error { return d.Cause }

// Differs returns the error for a single item.
func Differs(kind, message string, d *Difference) error {
	return failure.NewFailure(failure.Failure{Kind: kind, Message: message, FailureState: failure.FailureState{Cause: d}})
}

// CheckSignature compares the signature in metadata with the one of the bindings.
func CheckSignature(name, want, metadata string) error {
	if metadata == "" || want == "" {
		return nil
	}
	got, err := registry.Signature(metadata)
	if err != nil {
		return failure.Errorf(failure.KindSchema, "%s: metadata of the loaded library: %v", name, err)
	}
	return CompareSignatures(name, want, got)
}

// CompareSignatures returns an error for signatures that differ.
func CompareSignatures(name, want, got string) error {
	if got != want {
		text := name + " changed since the bindings were generated: they expect " + want + ", the loaded library has " + got + "; run go generate"
		return Differs(failure.KindSchema, text, &Difference{Item: name, Want: want, Got: got})
	}
	return nil
}
