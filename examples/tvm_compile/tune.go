//go:build bindings

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/target"
)

// candidate is one way to compute matmul, and how long it takes.
type candidate struct {
	tile   int64 // 0: as described, without a schedule
	kernel *tvmffi.Function
	median time.Duration
}

// String returns the tile of the candidate.
func (c candidate) String() string {
	if c.tile == 0 {
		return "none"
	}
	return strconv.FormatInt(c.tile, 10)
}

// tune compiles matmul of n rows once without a schedule and once for each tile, checks what each kernel
// computes, and measures it. It returns the candidates, the fastest first.
func tune(ctx context.Context, cpu *target.Target, n int64, tiles []int64) ([]candidate, error) {
	problem, err := newProblem(n)
	if err != nil {
		return nil, err
	}
	defer problem.release()
	described, err := matmul(n)
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, tile := range append([]int64{0}, tiles...) {
		c := candidate{tile: tile}
		if c.kernel, err = build(described, cpu, tile); err != nil {
			return nil, fmt.Errorf("build matmul, tile %v: %w", c, err)
		}
		if err := problem.check(c.kernel); err != nil {
			return nil, fmt.Errorf("matmul, tile %v: %w", c, err)
		}
		if c.median, err = problem.measure(ctx, c.kernel); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Compare(a.median, b.median) })
	return found, nil
}

// build compiles matmul with a tile, or as described for tile 0.
func build(described *ir.IRModule, cpu *target.Target, tile int64) (*tvmffi.Function, error) {
	m, err := described, error(nil)
	if tile > 0 {
		if m, err = tiled(described, tile); err != nil {
			return nil, err
		}
	}
	library, err := compile(m, cpu)
	if err != nil {
		return nil, err
	}
	return library.Function(matmulName)
}

// table prints one line for each candidate.
func table(w io.Writer, n int64, found []candidate) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "tile\tms\tGFLOP/s\t")
	for _, c := range found {
		fmt.Fprintf(t, "%v\t%.2f\t%.1f\t\n", c, c.median.Seconds()*1e3, float64(2*n*n*n)/c.median.Seconds()/1e9)
	}
	return t.Flush()
}
