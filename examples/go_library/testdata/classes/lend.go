package classes

import (
	"fmt"
	"iter"
	"slices"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Scaled multiplies x in place, and returns it.
//
//tvmffi:export lend
func Scaled(x []float64, by float64) []float64 {
	for i := range x {
		x[i] *= by
	}
	return x
}

// Halves returns both halves of x.
//
//tvmffi:export lend
func Halves(x []float64) (low, high []float64) { return x[:len(x)/2], x[len(x)/2:] }

// Joined returns the longer one of x and y, or both in memory of Go.
//
//tvmffi:export lend
func Joined(x, y []float64, both bool) []float64 {
	switch {
	case both:
		return slices.Concat(x, y)
	case len(x) < len(y):
		return y
	}
	return x
}

// Cells returns x as tensors: of one element each, and all.
//
//tvmffi:export lend
func Cells(x []float64) (cells []*tvmffi.Tensor, named map[string]any, err error) {
	for i := range x {
		t, err := tvmffi.FromSlice(x[i:i+1], 1)
		if err != nil {
			return nil, nil, err
		}
		cells = append(cells, t)
	}
	all, err := tvmffi.FromStrided(x, []int64{int64(len(x)+1) / 2}, []int64{2})
	return cells, map[string]any{"all": []any{all}}, err
}

// Windows returns the parts of x with n numbers, one after another.
//
//tvmffi:export lend
func Windows(x []float64, n int) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		for len(x) >= n && yield(x[:n]) {
			x = x[1:]
		}
	}
}

// Reader returns a func that reads x.
//
//tvmffi:export lend
func Reader(x []float64) func(i int64) float64 { return func(i int64) float64 { return x[i] } }

// RangeError says which numbers are wrong.
//
//tvmffi:error base=ValueError
type RangeError struct {
	Wrong []float64            `ffi:"wrong"`
	Rows  map[string][]float64 `ffi:"rows"`
}

// Error counts the numbers.
func (e *RangeError) Error() string { return fmt.Sprintf("%d numbers are wrong", len(e.Wrong)) }

// Positive fails if a number of x is below zero.
//
//tvmffi:export lend
func Positive(x []float64) error {
	for i := range x {
		if x[i] < 0 {
			return fmt.Errorf("positive: %w", &RangeError{x[i:], map[string][]float64{"all": x}})
		}
	}
	return nil
}

// First returns the first number of a tensor.
//
//tvmffi:export
func First(t *tvmffi.Tensor) (float64, error) {
	x, err := tvmffi.Slice[float64](t)
	if err != nil {
		return 0, err
	}
	return x[0], nil
}

// Made returns the first number of the tensor that make returns.
//
//tvmffi:export
func Made(make func() (*tvmffi.Tensor, error)) (float64, error) {
	t, err := make()
	if err != nil {
		return 0, err
	}
	return First(t)
}

// Firsts returns First, for any values.
//
//tvmffi:export
func Firsts() func(t *tvmffi.Tensor, more []*tvmffi.Tensor) (float64, error) {
	return func(t *tvmffi.Tensor, _ []*tvmffi.Tensor) (float64, error) { return First(t) }
}

// Kinds names the types of Go in x.
//
//tvmffi:export
func Kinds(x any) string {
	switch x := x.(type) {
	case []any:
		var all []string
		for _, e := range x {
			all = append(all, Kinds(e))
		}
		return fmt.Sprint(all)
	case map[string]any:
		all := map[string]string{}
		for k, e := range x {
			all[k] = Kinds(e)
		}
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%T", x)
}
