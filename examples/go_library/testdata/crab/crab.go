// Package crab has what a crate for Rust shows in a form of its own. Names such as type and
// self are words of Rust.
package crab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Color is a color.
type Color int

// The colors.
const (
	ColorRed  Color = iota + 1 // like blood
	ColorBlue                  // like the sea
)

// Mode says how to walk.
type Mode string

// The modes.
const (
	Sideways Mode = "sideways"
	Forwards Mode = "forwards"
)

// Grip is how a claw holds. Its constants are combined.
type Grip uint8

// The grips.
const (
	Tip Grip = 1 << iota
	Edge
	Whole
)

// Firm returns a grip with Whole.
//
//tvmffi:export
func Firm(g Grip) Grip { return g | Whole }

// Leave ends its goroutine if now is set.
//
//tvmffi:export
func Leave(now bool) bool {
	if now {
		runtime.Goexit()
	}
	return now
}

// MissingError says that something is not there.
//
//tvmffi:error base=KeyError
type MissingError struct {
	Name string `ffi:"name"`
	Type int64  `ffi:"type"`
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s is not there, type %d", e.Name, e.Type) }

// Leg is one of eight.
type Leg struct {
	Length float64 `ffi:"length"`
	Claw   *Leg    `ffi:"claw,optional"`
	Type   string  `ffi:"type,default=thin"`
}

// DivMod divides.
//
//tvmffi:export
func DivMod(a, b int64) (quotient, remainder int64, err error) {
	if b == 0 {
		return 0, 0, errors.New("division by zero")
	}
	return a / b, a % b, nil
}

// Total adds a start and any numbers.
//
//tvmffi:export total start=10
func Total(start int64, numbers ...int64) int64 {
	for _, n := range numbers {
		start += n
	}
	return start
}

// Match has parameters with names and defaults that Rust spells in another way.
//
//tvmffi:export match Type=quick loop=2.5 self=true move=nil
func Match(fn string, type_ int64, Type string, loop float32, self bool, move *int64) string {
	return fmt.Sprint(fn, type_, Type, loop, self, move == nil)
}

// Countdown yields the numbers before n, and then an error if there is one.
//
//tvmffi:export
func Countdown(n int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for ; n > 0; n-- {
			if !yield(n) {
				return
			}
		}
	}
}

// Squares yields numbers with their squares.
//
//tvmffi:export
func Squares(n int64) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for i := range n {
			if !yield(fmt.Sprint(i), i*i) {
				return
			}
		}
	}
}

// Breaks yields a number and panics.
//
//tvmffi:export
func Breaks() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if yield(1) {
			panic("it breaks")
		}
	}
}

// Scaled multiplies numbers in place and returns others.
//
//tvmffi:export lend
func Scaled(x []float32, by float32) []float32 {
	y := make([]float32, len(x))
	for i := range x {
		x[i] *= by
		y[i] = -x[i]
	}
	return y
}

// Next returns the color after c, and the mode of m.
//
//tvmffi:export
func Next(c Color, m Mode) (Color, Mode) { return c + 1, m + "!" }

// Find finds nothing but the truth.
//
//tvmffi:export
func Find(name string) (int64, error) {
	if name == "truth" {
		return 42, nil
	}
	return 0, fmt.Errorf("find: %w", &MissingError{Name: name, Type: 7})
}

// Catch calls f and reports the name in its MissingError.
//
//tvmffi:export
func Catch(f func() (int64, error)) string {
	_, err := f()
	var missing *MissingError
	if errors.As(err, &missing) {
		return missing.Name
	}
	return fmt.Sprint("another error: ", err)
}

// Longer makes the legs longer, also those that hang on others.
//
//tvmffi:export
func Longer(legs []Leg, by float64) []Leg {
	for i := range legs {
		for l := &legs[i]; l != nil; l = l.Claw {
			l.Length += by
		}
	}
	return legs
}

// Limits returns the largest numbers.
//
//tvmffi:export
func Limits(a int8, b uint64) (int8, uint64, float32) { return a, b, math.MaxFloat32 }

// Keys returns the keys of a Dict.
//
//tvmffi:export
func Keys(d *tvmffi.Dict[string, int64]) int64 { return int64(d.Len()) }

// Shell is a stack of names, whose memory only Go sees.
//
//tvmffi:object opaque
type Shell struct {
	mu    sync.Mutex
	names []string
}

// NewShell makes a shell with names.
//
//tvmffi:constructor first=sand
func NewShell(first string) (*Shell, error) {
	if first == "" {
		return nil, tvmffi.NewError("ValueError", "a shell without sand")
	}
	return &Shell{names: []string{first}}, nil
}

// Push adds names and returns how many there are.
//
//tvmffi:method
func (s *Shell) Push(names ...string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, names...)
	return len(s.names), nil
}

// Len is the number of names.
//
//tvmffi:method
func (s *Shell) Len() int { return len(s.names) }

// Top is the newest name.
//
//tvmffi:property
func (s *Shell) Top() string { return s.names[len(s.names)-1] }

// String shows the names.
//
//tvmffi:method
func (s *Shell) String() string { return fmt.Sprint(s.names) }

// All yields the names.
//
//tvmffi:method
func (s *Shell) All() iter.Seq[string] { return slices.Values(s.names) }

// Close ends the shell. A shell without a name but sand cannot be closed.
//
//tvmffi:method
func (s *Shell) Close() error {
	if len(s.names) == 1 {
		return errors.New("it is full of sand")
	}
	s.names = nil
	return nil
}

// Same returns s itself, or nil.
//
//tvmffi:export
func Same(s *Shell, none bool) *Shell {
	if none {
		return nil
	}
	return s
}

// Wait waits for some milliseconds and returns the sum of times. Its context can end it.
//
//tvmffi:export wait unit=ms
func Wait(ctx context.Context, milliseconds int64, unit string, times ...int64) (int64, error) {
	if milliseconds < 0 {
		return 0, tvmffi.NewError("ValueError", "a time before now, in "+unit)
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
	}
	sum := int64(0)
	for _, n := range times {
		sum += n
	}
	return sum, nil
}

// Dig digs until its context ends.
//
//tvmffi:method
func (s *Shell) Dig(ctx context.Context) (string, error) {
	<-ctx.Done()
	return s.Top(), ctx.Err()
}
