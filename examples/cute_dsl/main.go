// Cute_dsl calls kernels that the CuTe DSL has compiled, through the Go package that
// tvmffi-bind wrote for them. Without a GPU it shows what the kernels refuse; with
// one it runs them too.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/cute_dsl/cutekernels"
)

func main() {
	// A program finds its libraries beside its executable. "go run" puts that into a
	// folder of its own, so this program names the file.
	err := cutekernels.Load(tvmffi.WithFile("build/libcutekernels.so"))
	if err == nil {
		err = refused(os.Stdout)
	}
	if err == nil {
		err = results()
	}
	if errors.Is(err, cuda.ErrUnavailable) {
		fmt.Println("no results:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

// refused shows what a kernel says about arguments that do not fit. It says so before
// it touches memory or needs a GPU, as an error of Go that has the kind of Python's.
func refused(out io.Writer) error {
	n := []int64{1024}
	x, y := onGPU(tvmffi.Float32, n...), onGPU(tvmffi.Float32, n...)
	host, err := tvmffi.FromSlice(make([]float32, 1024))
	if err != nil {
		return err
	}
	stream := tvmffi.Pointer{} // the default stream
	matrix, by := onGPU(tvmffi.Float32, 4, 16), onGPU(tvmffi.Float32, 4)
	for _, call := range []struct {
		mistake string
		err     error
	}{
		{"no tensor", cutekernels.Axpy(2, nil, y, stream)},
		{"a tensor of the host", cutekernels.Axpy(2, host, y, stream)},
		{"two devices", cutekernels.Axpy(2, x, onDevice(1, tvmffi.Float32, n...), stream)},
		{"other elements", cutekernels.Axpy(2, x, onGPU(tvmffi.Float16, n...), stream)},
		{"other rank", cutekernels.Axpy(2, x, onGPU(tvmffi.Float32, 32, 32), stream)},
		{"other size", cutekernels.Axpy(2, x, onGPU(tvmffi.Float32, 1000), stream)},
		{"other number of rows", cutekernels.ScaleRows(matrix, onGPU(tvmffi.Float32, 3), matrix)},
		{"columns not a multiple of 8", cutekernels.ScaleRows(onGPU(tvmffi.Float32, 4, 15), by, onGPU(tvmffi.Float32, 4, 15))},
	} {
		var e *tvmffi.Error
		if !errors.As(call.err, &e) {
			return fmt.Errorf("%s: the kernel answers %v", call.mistake, call.err)
		}
		fmt.Fprintf(out, "%s:\n  %s: %s\n", call.mistake, e.Kind, e.Message)
	}
	return nil
}

// onGPU describes a tensor on the first GPU without memory of its own, for calls that
// are refused.
func onGPU(dtype tvmffi.DataType, shape ...int64) *tvmffi.Tensor { return onDevice(0, dtype, shape...) }

func onDevice(device int, dtype tvmffi.DataType, shape ...int64) *tvmffi.Tensor {
	t, err := tvmffi.FromPointer(tvmffi.Pointer{Address: 1 << 20}, dtype, tvmffi.CUDA(device), nil, shape...)
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// results runs the kernels on the first GPU.
func results() error {
	if err := cuda.Available(); err != nil {
		return err
	}
	got, err := axpy(2, []float32{1, 2, 3}, []float32{10, 20, 30})
	if err != nil {
		return err
	}
	fmt.Println("2x + y =", got)
	got, err = scaleRows([]float32{
		1, 1, 1, 1, 1, 1, 1, 1,
		2, 2, 2, 2, 2, 2, 2, 2,
	}, []float32{5, 7})
	if err != nil {
		return err
	}
	fmt.Println("rows scaled by 5 and 7:", got)
	return nil
}

// axpy returns alpha*x + y. The kernel has a parameter for the stream.
func axpy(alpha float64, x, y []float32) ([]float32, error) {
	var mem memory
	defer mem.free()
	dx, dy := mem.copyOf(x, len(x)), mem.copyOf(y, len(y))
	stream, err := cuda.Device(0).NewStream()
	if err = errors.Join(mem.err, err); err != nil {
		return nil, err
	}
	defer stream.Close()
	if err := cutekernels.Axpy(alpha, dx, dy, stream.Pointer()); err != nil {
		return nil, err
	}
	if err := stream.Synchronize(); err != nil {
		return nil, err
	}
	return mem.read(dy)
}

// scaleRows returns the matrix x with each row multiplied by a number. The kernel
// runs on the environment stream, which WithStream sets for the calls in f.
func scaleRows(x, by []float32) ([]float32, error) {
	var mem memory
	defer mem.free()
	rows := len(by)
	dx, dby, out := mem.copyOf(x, rows, len(x)/rows), mem.copyOf(by, rows), mem.copyOf(x, rows, len(x)/rows)
	stream, err := cuda.Device(0).NewStream()
	if err = errors.Join(mem.err, err); err != nil {
		return nil, err
	}
	defer stream.Close()
	err = cuda.WithStream(stream, func() error { return cutekernels.ScaleRows(dx, dby, out) })
	if err = errors.Join(err, stream.Synchronize()); err != nil {
		return nil, err
	}
	return mem.read(out)
}

// memory is device memory that is freed together. The first error is kept.
type memory struct {
	all []*cuda.Memory
	err error
}

func (m *memory) copyOf(values []float32, shape ...int) *tvmffi.Tensor {
	if m.err != nil {
		return nil
	}
	d, err := cuda.AllocOf(0, values)
	if err != nil {
		m.err = err
		return nil
	}
	m.all = append(m.all, d)
	sizes := make([]int64, len(shape))
	for i, n := range shape {
		sizes[i] = int64(n)
	}
	t, err := d.Tensor(tvmffi.Float32, sizes...)
	m.err = err
	return t
}

func (m *memory) read(t *tvmffi.Tensor) ([]float32, error) {
	d, err := cuda.TensorMemory(t)
	if err != nil {
		return nil, err
	}
	values := make([]float32, t.Len())
	return values, cuda.CopyOut(values, d)
}

func (m *memory) free() {
	for _, d := range m.all {
		_ = d.Free()
	}
}
