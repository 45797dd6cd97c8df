// Package saxpylib offers the kernel to Python, C++ and Rust, as a shared library with
// what brings data to a GPU and back.
package saxpylib

import (
	"errors"
	"sync"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	//tvmffi:export
	"github.com/tvmffi-go/tvmffi/examples/cuda_saxpy/kernels"
)

//go:generate go tool tvmffi-bind export

// placed is the memory that Place has allocated.
var placed struct {
	sync.Mutex
	memory []*cuda.Memory
}

// Place copies a float32 tensor of the host to a GPU. The memory stays until Free.
//
//tvmffi:export
func Place(x *tvmffi.Tensor, device int) (*tvmffi.Tensor, error) {
	data, err := tvmffi.ReadSlice[float32](x)
	if err != nil {
		return nil, err
	}
	m, err := cuda.AllocOf(cuda.Device(device), data)
	if err != nil {
		return nil, err
	}
	placed.Lock()
	placed.memory = append(placed.memory, m)
	placed.Unlock()
	return m.Tensor(tvmffi.Float32, x.Shape()...)
}

// Fetch copies a float32 tensor of a GPU to the host, after all work of the device.
//
//tvmffi:export
func Fetch(x *tvmffi.Tensor) (*tvmffi.Tensor, error) {
	m, err := cuda.TensorMemory(x)
	if err != nil {
		return nil, err
	}
	if err := m.Device().Synchronize(); err != nil {
		return nil, err
	}
	data := make([]float32, x.Len())
	if err := cuda.CopyOut(data, m); err != nil {
		return nil, err
	}
	return tvmffi.FromSlice(data, x.Shape()...)
}

// Free frees the memory of all tensors that Place made, and unloads the kernel.
//
//tvmffi:export
func Free() error {
	placed.Lock()
	defer placed.Unlock()
	err := kernels.Unload()
	for _, m := range placed.memory {
		err = errors.Join(err, m.Free())
	}
	placed.memory = nil
	return err
}
