// Package check holds helpers for the API tests of the generated packages.
package check

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Value returns the result of a call that must succeed:
//
//	check.Value(lib.AddOne(1))(t)
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Returns compares the result of a call that must succeed:
//
//	check.Returns(lib.AddOne(1))(t, 2)
func Returns[T any](got T, err error) func(t testing.TB, want T) {
	return func(t testing.TB, want T) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		Equal(t, got, want)
	}
}

// Elements reads an object such as a container, compares its elements, and releases it.
func Elements[P tvmffi.ObjectRef, V any](t testing.TB, p P, read func(P) (V, error), want V) {
	t.Helper()
	var s tvmffi.Scope
	s.Add(p)
	defer s.Release()
	Returns(read(p))(t, want)
}

// OK fails the test for any error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal compares two values deeply.
func Equal[T any](t testing.TB, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

// Fails checks for an *tvmffi.Error of a kind whose text contains each of the texts.
func Fails(t testing.TB, err, kind error, texts ...string) {
	t.Helper()
	var e *tvmffi.Error
	if err == nil || !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Errorf("got the error %v, want one of kind %v", err, kind)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %v", text, err)
		}
	}
}

// Panics checks that f panics with an *tvmffi.Error that Fails accepts.
func Panics(t testing.TB, f func(), kind error, texts ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		err, _ := recover().(error)
		Fails(t, err, kind, texts...)
	}()
	f()
}

// Round writes a field and reads it back.
func Round[T any](t testing.TB, set func(T) error, get func() T, v T) {
	t.Helper()
	OK(t, set(v))
	Equal(t, get(), v)
}
