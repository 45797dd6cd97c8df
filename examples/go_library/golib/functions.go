package golib

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// DivMod divides a by b: other languages get a tuple.
//
//tvmffi:export
func DivMod(a, b int64) (quotient, rest int64, err error) {
	if b == 0 {
		return 0, 0, tvmffi.NewError("ValueError", "b is zero")
	}
	return a / b, a % b, nil
}

// Pairs maps the names to the values that next returns for the numbers below n.
//
//tvmffi:export
func Pairs(n int64, next func(int64) (string, float64, error)) (map[string]float64, error) {
	pairs := map[string]float64{}
	for i := range n {
		name, value, err := next(i)
		if err != nil {
			return nil, err
		}
		pairs[name] = value
	}
	return pairs, nil
}

// Packets collects bytes, and those that change returns.
//
//tvmffi:export
func Packets(packets [][]byte, more map[string][]byte, change func([]byte) ([]byte, error), rest ...[]byte) ([][]byte, error) {
	changed, err := change([]byte("changed"))
	if err != nil {
		return nil, err
	}
	all := slices.Clone(packets)
	for _, k := range slices.Sorted(maps.Keys(more)) {
		all = append(all, more[k])
	}
	return append(append(all, changed), rest...), nil
}

// Tell calls tell with texts, limits, a pair and a value of any type, and returns what tell returns.
//
//tvmffi:export
func Tell(tell func(words []string, limits map[string]Limits, pair tvmffi.Tuple2[int64, string], x any) (any, error), x any) (any, error) {
	note := "a note of some length"
	return tell([]string{"a", "a longer text"}, map[string]Limits{"x": {1, 2.5, nil}, "y": {Note: &note}}, tvmffi.Tuple2[int64, string]{A: 1, B: "b"}, x)
}

// TellArray calls tell with an array that is the same object, and with a slice.
//
//tvmffi:export
func TellArray(tell func(a *tvmffi.Array[int64], s [][]float64) (any, error), a *tvmffi.Array[int64]) (any, error) {
	return tell(a, [][]float64{{1, 2}, nil})
}

// Total adds numbers, of which there may be any number, and multiplies the sum.
//
//tvmffi:export
func Total(scale float64, numbers ...int8) float64 {
	sum := 0.0
	for _, n := range numbers {
		sum += float64(n)
	}
	return scale * sum
}

// Repeat repeats a text; others may leave out all but the text.
//
//tvmffi:export times=2 sep=", " limit=nil
func Repeat(text string, times int, sep string, limit *int64) string {
	all := strings.Repeat(text+sep, times)
	all = strings.TrimSuffix(all, sep)
	if limit != nil && int64(len(all)) > *limit {
		return all[:*limit]
	}
	return all
}

// Scale multiplies the elements of x in place, in the memory of the caller, and returns
// their sum.
//
//tvmffi:export by=2 lend
func Scale(x []float32, by float32) float64 {
	sum := 0.0
	for i := range x {
		x[i] *= by
		sum += float64(x[i])
	}
	return sum
}

// Squares returns a tensor over memory of Go, and the number of its elements.
//
//tvmffi:export lend
func Squares(n int) (squares []int32, count int, err error) {
	if n < 0 {
		return nil, 0, tvmffi.NewError("ValueError", "n is negative")
	}
	squares = make([]int32, n)
	for i := range squares {
		squares[i] = int32(i * i)
	}
	return squares, n, nil
}

// Spread returns the smallest and the largest number of the rows, both shifted.
//
//tvmffi:export
func Spread(rows [][]float64, shift []int8) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		for _, x := range row {
			low, high = min(low, x), max(high, x)
		}
	}
	for _, s := range shift {
		low, high = low+float64(s), high+float64(s)
	}
	return low, high
}

// Gather adds the numbers of the rows, and those that more returns for each row.
//
//tvmffi:export
func Gather(ctx context.Context, rows [][]float64, more func(int64) ([][]float64, error)) (float64, error) {
	sum := 0.0
	for i, row := range rows {
		for _, x := range row {
			sum += x
		}
		n, err := Extend(int64(i), more)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, ctx.Err()
}

// Extend adds the numbers that more returns for i.
//
//tvmffi:export
func Extend(i int64, more func(int64) ([][]float64, error)) (sum float64, err error) {
	rows, err := more(i)
	for _, row := range rows {
		for _, x := range row {
			sum += x
		}
	}
	return sum, err
}

// Ramp is Squares with one result.
//
//tvmffi:export lend
func Ramp(n int) []float64 {
	ramp := make([]float64, n)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	return ramp
}

var stopped atomic.Int64

// Countdown counts down to 1. If from is 13, it panics there.
//
//tvmffi:export
func Countdown(from int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		defer stopped.Add(1)
		for ; from > 0; from-- {
			if from == 13 {
				panic("13 brings bad luck")
			}
			if !yield(from) {
				return
			}
		}
	}
}

// Stopped waits until n countdowns have ended, and returns their number.
//
//tvmffi:export
func Stopped(n int64) int64 {
	for range 500 {
		if stopped.Load() >= n {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return stopped.Load()
}

// Fields yields the words of a text, each with its position.
//
//tvmffi:export
func Fields(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, word := range strings.Fields(text) {
			if !yield(i, word) {
				return
			}
		}
	}
}

// Corners returns the coordinates, each moved by the sum of the distances.
//
//tvmffi:method by=1
func (p *Point) Corners(by float64, more ...float64) (x, y float64, err error) {
	for _, m := range more {
		by += m
	}
	p.X, p.Y = p.X+by, p.Y+by
	return p.X, p.Y, nil
}

// Way yields the points on the way to the origin.
//
//tvmffi:method steps=3
func (p Point) Way(steps int) iter.Seq2[float64, float64] {
	return func(yield func(float64, float64) bool) {
		for i := steps; i >= 0; i-- {
			part := float64(i) / float64(steps)
			if !yield(p.X*part, p.Y*part) {
				return
			}
		}
	}
}
