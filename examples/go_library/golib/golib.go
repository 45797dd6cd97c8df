// Package golib is a Go package that Python, C++ and Rust use. Its directives
// choose what they see.
package golib

//go:generate go tool tvmffi-bind export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

// Add adds two integers.
//
//tvmffi:export
func Add(a, b int64) int64 { return a + b }

// Greet says hello to a name, which must not be empty.
//
//tvmffi:export
func Greet(name string) (string, error) {
	if name == "" {
		return "", tvmffi.NewError("ValueError", "there is nobody to greet")
	}
	return "hello, " + name, nil
}

// Sum adds all elements of a tensor of float32.
//
//tvmffi:export
func Sum(t *tvmffi.Tensor) (float64, error) {
	elements, err := tvmffi.Slice[float32](t)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, x := range elements {
		sum += float64(x)
	}
	return sum, nil
}

// Doubled makes a tensor with every element of t doubled.
//
//tvmffi:export
func Doubled(t *tvmffi.Tensor) (*tvmffi.Tensor, error) {
	elements, err := tvmffi.ReadSlice[float32](t)
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(elements))
	for i, x := range elements {
		out[i] = 2 * x
	}
	return tvmffi.FromSlice(out, t.Shape()...)
}

// Apply calls a function of the host.
//
//tvmffi:export
func Apply(f func(int64) (int64, error), x int64) (int64, error) { return f(x) }

// Parallel calls a function of the host from n goroutines and adds the results.
//
//tvmffi:export
func Parallel(f func(int64) (int64, error), n int) (sum int64, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			x, failed := f(int64(i))
			mu.Lock()
			defer mu.Unlock()
			sum += x
			err = errors.Join(err, failed)
		})
	}
	all.Wait()
	return sum, err
}

// Adder makes a function that adds n.
//
//tvmffi:export
func Adder(n int64) func(int64) (int64, error) {
	return func(x int64) (int64, error) { return x + n, nil }
}

// Count counts words.
//
//tvmffi:export word_count
func Count(texts []string) map[string]int64 {
	counts := map[string]int64{}
	for _, text := range texts {
		for word := range strings.FieldsSeq(text) {
			counts[word]++
		}
	}
	return counts
}

// Join writes any values one after another.
//
//tvmffi:export
func Join(values ...any) (string, error) {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, " "), nil
}

// Reversed reverses bytes; None stays None.
//
//tvmffi:export
func Reversed(data []byte, times *int64) []byte {
	n := int64(1)
	if times != nil {
		n = *times
	}
	out := make([]byte, len(data))
	for i, b := range data {
		if n%2 == 1 {
			i = len(data) - 1 - i
		}
		out[i] = b
	}
	return out
}

// Echo returns its argument.
//
//tvmffi:export
func Echo(x any) any { return x }

// Fail fails in the way that how names.
//
//tvmffi:export
func Fail(how, text string) error {
	switch how {
	case "plain":
		return errors.New(text)
	case "panic":
		panic(text)
	case "nil":
		var p *int
		*p = len(text)
	}
	return tvmffi.NewError(how, text)
}

// Sleep sleeps, until the host is interrupted.
//
//tvmffi:export
func Sleep(ctx context.Context, milliseconds int64) error {
	select {
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Poll sleeps like Sleep, but checks for interrupts itself.
//
//tvmffi:export
func Poll(milliseconds int64) error {
	for end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond); time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		if err := env.CheckSignals(); err != nil {
			return err
		}
	}
	return nil
}

// Env returns a variable of the environment.
//
//tvmffi:export
func Env(name string) string { return os.Getenv(name) }
