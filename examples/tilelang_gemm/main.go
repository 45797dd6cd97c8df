//go:build bindings

// Tilelang_gemm describes a product of matrices as a tile program of TileLang, lowers it to C and
// to CUDA, compiles the C, runs it on this CPU, and compares the result with loops of Go. Neither
// Python nor a GPU takes part.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"
)

func main() {
	if err := run(context.Background(), os.Stdout, problem{m: 256, n: 192, k: 128, tile: 32, tileK: 16}); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, p problem) error {
	program, err := gemm(p, onCPU)
	if err != nil {
		return err
	}
	kernel, host, err := forCPU(program)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "== The tile program\n%v\n\n== Lowered to C; the function around it, which checks tensors, has %d bytes\n%s\n", program, len(host), kernel)

	function, err := compile(ctx, kernel, host)
	if err != nil {
		return err
	}
	defer function.Release()
	a, b := matrices(p)
	start := time.Now()
	got, err := multiply(function, p, a, b)
	if err != nil {
		return err
	}
	tiles := time.Since(start)
	start = time.Now()
	want := inGo(p, a, b)
	loops := time.Since(start)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the product of the tile program begins with %v, that of Go with %v", got[:4], want[:4])
	}
	fmt.Fprintf(out, "== A product of %d x %d and %d x %d, equal to that of Go: %v with the copies of the tensors, Go's loops %v\n\n",
		p.m, p.k, p.k, p.n, tiles.Round(time.Microsecond), loops.Round(time.Microsecond))

	const arch = "sm_80"
	if program, err = gemm(p, onGPU); err != nil {
		return err
	}
	source, err := forCUDA(program, arch)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "== Lowered to CUDA for %s\n%s", arch, source)
	return nil
}
