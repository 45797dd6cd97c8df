// Cutlass_gemm compiles a kernel of CUTLASS with nvcc, both from PyPI, and calls it through the Go package
// that tvmffi-bind wrote for it. Without a GPU it shows what the kernel refuses; with one it compares the
// product with the result of plain loops.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/cutlass_gemm/gemm"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . FOLDER\nFOLDER is where the Python packages lie, flashinfer among them, which has CUTLASS")
	}
	file, err := native.Build(context.Background(), kernel(os.Args[1]))
	if err == nil {
		err = gemm.Load(tvmffi.WithFile(file))
	}
	if err == nil {
		err = refused(os.Stdout)
	}
	if err == nil {
		err = results(os.Stdout)
	}
	if errors.Is(err, cuda.ErrUnavailable) {
		fmt.Println("no results:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

// kernel is what to compile.
func kernel(packages string) native.Code {
	return native.Code{
		Name:      "cutlass_gemm",
		Files:     []string{filepath.Join("native", "gemm.cu")},
		Include:   []string{filepath.Join(packages, "flashinfer", "data", "cutlass", "include")},
		NVCCFlags: []string{"--expt-relaxed-constexpr"},
	}
}

// The sizes of the matrices. The last blocks of 128 rows and columns are not full.
const m, n, k = 200, 328, 136

// results multiplies matrices on the first GPU and compares the product with the result of plain loops.
func results(out io.Writer) error {
	if err := cuda.Available(); err != nil {
		return err
	}
	const alpha = 0.5
	x, weight := numbers(m*k, 1), numbers(n*k, 2)
	product, err := multiply(x, weight, alpha)
	if err != nil {
		return err
	}
	most := 0.0
	for row := range m {
		for column := range n {
			want := 0.0
			for i := range k {
				want += float64(x[row*k+i].Float32()) * float64(weight[column*k+i].Float32())
			}
			want *= alpha
			// float16 has 11 bits.
			most = max(most, math.Abs(float64(product[row*n+column].Float32())-want)/max(1, math.Abs(want)))
		}
	}
	fmt.Fprintf(out, "%d products of rows and columns: the largest difference is %.2g\n", m*n, most)
	if !(most <= 1.0/1024) {
		return fmt.Errorf("a product differs by %g of its size", most)
	}
	return nil
}

// numbers are multiples of 1/64 from -2 to 2, whose products float32 adds without rounding.
func numbers(count int, seed uint32) []tvmffi.F16 {
	list := make([]tvmffi.F16, count)
	for i := range list {
		seed = seed*1664525 + 1013904223
		list[i] = tvmffi.F16(tvmffi.Float16.FromFloat32(float32(int(seed>>24)-128) / 64))
	}
	return list
}

// multiply returns alpha times x times the transposed weight, on the first GPU.
func multiply(x, weight []tvmffi.F16, alpha float64) (product []tvmffi.F16, err error) {
	stream, err := cuda.Device(0).NewStream()
	if err != nil {
		return nil, err
	}
	var memories []*cuda.Memory
	defer func() {
		for _, memory := range memories {
			err = errors.Join(err, memory.Free())
		}
		err = errors.Join(err, stream.Close())
	}()
	product = make([]tvmffi.F16, m*n)
	var tensors []*tvmffi.Tensor
	for _, matrix := range []struct {
		values  []tvmffi.F16
		columns int
	}{{product, n}, {x, k}, {weight, k}} {
		memory, err := cuda.AllocOf(0, matrix.values)
		if err != nil {
			return nil, err
		}
		memories = append(memories, memory)
		t, err := memory.Tensor(tvmffi.Float16, int64(len(matrix.values)/matrix.columns), int64(matrix.columns))
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, t)
	}
	// The kernel runs on the environment stream, which WithStream sets for the call.
	err = cuda.WithStream(stream, func() error { return gemm.Gemm(tensors[0], tensors[1], tensors[2], alpha) })
	if err = errors.Join(err, stream.Synchronize()); err != nil {
		return nil, err
	}
	return product, cuda.CopyOut(product, memories[0])
}

// refused shows what the kernel says about matrices that do not fit. It says so before it touches memory or needs a GPU.
func refused(out io.Writer) error {
	x, weight, product := onGPU(0, tvmffi.Float16, m, k), onGPU(0, tvmffi.Float16, n, k), onGPU(0, tvmffi.Float16, m, n)
	host, err := tvmffi.FromSlice(make([]tvmffi.F16, m*k), m, k)
	if err != nil {
		return err
	}
	for _, call := range []struct {
		mistake            string
		product, x, weight *tvmffi.Tensor
	}{
		{"no tensor", product, nil, weight},
		{"a tensor of the host", product, host, weight},
		{"two devices", product, x, onGPU(1, tvmffi.Float16, n, k)},
		{"other elements", product, onGPU(0, tvmffi.BFloat16, m, k), weight},
		{"other rank", product, x, onGPU(0, tvmffi.Float16, n*k)},
		{"other length of sums", product, x, onGPU(0, tvmffi.Float16, n, k+8)},
		{"other size of the product", onGPU(0, tvmffi.Float16, m, n+8), x, weight},
		{"rows that cannot be loaded 16 bytes at a time", product, onGPU(0, tvmffi.Float16, m, k+1), weight},
		{"no rows", onGPU(0, tvmffi.Float16, 0, n), onGPU(0, tvmffi.Float16, 0, k), weight},
	} {
		var e *tvmffi.Error
		if err := gemm.Gemm(call.product, call.x, call.weight, 1); !errors.As(err, &e) {
			return fmt.Errorf("%s: the kernel answers %v", call.mistake, err)
		}
		fmt.Fprintf(out, "%s:\n  %s: %s\n", call.mistake, e.Kind, e.Message)
	}
	return nil
}

// onGPU describes a tensor without memory of its own, for calls that are refused.
func onGPU(device int, dtype tvmffi.DataType, shape ...int64) *tvmffi.Tensor {
	t, err := tvmffi.FromPointer(tvmffi.Pointer{Address: 1 << 20}, dtype, tvmffi.CUDA(device), nil, shape...)
	if err != nil {
		log.Fatal(err)
	}
	return t
}
