package cuda_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/tvmffi-go/tvmffi/cuda"
)

// A kernel from PTX or a cubin, launched on a stream of its own.
func Example() {
	result, err := saxpy("saxpy.ptx")
	if errors.Is(err, cuda.ErrUnavailable) {
		log.Print("no GPU here: ", err)
	} else if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result)
}

func saxpy(file string) ([]float32, error) {
	image, err := os.ReadFile(file) // or go:embed, and cuda.ImageFS for several architectures
	if err != nil {
		return nil, err
	}
	const device = cuda.Device(0)
	module, err := device.LoadModule(image)
	if err != nil {
		return nil, err
	}
	defer module.Close()
	kernel, err := module.Kernel("saxpy")
	if err != nil {
		return nil, err
	}
	stream, err := device.NewStream()
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	x, err := cuda.AllocOf(device, []float32{1, 2, 3})
	if err != nil {
		return nil, err
	}
	defer x.Free()
	y, err := cuda.AllocOf(device, []float32{10, 20, 30})
	if err != nil {
		return nil, err
	}
	defer y.Free()
	const n, block = 3, 128
	err = kernel.Launch(cuda.LaunchConfig{Grid: cuda.GridFor(n, block), Block: cuda.Dim(block), Stream: stream}, n, float32(2), x, y)
	if err != nil {
		return nil, err
	}
	if err := stream.Synchronize(); err != nil {
		return nil, err
	}
	result := make([]float32, n)
	if err := cuda.CopyOut(result, y); err != nil {
		return nil, err
	}
	return result, nil
}
