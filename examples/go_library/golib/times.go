package golib

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"math/cmplx"
	"time"
)

// The functions in this file show times, durations, complex numbers and sets.

// Window returns the end of a window of time.
//
//tvmffi:export length=1h30m
func Window(start time.Time, length time.Duration) (end time.Time) { return start.Add(length) }

// Schedule returns n times. next returns the one after another.
//
//tvmffi:export
func Schedule(from time.Time, next func(time.Time) time.Time, n int) []time.Time {
	var times []time.Time
	for range n {
		times = append(times, from)
		from = next(from)
	}
	return times
}

// Ticks yields times without end.
//
//tvmffi:export every=1s
func Ticks(from time.Time, every time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for yield(from) {
			from = from.Add(every)
		}
	}
}

// Common returns the elements that both sets have.
//
//tvmffi:export
func Common(a, b map[string]struct{}) map[string]struct{} {
	common := maps.Clone(a)
	maps.DeleteFunc(common, func(x string, _ struct{}) bool {
		_, both := b[x]
		return !both
	})
	return common
}

// Roots returns the two roots of a*x*x + b*x + c.
//
//tvmffi:export
func Roots(a, b, c float64) [2]complex128 {
	d := cmplx.Sqrt(complex(b*b-4*a*c, 0))
	return [2]complex128{(-complex(b, 0) - d) / complex(2*a, 0), (-complex(b, 0) + d) / complex(2*a, 0)}
}

// Polynomial returns the value at x of a polynomial, whose constant term is the first
// coefficient.
//
//tvmffi:export
func Polynomial(x complex128, coefficients ...complex64) complex128 {
	sum, power := complex128(0), complex128(1)
	for _, c := range coefficients {
		sum += complex128(c) * power
		power *= x
	}
	return sum
}

// Rotation returns a function that turns a number around zero.
//
//tvmffi:export
func Rotation(angle float64) func(complex128) (complex128, error) {
	return func(x complex128) (complex128, error) { return x * cmplx.Rect(1, angle), nil }
}

// Slot is a part of a calendar.
type Slot struct {
	From   time.Time           `ffi:"from"`
	Length time.Duration       `ffi:"length"`
	Tags   map[string]struct{} `ffi:"tags"`
}

// Overlap returns what two slots have in common, or nil.
//
//tvmffi:export
func Overlap(a, b Slot) *Slot {
	if a.From.Before(b.From) {
		a, b = b, a
	}
	length := min(a.Length, b.From.Add(b.Length).Sub(a.From))
	if length <= 0 {
		return nil
	}
	return &Slot{From: a.From, Length: length, Tags: Common(a.Tags, b.Tags)}
}

// Event is an entry of a calendar.
//
//tvmffi:object
type Event struct {
	When   time.Time           `ffi:"when"`
	Length time.Duration       `ffi:"length,default=1h30m"`
	Tags   map[string]struct{} `ffi:"tags,optional"`
}

// Until returns how long it is from a time to the event, which is negative while the event runs, or
// nil if it is over. A time that is nil is the first of all.
//
//tvmffi:method from=nil
func (e Event) Until(from *time.Time) *time.Duration {
	if from == nil {
		from = new(time.Time)
	}
	if from.After(e.When.Add(e.Length)) {
		return nil
	}
	wait := e.When.Sub(*from)
	return &wait
}

// LateError says that something came too late.
//
//tvmffi:error
type LateError struct {
	Due  time.Time           `ffi:"due"`
	By   time.Duration       `ffi:"by"`
	Tags map[string]struct{} `ffi:"tags"`
}

// Error describes the error.
func (e *LateError) Error() string {
	return fmt.Sprintf("%v after %s", e.By, e.Due.UTC().Format(time.DateTime))
}

// Attend joins an event at a time. It is an error to do so after its end.
//
//tvmffi:export
func Attend(e Event, at time.Time) (left time.Duration, err error) {
	end := e.When.Add(e.Length)
	if left = end.Sub(at); left < 0 {
		return 0, &LateError{Due: end, By: -left, Tags: e.Tags}
	}
	return left, nil
}

// Assorted returns values of any type, one inside another.
//
//tvmffi:export
func Assorted(when time.Time) map[string]any {
	return map[string]any{"when": when, "parts": []any{time.Second, 2i, map[string]struct{}{"x": {}}, big.NewInt(7)}, "times": []time.Time{when}, "slot": &Slot{From: when}}
}

// Described returns the type and the text that values have in Go.
//
//tvmffi:export
func Described(x any, more ...any) string { return fmt.Sprintf("%T %v %v", x, x, more) }

// Carried passes a value, and a list and a map with it, through a function of the host.
//
//tvmffi:export
func Carried(f func(x any, list []any, all map[string]any) any, x any) []any {
	return []any{f(x, []any{x}, map[string]any{"x": x}), x}
}

// After returns a function that returns a value after another.
//
//tvmffi:export
func After(first any) func(x any) []any { return func(x any) []any { return []any{first, x} } }

// Wrapped yields a value, and a list of it.
//
//tvmffi:export
func Wrapped(x any) iter.Seq[any] {
	return func(yield func(any) bool) { _ = yield(x) && yield([]any{x}) }
}

// Patient returns the value when it is asked, unless ctx ends.
//
//tvmffi:export
func Patient(ctx context.Context, x any) (any, error) { return x, ctx.Err() }

// Note holds a value of any type.
//
//tvmffi:object
type Note struct {
	Value any            `ffi:"value"`
	More  map[string]any `ffi:"more,optional"`
}

// Held returns the value with the name of its type.
//
//tvmffi:method
func (n Note) Held() (string, any) { return fmt.Sprintf("%T", n.Value), n.Value }

// Noted returns a note of a value.
//
//tvmffi:export
func Noted(x any) Note { return Note{Value: x, More: map[string]any{"also": x}} }

// NotedError has a value of any type.
//
//tvmffi:error
type NotedError struct {
	Value any `ffi:"value"`
}

// Error describes the error.
func (e *NotedError) Error() string { return fmt.Sprintf("noted %T", e.Value) }

// Refuse returns an error with a value.
//
//tvmffi:export
func Refuse(x any) error { return &NotedError{x} }
