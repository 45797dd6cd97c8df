//go:build bindings

// Tilelang_gemm describes a product of matrices as a tile program of TileLang, lowers it to C,
// compiles the C, runs it on this CPU, and compares the result with loops of Go. Neither
// Python nor a GPU takes part.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func main() {
	if err := run(context.Background(), os.Stdout, problem{m: 256, n: 192, k: 128, tile: 32, tileK: 16}); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, p problem) error {
	_, err := onThread(func() int {
		program := must(gemm(p))
		kernel, host, err := source(program)
		must(0, err)
		fmt.Fprintf(out, "== The tile program\n%v\n\n== Lowered to C; the function around it, which checks tensors, has %d bytes\n%s\n", program, len(host), kernel)
		function := must(compile(ctx, kernel, host))
		defer function.Release()
		a, b := matrices(p)
		start := time.Now()
		got := must(product(function, p, a, b))
		tiles := time.Since(start)
		if want := inGo(p, a, b); !slices.Equal(got, want) {
			must(0, fmt.Errorf("the product of the tile program begins with %v, the product of Go with %v", got[:4], want[:4]))
		}
		return must(fmt.Fprintf(out, "== A product of %d x %d and %d x %d, equal to that of Go: %v with the copies of the tensors, Go's loops %v\n",
			p.m, p.k, p.k, p.n, tiles.Round(time.Microsecond), (time.Since(start) - tiles).Round(time.Microsecond)))
	})
	return err
}

// compile compiles the two sources and loads them. The caller releases the function.
func compile(ctx context.Context, kernel, host string) (*tvmffi.Function, error) {
	return onThread(func() *tvmffi.Function {
		loaded := regexp.MustCompile(`/\S*/libtilelang\.so`).Find(must(os.ReadFile("/proc/self/maps")))
		if loaded == nil {
			must(0, errors.New("libtilelang.so is not loaded, so the folder of its headers is not known"))
		}
		wheel := filepath.Dir(filepath.Dir(string(loaded)))
		temp := must(os.MkdirTemp("", "gemm-"))
		defer os.RemoveAll(temp) // the library stays loaded
		hostFile, library := filepath.Join(temp, "host.c"), filepath.Join(temp, "libgemm.so")
		must(0, os.WriteFile(hostFile, []byte(host), 0o600))
		must(0, native.BuildTo(ctx, native.Code{
			Name:     name,
			CPP:      []string{kernel},   // TileLang writes the kernel for a compiler of C++
			Files:    []string{hostFile}, // and the host for one of C
			Include:  []string{filepath.Join(wheel, "src"), filepath.Join(wheel, "3rdparty", "tvm", "include")},
			CXXFlags: []string{"-O3"},
		}, library))
		module := must(tvmffi.LoadModule(library))
		defer module.Release() // the function keeps it
		return must(module.Function(name))
	})
}

// product calls the function with matrices whose rows follow each other.
func product(f *tvmffi.Function, p problem, a, b []float32) ([]float32, error) {
	return onThread(func() []float32 {
		var tensors []any
		c := make([]float32, p.m*p.n)
		for i, shape := range [][]int64{{p.m, p.k}, {p.k, p.n}, {p.m, p.n}} {
			t := must(tvmffi.NewTensor(tvmffi.Float32, shape...)) // aligned to 64 bytes, which the kernel relies on
			defer t.Release()
			must(0, tvmffi.CopyFrom(t, [][]float32{a, b, c}[i]))
			tensors = append(tensors, t)
		}
		must(f.Call(tensors...))
		return must(c, tvmffi.CopyTo(tensors[2].(*tvmffi.Tensor), c)) // a slice of the memory of the tensor would end with it
	})
}

// inGo is the same product in loops of Go.
func inGo(p problem, a, b []float32) []float32 {
	c := make([]float32, p.m*p.n)
	for i := range p.m {
		for k := range p.k {
			for j, y := range b[k*p.n:][:p.n] {
				c[i*p.n+int64(j)] += a[i*p.k+k] * y
			}
		}
	}
	return c
}

// matrices returns two matrices of small whole numbers, whose product float32 holds exactly.
func matrices(p problem) (a, b []float32) {
	a, b = make([]float32, p.m*p.k), make([]float32, p.k*p.n)
	for i := range a {
		a[i] = float32(i*7%11) - 5
	}
	for i := range b {
		b[i] = float32(i*5%13) - 6
	}
	return a, b
}
