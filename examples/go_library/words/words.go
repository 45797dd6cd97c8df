// Package words is a second Go library, to see two in one process: each has a Go
// runtime of its own, and they call each other's functions.
package words

//go:generate go tool tvmffi-bind export

import (
	"strings"
	"unicode"
)

// Upper writes a text in capital letters.
//
//tvmffi:export
func Upper(text string) string { return strings.ToUpper(text) }

// Shout changes a number by a function of any language, and tells the result.
//
//tvmffi:export
func Shout(f func(int64) (int64, error), x int64) (int64, error) { return f(x) }

// Tripler makes a function.
//
//tvmffi:export
func Tripler() func(int64) (int64, error) {
	return func(x int64) (int64, error) { return 3 * x, nil }
}

// Letters counts the letters of a text. It needs a text: nil is a mistake that Go
// reports as a panic.
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
