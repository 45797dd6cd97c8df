// Package words is a second Go library. Programs load it beside golib: each has a Go
// runtime of its own, and they call each other's functions.
package words

//go:generate go tool tvmffi-bind export

import (
	"strings"
	"unicode"
)

// Upper returns a text in upper case.
//
//tvmffi:export
func Upper(text string) string { return strings.ToUpper(text) }

// Shout calls a function of any language with x and returns its result.
//
//tvmffi:export
func Shout(f func(int64) (int64, error), x int64) (int64, error) { return f(x) }

// Tripler makes a function that triples its argument.
//
//tvmffi:export
func Tripler() func(int64) (int64, error) {
	return func(x int64) (int64, error) { return 3 * x, nil }
}

// Letters counts the letters of a text. A nil text is a mistake, which Go reports as a
// panic.
//
//tvmffi:export
func Letters(text *string) int64 {
	n := int64(0)
	for _, c := range *text {
		if unicode.IsLetter(c) {
			n++
		}
	}
	return n
}
