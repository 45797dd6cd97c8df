// Package exits is a Go library for tests of funcs that end their goroutine.
package exits

//go:generate go tool tvmffi-bind export

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// quit ends the goroutine if now is set.
func quit(now bool) {
	if now {
		runtime.Goexit()
	}
}

// Exit ends its goroutine, and does nothing if now is not set.
//
//tvmffi:export
func Exit(now bool) (string, error) {
	quit(now)
	return "it goes on", nil
}

// Check ends like a test that fails.
//
//tvmffi:export
func Check(how string) {
	var t testing.T
	switch how {
	case "fail":
		t.FailNow()
	case "panic":
		panic("a panic")
	}
}

// checker is what a package of assertions takes.
type checker interface{ FailNow() }

// Assert ends by an interface.
//
//tvmffi:export
func Assert(x int64) int64 {
	if x < 0 {
		fails(new(testing.T))
	}
	return x
}

func fails(c checker) { c.FailNow() }

// Plain cannot end its goroutine.
//
//tvmffi:export
func Plain(x int64) int64 { return x }

// Background ends a goroutine of its own.
//
//tvmffi:export
func Background() bool {
	done := make(chan bool, 1)
	go func() {
		defer func() { done <- true }()
		quit(true)
	}()
	return <-done
}

// All ends before the second value.
//
//tvmffi:export
func All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		yield(1)
		quit(true)
	}
}

// Wait ends in a func with a context.
//
//tvmffi:export
func Wait(context.Context) { quit(true) }

// Later returns a func that ends.
//
//tvmffi:export
func Later() func(now bool) string {
	return func(now bool) string {
		quit(now)
		return "later"
	}
}

// Handlers returns funcs in a map.
//
//tvmffi:export
func Handlers() map[string]func() {
	return map[string]func(){"quit": func() { quit(true) }}
}

// Apply calls a func of another language, and ends if it returns a negative number.
//
//tvmffi:export
func Apply(f func(int64) (int64, error), x int64) (int64, error) {
	y, err := f(x)
	if err != nil {
		return 0, err
	}
	quit(y < 0)
	return y, nil
}

// Give calls a func of another language with a Go func that ends.
//
//tvmffi:export
func Give(f func(func(now bool)) error) error { return f(quit) }

// Fill sets the elements of a tensor that the caller lends.
//
//tvmffi:export lend
func Fill(x []float32, value float32, now bool) []float32 {
	for i := range x {
		x[i] = value
	}
	quit(now)
	return x
}

// Door is an opaque object.
//
//tvmffi:object opaque
type Door struct{ open bool }

// NewDoor ends if open is not set.
//
//tvmffi:constructor
func NewDoor(open bool) (*Door, error) {
	quit(!open)
	return &Door{open}, nil
}

// Slam ends if the door is open.
//
//tvmffi:method
func (d *Door) Slam() error {
	if !d.open {
		return errors.New("it is not open")
	}
	runtime.Goexit()
	return nil
}

// Open is a property that ends.
//
//tvmffi:property
func (d *Door) Open() bool {
	quit(true)
	return d.open
}

// Close ends too.
//
//tvmffi:method
func (d *Door) Close() { quit(true) }

// Step is an object with fields.
//
//tvmffi:object
type Step struct {
	N int64 `ffi:"n"`
}

// Move changes the field, and ends if by is 0.
//
//tvmffi:method
func (s *Step) Move(by int64) int64 {
	quit(by == 0)
	s.N += by
	return s.N
}

// String ends for negative numbers.
//
//tvmffi:repr
func (s Step) String() string {
	quit(s.N < 0)
	return "a step"
}

// Made makes a step.
//
//tvmffi:export
func Made(n int64) (*define.Instance[Step], error) { return StepType.New(Step{n}) }
