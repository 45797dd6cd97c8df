// Package saxpylib offers the kernel to Python, C++ and Rust, as a shared library.
package saxpylib

import (
	"errors"
	"sync"

	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/cuda_saxpy/kernels"
)

//go:generate go tool tvmffi-bind export

// kernel makes the kernels of the package global functions, and looks this one up. It
// runs at the first call, because while the library is being loaded no other may be.
var kernel = sync.OnceValues(func() (*tvmffi.Function, error) {
	if err := kernels.Register(); err != nil {
		return nil, err
	}
	return tvmffi.Lookup("kernels.saxpy")
})

// Kernels makes the kernels global functions: kernels.saxpy, with its signature.
//
//tvmffi:export
func Kernels() error {
	_, err := kernel()
	return err
}

// Saxpy adds a times x to y: saxpy(x, y, a, stream) with float32 tensors on one GPU, and
// the address of a stream or None.
//
//tvmffi:export
func Saxpy(args []tvmffi.Any) error {
	f, err := kernel()
	if err != nil {
		return err
	}
	list := make([]any, len(args)) // as they came
	for i, a := range args {
		list[i] = a
	}
	_, err = f.Call(list...)
	return err
}

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
