//go:build bindings

// This program uses the compiler of Apache TVM from Go. No Python takes part in it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/prim"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/transform"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run describes a kernel, rewrites it by a pass written in Go, compiles it, links it to a
// shared library, loads that and calls it.
func run(ctx context.Context, w io.Writer) error {
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

	cpu, err := thisCPU()
	if err != nil {
		return err
	}
	library, err := compile(m, cpu)
	if err != nil {
		return err
	}
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
	fmt.Fprintf(w, "The linked kernel makes %v of [1 2 3 4].\n", results)
	return nil
}
