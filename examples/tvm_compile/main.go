//go:build bindings

// This program uses the compiler of Apache TVM from Go. No Python takes part in it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/prim"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/target"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/transform"
)

func main() {
	n := flag.Int64("n", 384, "the `rows` of the matrices that are multiplied, best a multiple of 64")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout, *n); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, n int64) error {
	cpu, err := thisCPU()
	if err != nil {
		return err
	}
	if err := compileAndLink(ctx, w, cpu); err != nil {
		return err
	}
	return chooseTile(ctx, w, cpu, n)
}

// compileAndLink describes a kernel, rewrites it by a pass written in Go, compiles it, links it to a
// shared library, loads that and calls it.
func compileAndLink(ctx context.Context, w io.Writer, cpu *target.Target) error {
	m, err := twicePlusOne()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "The kernel as described:\n\n%v\n\n", m)
	doubles := 0
	pass, err := sumsForDoubles(func(*prim.Mul) { doubles++ })
	if err != nil {
		return err
	}
	if m, err = transform.RunPass(pass, m); err != nil {
		return err
	}
	fmt.Fprintf(w, "A pass written in Go has replaced %d product by a sum:\n\n%v\n\n", doubles, m)

	var library *tvmffi.Module
	times, err := timePasses(func() (err error) {
		library, err = compile(m, cpu)
		return err
	})
	if err != nil {
		return err
	}
	slowest(w, times)

	dir, err := os.MkdirTemp("", "tvm_compile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := link(ctx, library, dir)
	if err != nil {
		return err
	}
	results, err := applyFrom(path, []float32{1, 2, 3, 4})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "The linked kernel makes %v of [1 2 3 4].\n\n", results)
	return nil
}

// chooseTile measures which tile is the best one for a product of matrices of n rows on this machine.
func chooseTile(ctx context.Context, w io.Writer, cpu *target.Target, n int64) error {
	found, err := tune(ctx, cpu, n, []int64{16, 32, 64})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Product of two matrices of %d rows, in the median:\n\n", n)
	if err := table(w, n, found); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe fastest one has the tile %v.\n", found[0])
	return nil
}
