package env_test

import (
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
)

// Native code that is called inside the func gets its tensors from this allocator.
func ExampleWithAllocator() {
	allocator := func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
		fmt.Println("a tensor of", spec.Shape)
		return env.GoAllocator(spec)
	}
	err := env.WithAllocator(allocator, func() error {
		spec := env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CPU, Shape: []int64{2, 3}}
		t, err := env.EnvTensor(spec) // native code asks in the same way
		if err != nil {
			return err
		}
		defer t.Release()
		fmt.Println(t.Shape(), t.DataType())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// a tensor of [2 3]
	// [2 3] float32
}
