package runtimetest

import (
	"errors"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Call calls a global function with arguments of any type.
func Call(name string, args ...any) (tvmffi.Any, error) {
	fn, err := tvmffi.Lookup(name)
	if err != nil {
		return tvmffi.Any{}, err
	}
	defer fn.Release()
	return fn.Call(args...)
}

// MustCall is [Call] after [Load], and ends the test if there is an error.
func MustCall(t testing.TB, name string, args ...any) tvmffi.Any {
	t.Helper()
	Load(t)
	v, err := Call(name, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Get is [MustCall] for a global function whose result is a T.
func Get[T any](t testing.TB, name string, args ...any) T {
	t.Helper()
	v := MustCall(t, name, args...)
	x, err := tvmffi.As[T](v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return x
}

// Lookup returns the global function of this name after [Load]. The caller releases it.
func Lookup(t testing.TB, name string) *tvmffi.Function {
	t.Helper()
	Load(t)
	return Must[*tvmffi.Function](t)(tvmffi.Lookup(name))
}

// Must returns a function that returns v, and ends the test if there is an error.
func Must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// ErrorOf returns the error of a call that has one result more.
func ErrorOf[T any](_ T, err error) error { return err }

// WantError checks that err is of this kind, unless kind is nil, and that its text
// contains all parts.
func WantError(t testing.TB, err error, kind error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("there is no error, want %v with %q", kind, parts)
		return
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("error %v is not of kind %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

// WantPanic checks that f panics with a *[tvmffi.Error] of this kind whose text
// contains part.
func WantPanic(t testing.TB, kind error, part string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		p := recover()
		err, ok := p.(*tvmffi.Error)
		if !ok {
			t.Errorf("panic with %v, want an *Error with %q", p, part)
			return
		}
		WantError(t, err, kind, part)
	}()
	f()
}
