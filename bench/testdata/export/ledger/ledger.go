// Package ledger is the library of the comparison: ten functions and two classes.
package ledger

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Add adds two integers.
//
//tvmffi:export
func Add(a, b int64) int64 { return a + b }

// Mean returns the mean of xs.
//
//tvmffi:export
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// Greet says hello to a name.
//
//tvmffi:export
func Greet(name string) string { return "hello, " + name }

// Split splits text at sep.
//
//tvmffi:export
func Split(text, sep string) []string { return strings.Split(text, sep) }

// CountWords counts the words of a text.
//
//tvmffi:export
func CountWords(text string) map[string]int64 {
	n := map[string]int64{}
	for _, w := range strings.Fields(text) {
		n[w]++
	}
	return n
}

// DivMod returns quotient and remainder.
//
//tvmffi:export
func DivMod(a, b int64) (quotient, remainder int64, err error) {
	if b == 0 {
		return 0, 0, errors.New("division by zero")
	}
	return a / b, a % b, nil
}

// Parse reads an integer.
//
//tvmffi:export
func Parse(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an integer", text)
	}
	return n, nil
}

// Apply calls f.
//
//tvmffi:export
func Apply(f func(x int64) int64, x int64) int64 { return f(x) }

// Scale multiplies each element by factor.
//
//tvmffi:export lend
func Scale(xs []float32, factor float32) {
	for i := range xs {
		xs[i] *= factor
	}
}

// Sum adds the elements.
//
//tvmffi:export lend
func Sum(xs []float32) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += float64(x)
	}
	return sum
}

// Point is a point of the plane.
//
//tvmffi:object
type Point struct {
	X float64 `ffi:"x"`
	Y float64 `ffi:"y"`
}

// Norm is the distance from the origin.
//
//tvmffi:method
func (p Point) Norm() float64 { return math.Hypot(p.X, p.Y) }

// Counter counts words.
//
//tvmffi:object opaque
type Counter struct {
	mu sync.Mutex
	n  map[string]int64
}

// NewCounter makes an empty counter.
//
//tvmffi:constructor
func NewCounter() *Counter { return &Counter{n: map[string]int64{}} }

// Add counts a word and returns its count.
//
//tvmffi:method
func (c *Counter) Add(word string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[word]++
	return c.n[word]
}
