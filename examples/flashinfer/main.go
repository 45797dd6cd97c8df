// Flashinfer compiles the normalisation kernels of FlashInfer with nvcc and calls them through the Go package that
// tvmffi-bind wrote for them. Without a GPU it shows what the kernels refuse; with one it also runs one of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/norm"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . FOLDER\nFOLDER is where the Python packages lie, flashinfer among them")
	}
	err := load(context.Background(), os.Args[1])
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

// load compiles the kernels, the first time, and loads them.
func load(ctx context.Context, packages string) error {
	file, err := native.Build(ctx, kernels(packages))
	if err != nil {
		return err
	}
	return norm.Load(tvmffi.WithFile(file))
}

// kernels is what to compile of the sources that FlashInfer comes with.
func kernels(packages string) native.Code {
	data := filepath.Join(packages, "flashinfer", "data")
	source := filepath.Join(data, "csrc")
	return native.Code{
		Name:      "flashinfer_norm",
		Files:     []string{filepath.Join(source, "norm.cu"), filepath.Join(source, "flashinfer_norm_binding.cu")},
		Include:   []string{filepath.Join(data, "include"), source},
		NVCCFlags: []string{"--expt-relaxed-constexpr", "-DENABLE_BF16", "-DENABLE_FP8"},
	}
}

// results runs a kernel on the first GPU.
func results(out io.Writer) error {
	if err := cuda.Available(); err != nil {
		return err
	}
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, -1, -1, -1, -1, -1}
	weight := []float32{1, 1, 1, 1, 2, 2, 2, 2}
	got, err := rmsNorm(x, weight, 1e-6)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "rows divided by their root mean square:", got)
	return nil
}

// rmsNorm divides each row of x by its root mean square and multiplies it by the
// weights, in the precision of BF16. A row has as many values as there are weights.
func rmsNorm(x, weight []float32, eps float64) (result []float32, err error) {
	stream, err := cuda.Device(0).NewStream()
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var memories []*cuda.Memory
	defer func() {
		for _, m := range memories {
			err = errors.Join(err, m.Free())
		}
	}()
	upload := func(values []float32, shape ...int64) *tvmffi.Tensor {
		if err != nil {
			return nil
		}
		short := make([]tvmffi.BF16, len(values))
		for i, v := range values {
			short[i] = tvmffi.ToBF16(v)
		}
		var m *cuda.Memory
		if m, err = cuda.AllocOf(0, short); err != nil {
			return nil
		}
		memories = append(memories, m)
		var t *tvmffi.Tensor
		t, err = m.Tensor(tvmffi.BFloat16, shape...)
		return t
	}
	columns := int64(len(weight))
	rows := int64(len(x)) / columns
	in, w := upload(x, rows, columns), upload(weight, columns)
	out := upload(make([]float32, rows*columns), rows, columns)
	if err != nil {
		return nil, err
	}
	// The kernel runs on the environment stream, which WithStream sets for the call.
	err = cuda.WithStream(stream, func() error { return norm.Rmsnorm(out, in, w, eps, false) })
	if err = errors.Join(err, stream.Synchronize()); err != nil {
		return nil, err
	}
	short := make([]tvmffi.BF16, rows*columns)
	if err := cuda.CopyOut(short, memories[2]); err != nil {
		return nil, err
	}
	for _, v := range short {
		result = append(result, v.Float32())
	}
	return result, nil
}
