//go:build bindings

package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
)

// kernels are the two that are compared.
type kernels struct{ untuned, tuned string }

// bestOf compiles the module as it is, and by the fastest schedule in the database.
func (t *tuning) bestOf(ctx context.Context, dir string) (kernels, error) {
	k := kernels{untuned: filepath.Join(dir, "untuned.so"), tuned: filepath.Join(dir, "tuned.so")}
	if err := compile(ctx, t.module, t.cpu, k.untuned); err != nil {
		return k, fmt.Errorf("compile the kernel as it is: %w", err)
	}
	best, err := t.best()
	if err != nil {
		return k, err
	}
	defer best.Release()
	if err := compile(ctx, best, t.cpu, k.tuned); err != nil {
		return k, fmt.Errorf("compile the tuned kernel: %w", err)
	}
	return k, nil
}

// compare measures two kernels in turns, so that both see the same machine, and returns the median time
// of one call of each in seconds.
func compare(ctx context.Context, d *device, k kernels, arguments []tensorType) (untuned, tuned float64, err error) {
	const rounds = 5
	var times [2][]float64
	for range rounds {
		for i, file := range []string{k.untuned, k.tuned} {
			seconds, err := d.measure(ctx, file, arguments)
			if err != nil {
				return 0, 0, fmt.Errorf("measure %s: %w", filepath.Base(file), err)
			}
			times[i] = append(times[i], seconds...)
		}
	}
	return middle(times[0]), middle(times[1]), nil
}

// verify compares what a kernel computes with a product computed in Go.
func verify(ctx context.Context, d *device, file string, n int64) error {
	a, b := randomNumbers([]int64{n, n}), randomNumbers([]int64{n, n})
	got, err := d.multiply(ctx, file, n, a, b)
	if err != nil {
		return err
	}
	// Each element is a sum of n products below 1, rounded to 24 bits after each addition.
	tolerance := float64(n) * 0x1p-23
	for row := range n {
		for column := range n {
			want := 0.0
			for k := range n {
				want += float64(a[row*n+k]) * float64(b[k*n+column])
			}
			if x := float64(got[row*n+column]); !(math.Abs(x-want) <= tolerance) {
				return fmt.Errorf("%s: element (%d, %d) is %v, want %v", filepath.Base(file), row, column, x, want)
			}
		}
	}
	return nil
}
