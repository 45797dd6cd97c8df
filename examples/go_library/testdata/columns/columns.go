// Package columns shows the elements of slices, for tests of what Python gives them.
package columns

import (
	"fmt"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

//go:generate go tool tvmffi-bind export

// Durations returns nanoseconds.
//
//tvmffi:export
func Durations(x []time.Duration) []int64 { return nanoseconds(x) }

// Several returns nanoseconds.
//
//tvmffi:export
func Several(x ...time.Duration) []int64 { return nanoseconds(x) }

// Duration returns nanoseconds.
//
//tvmffi:export
func Duration(x time.Duration) int64 { return int64(x) }

func nanoseconds(x []time.Duration) []int64 {
	all := make([]int64, len(x))
	for i, d := range x {
		all[i] = int64(d)
	}
	return all
}

// Rows returns the nanoseconds of rows.
//
//tvmffi:export
func Rows(x [][]time.Duration) [][]int64 {
	all := make([][]int64, len(x))
	for i, row := range x {
		all[i] = nanoseconds(row)
	}
	return all
}

// Called returns the nanoseconds of what a callback returns.
//
//tvmffi:export
func Called(f func() []time.Duration) []int64 { return nanoseconds(f()) }

// Times returns the times, with their offsets, as text.
//
//tvmffi:export
func Times(x []time.Time) []string {
	all := make([]string, len(x))
	for i, t := range x {
		all[i] = t.Format(time.RFC3339Nano)
	}
	return all
}

// Time returns a time as text.
//
//tvmffi:export
func Time(x time.Time) string { return x.Format(time.RFC3339Nano) }

// Complexes returns the numbers.
//
//tvmffi:export
func Complexes(x []complex128) []complex128 { return x }

// Grid returns the numbers of rows.
//
//tvmffi:export
func Grid(x [][]complex64) [][]complex64 { return x }

// Ints returns the numbers.
//
//tvmffi:export
func Ints(x []int64) []int64 { return x }

// Floats returns the numbers.
//
//tvmffi:export
func Floats(x []float64) []float64 { return x }

// Sum adds numbers in memory that it borrows.
//
//tvmffi:export lend
func Sum(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// Table returns the numbers of columns.
//
//tvmffi:export
func Table(x map[string][]float64) map[string][]float64 { return x }

// Bools returns the bools.
//
//tvmffi:export
func Bools(x []bool) []bool { return x }

// Texts returns the texts.
//
//tvmffi:export
func Texts(x []string) []string { return x }

// Known shows numbers, of which nil is one that is not known.
//
//tvmffi:export
func Known(x []*int64) string { return shown(x) }

// Lasted shows durations, of which nil is one that is not known.
//
//tvmffi:export
func Lasted(x []*time.Duration) string { return shown(x) }

// Seen shows times, of which nil is one that is not known.
//
//tvmffi:export
func Seen(x []*time.Time) string { return shown(x) }

func shown[T any](x []*T) string {
	all := make([]any, len(x))
	for i, p := range x {
		if p != nil {
			all[i] = *p
		}
	}
	return fmt.Sprint(all...)
}

// Total adds durations, times and complex numbers: that none is lost on the way of many.
//
//tvmffi:export
func Total(d []time.Duration, t []time.Time, c []complex128) (sum int64, seconds int64, number complex128) {
	for _, x := range d {
		sum += int64(x)
	}
	for _, x := range t {
		_, east := x.Zone()
		seconds += x.Unix() + int64(east)
	}
	for _, x := range c {
		number += x
	}
	return sum, seconds, number
}

// Color is a colour.
type Color int

// The colours.
const (
	Red  Color = 1
	Blue Color = 2
)

// Colors returns the numbers of colours.
//
//tvmffi:export
func Colors(x []Color) []int64 {
	all := make([]int64, len(x))
	for i, c := range x {
		all[i] = int64(c)
	}
	return all
}

// Mixed takes columns of several kinds at once.
//
//tvmffi:export
func Mixed(a tvmffi.Tuple2[[]Color, []float64], b tvmffi.Tuple2[[]int64, []time.Duration]) string {
	return fmt.Sprint(a, b)
}

// Kept has columns as fields.
//
//tvmffi:object
type Kept struct {
	D []time.Duration `ffi:"d"`
	T []time.Time     `ffi:"t"`
	C []complex128    `ffi:"c"`
}

// Show returns the fields as text.
//
//tvmffi:method
func (k *Kept) Show() string { return fmt.Sprint(k.D, k.T, k.C) }

// Singles shows numbers exactly.
//
//tvmffi:export
func Singles(x []float32, one float32) string { return fmt.Sprintf("%.0f %.0f", x, one) }

// Echo returns what it gets, with types on the way that Python converts.
//
//tvmffi:export
func Echo(text string, data []byte, x any, d []time.Duration) (string, []byte, map[string][]string, any) {
	return text, data, map[string][]string{text: {text}}, x
}

// Each calls a callback with texts, and returns what it returns.
//
//tvmffi:export
func Each(d []time.Duration, f func(text string, all []string) string) string {
	long := "a text that is not short"
	return f(long, []string{long})
}

// Taker returns a function that shows columns.
//
//tvmffi:export
func Taker() func(x []float32, known []*int64, texts []string, table map[string][]float64, ok bool) string {
	return func(x []float32, known []*int64, texts []string, table map[string][]float64, ok bool) string {
		return fmt.Sprint(x, " ", shown(known), " ", texts, table, ok)
	}
}

// Waiter returns a function that shows durations.
//
//tvmffi:export
func Waiter() func(x []time.Duration) string {
	return func(x []time.Duration) string { return fmt.Sprint(x) }
}

// Row has columns of plain values as fields.
//
//tvmffi:object
type Row struct {
	Is    []float64 `ffi:"is"`
	Known []*int64  `ffi:"known"`
	Texts []string  `ffi:"texts"`
	Grid  [][]int64 `ffi:"grid"`
	One   float64   `ffi:"one"`
	OK    bool      `ffi:"ok"`
}

// Show returns the fields as text.
//
//tvmffi:method
func (r *Row) Show() string {
	return fmt.Sprint(r.Is, " ", shown(r.Known), " ", r.Texts, r.Grid, r.One, r.OK)
}
