// This program adds vectors on a GPU: a kernel in CUDA C++ that NVRTC compiles while
// the program runs, a typed Go func for it that tvmffi-bind has written, streams,
// events and a graph.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/cuda_saxpy/kernels"
)

func main() {
	n := flag.Int64("n", 1<<20, "number of elements")
	device := flag.Int("device", 0, "number of the GPU")
	flag.Parse()
	err := run(cuda.Device(*device), *n)
	switch {
	case errors.Is(err, cuda.ErrUnavailable):
		fmt.Fprintf(os.Stderr, "this example needs an NVIDIA GPU and its driver: %v\n", err)
	case errors.Is(err, nvrtc.ErrUnavailable):
		fmt.Fprintf(os.Stderr, "this example compiles its kernel with NVRTC: pip install nvidia-cuda-nvrtc (nvidia-cuda-nvrtc-cu12 for a driver of CUDA 12), or set TVMFFI_NVRTC_LIBRARY: %v\n", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
	default:
		return
	}
	os.Exit(1)
}

// vectors are x and y on a device. The tensors see the memory.
type vectors struct {
	memory [2]*cuda.Memory
	x, y   *tvmffi.Tensor
}

func newVectors(d cuda.Device, n int64) (v *vectors, err error) {
	v = &vectors{}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.free())
		}
	}()
	host := make([]float32, n)
	for i := range host {
		host[i] = float32(i % 1000)
	}
	for i, to := range []**tvmffi.Tensor{&v.x, &v.y} {
		if v.memory[i], err = cuda.AllocOf(d, host); err != nil {
			return nil, err
		}
		if *to, err = v.memory[i].Tensor(tvmffi.Float32, n); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *vectors) free() error {
	var err error
	for _, t := range []*tvmffi.Tensor{v.x, v.y} {
		if t != nil {
			t.Release()
		}
	}
	for _, m := range v.memory {
		if m != nil {
			err = errors.Join(err, m.Free())
		}
	}
	return err
}

// times checks that y is so many times x.
func (v *vectors) times(n int64, factor float32) error {
	got := make([]float32, n)
	if err := cuda.CopyOut(got, v.memory[1]); err != nil {
		return err
	}
	for i, y := range got {
		if want := factor * float32(i%1000); y != want {
			return fmt.Errorf("element %d is %v, want %v", i, y, want)
		}
	}
	return nil
}

func run(d cuda.Device, n int64) (err error) {
	if err := cuda.Available(); err != nil {
		return err
	}
	properties, err := d.Properties()
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", d, properties.Name)
	v, err := newVectors(d, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kernels.Unload(), v.free()) }()

	stream, err := d.NewStream()
	if err != nil {
		return err
	}
	defer stream.Close()
	if err := kernels.Saxpy(v.x, v.y, 2, stream); err != nil {
		return err
	}
	if err := stream.Synchronize(); err != nil {
		return err
	}
	if err := v.times(n, 3); err != nil {
		return err
	}
	fmt.Println("one launch: y = 3 x")

	took, err := timed(d, stream, func() error { return kernels.Saxpy(v.x, v.y, 0.5, stream) })
	if err != nil {
		return err
	}
	fmt.Printf("another one, between two events: %t\n", took > 0)

	if err := graph(stream, v); err != nil {
		return err
	}
	if err := v.times(n, 7.5); err != nil {
		return err
	}
	fmt.Println("a graph of two launches, twice: y = 7.5 x")

	// A wrong call is refused before anything is launched.
	half, err := v.memory[1].Tensor(tvmffi.Float16, n)
	if err != nil {
		return err
	}
	defer half.Release()
	fmt.Println(kernels.Saxpy(v.x, half, 1, stream))
	return nil
}

// timed measures work on a stream as the device sees it.
func timed(d cuda.Device, stream *cuda.Stream, work func() error) (took time.Duration, err error) {
	var events [2]*cuda.Event
	for i := range events {
		if events[i], err = d.NewEvent(cuda.Timing()); err != nil {
			return 0, err
		}
		defer events[i].Close()
	}
	if err := events[0].Record(stream); err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	if err := events[1].Record(stream); err != nil {
		return 0, err
	}
	if err := events[1].Synchronize(); err != nil {
		return 0, err
	}
	return cuda.Elapsed(events[0], events[1])
}

// graph records two launches and runs them twice.
func graph(stream *cuda.Stream, v *vectors) error {
	g, err := stream.Capture(func() error {
		// Without a stream a kernel runs on the environment stream, which is the one
		// that is captured.
		if err := kernels.Saxpy(v.x, v.y, 1, nil); err != nil {
			return err
		}
		return kernels.Saxpy(v.x, v.y, 1, stream)
	})
	if err != nil {
		return err
	}
	defer g.Close()
	for range 2 {
		if err := g.Launch(stream); err != nil {
			return err
		}
	}
	return stream.Synchronize()
}
