//go:build bindings

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// problem is a product of two matrices whose result is known.
type problem struct {
	a, b, product *tvmffi.Tensor
	want          []float32
}

const mostRows = 2048 // more take minutes without a schedule

// newProblem computes the product in Go. The numbers are small integers, so that every order of the
// additions has the same result.
func newProblem(n int64) (*problem, error) {
	if n < 1 || n > mostRows {
		return nil, fmt.Errorf("matrices of %d rows: want 1 to %d", n, mostRows)
	}
	a, b := make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = float32(i%7)-3, float32(i%5)-2
	}
	p := &problem{want: make([]float32, n*n)}
	for i := range n {
		row := p.want[i*n : (i+1)*n]
		for k := range n {
			for j, x := range b[k*n : (k+1)*n] {
				row[j] += a[i*n+k] * x
			}
		}
	}
	var err error
	if p.a, err = tensorOf(a, n, n); err != nil {
		return nil, err
	}
	if p.b, err = tensorOf(b, n, n); err != nil {
		p.release()
		return nil, err
	}
	if p.product, err = tvmffi.NewTensor(tvmffi.Float32, n, n); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

func (p *problem) release() {
	p.a.Release()
	p.b.Release()
	p.product.Release()
}

// check calls the kernel and compares what it computes with the product of Go.
func (p *problem) check(kernel *tvmffi.Function) error {
	if err := tvmffi.CopyFrom(p.product, make([]float32, len(p.want))); err != nil {
		return err
	}
	if err := call(kernel, p.a, p.b, p.product); err != nil {
		return err
	}
	got, err := tvmffi.ReadSlice[float32](p.product)
	if err != nil {
		return err
	}
	for i := range got {
		if got[i] != p.want[i] {
			return fmt.Errorf("element %d of the product is %v, want %v", i, got[i], p.want[i])
		}
	}
	return nil
}

// measure returns the median time of a call: of enough calls for a fifth of a second, and of five at least.
func (p *problem) measure(ctx context.Context, kernel *tvmffi.Function) (time.Duration, error) {
	const fewest, enough = 5, 200 * time.Millisecond
	var times []time.Duration
	for begin := time.Now(); len(times) < fewest || time.Since(begin) < enough; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := call(kernel, p.a, p.b, p.product); err != nil {
			return 0, err
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
